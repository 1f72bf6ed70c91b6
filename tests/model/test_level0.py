"""How many files of level 0 a large merge leaves alone."""

from __future__ import annotations

import pytest

from adocd.model.level0 import few_files


@pytest.mark.parametrize(
    ("trigger", "slowdown", "few"),
    [(4, 20, 8), (4, 6, 6), (20, 20, 20), (1, 20, 2), (0, 20, 1)],
)
def test_few_files_are_two_triggers_and_no_more_than_slow_writes_down(trigger: int, slowdown: int, few: int) -> None:
    assert few_files(trigger, slowdown) == few


@pytest.mark.parametrize("slowdown", [0, -1])
def test_a_slowdown_that_is_off_is_no_limit(slowdown: int) -> None:
    assert few_files(4, slowdown) == 8


def test_they_are_never_fewer_than_the_owners_trigger() -> None:
    """RocksDB takes a slowdown below the trigger while it is open: each file would be merged alone."""
    assert few_files(4, 2) == 4
