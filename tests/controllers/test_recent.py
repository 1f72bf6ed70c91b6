"""TiKV's window: a mean, a maximum, a percentile and a trend of the last values."""

from __future__ import annotations

import pytest

from adocd.controllers.recent import Recent


def window(*values: float, most: int = 30, every_s: float = 1.0) -> Recent:
    made = Recent(most)
    for number, value in enumerate(values):
        made.add(number * every_s, value)
    return made


def test_without_values_it_is_0() -> None:
    empty = Recent(20)
    assert (empty.mean, empty.highest, empty.high, empty.rises()) == (0.0, 0.0, 0.0, False)


def test_it_keeps_the_last_values() -> None:
    assert window(100, 1, 2, 6, most=3).mean == 3.0
    assert window(100, 1, 2, 6, most=3).highest == 6.0


def test_none_is_more_than_300_s_older_than_the_newest() -> None:
    assert window(8, 2, every_s=300.0).mean == 5.0
    assert window(8, 2, every_s=300.1).mean == 2.0


@pytest.mark.parametrize(("count", "nth"), [(1, 1), (2, 2), (9, 9), (10, 10), (11, 10), (20, 19), (30, 28)])
def test_the_90th_percentile(count: int, nth: int) -> None:
    """Of the values 1 to n, in whatever order, the one with index 0.9 n rounded down."""
    assert window(*range(count, 0, -1)).high == nth


@pytest.mark.parametrize(
    ("values", "rises"),
    [
        ((5,), False),
        ((5, 7), False),
        ((5, 8), True),
        ((1, 1, 3, 3), False),
        ((1, 1, 3, 4), True),
        ((1, 4, 4), True),  # the newer half is the larger one: 1 against 4
        ((9, 9, 1, 1), False),
    ],
)
def test_it_rises_where_the_newer_half_is_more_than_2_higher(values: tuple[float, ...], rises: bool) -> None:
    assert window(*values).rises() is rises


def test_it_rises_over_a_time() -> None:
    assert window(1, 5, every_s=60.0).rises(60.0)
    assert not window(1, 5, every_s=59.9).rises(60.0)
