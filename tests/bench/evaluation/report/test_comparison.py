"""When a difference is one, and when a run was disturbed."""

from __future__ import annotations

import pytest
from adocd_bench.evaluation.raw import Noise, RawRun
from adocd_bench.evaluation.report.comparison import Cell, cell, compare
from adocd_bench.evaluation.report.disturbed import marks
from adocd_bench.evaluation.report.measures import MEASURES
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.evaluation.report.builders import MIB, moved, run

RATE, SHARE = MEASURES["throughput_per_s"], MEASURES["held_share"]


def repetitions(*values: float) -> dict[int, float]:
    return dict(enumerate(values, 1))


@pytest.mark.parametrize(
    ("mine", "others", "difference"),
    [
        ((150, 160, 170), (100, 110, 120), "more"),
        ((80, 70, 60), (100, 110, 120), "less"),
        ((150, 115, 170), (100, 110, 120), "none"),  # one lies among the other's
        ((104, 104, 104), (100, 100, 100), "none"),  # less than 5 %
        ((106, 106, 106), (100, 100, 100), "more"),
        ((150,), (100,), "too few"),
        ((), (100, 100), "too few"),
        ((150, 151), (100, 101), "more"),
        ((121, 141), (100, 120), "more"),  # 21 apart on the median, the other's runs 20
        ((121, 130), (100, 120), "none"),  # with two pairs: 15.5, the other's runs are 20 apart
        ((125, 165), (100, 101), "more"),  # 44.5, its own runs are 40 apart
        ((125, 205), (100, 101), "none"),  # 64.5, its own runs are 80 apart
        ((105.2, 105.2, 105.2), (100, 100, 100), "none"),  # 5 % of the larger
        ((0, 0, 0), (0, 0, 0), "none"),
    ],
)
def test_the_rule(mine: tuple[float, ...], others: tuple[float, ...], difference: str) -> None:
    assert compare(RATE, repetitions(*mine), repetitions(*others)).difference == difference


def test_next_to_nothing_of_the_time_is_nothing() -> None:
    assert compare(SHARE, repetitions(0.004, 0.004, 0.004), repetitions(0, 0, 0)).difference == "none"
    assert compare(SHARE, repetitions(0.006, 0.007, 0.008), repetitions(0, 0, 0)).difference == "more"


def test_ratios_are_of_pairs() -> None:
    found = compare(RATE, {1: 200, 2: 150, 4: 999}, {1: 100, 2: 50, 3: 1})
    assert found.pairs == 2
    assert found.ratio == Cell(2.5, 2.0, 3.0, 2)


def test_nothing_has_no_ratio() -> None:
    found = compare(SHARE, repetitions(0.1, 0.2), repetitions(0.0, 0.1))
    assert found.ratio is None
    assert compare(SHARE, {}, {}).ratio is None


VALUES = st.lists(st.floats(0, 1e9), min_size=0, max_size=8)


@given(VALUES, VALUES)
def test_a_difference_is_the_same_both_ways(mine: list[float], others: list[float]) -> None:
    opposite = {"more": "less", "less": "more", "none": "none", "too few": "too few"}
    there = compare(RATE, repetitions(*mine), repetitions(*others)).difference
    assert compare(RATE, repetitions(*others), repetitions(*mine)).difference == opposite[there]
    assert compare(RATE, repetitions(*mine), repetitions(*mine)).difference in ("none", "too few")


def test_medians_and_intervals_by_rank() -> None:
    assert cell([]) is None
    assert cell([3, 1, 2, 4]) == Cell(2.5, 1, 4, 4)
    five = cell([5, 1, 4, 2, 3])
    assert five == Cell(3, 1, 5, 5, (1, 5), 1 - 2 / 32)
    eight = cell([1, 2, 3, 4, 5, 6, 7, 8])
    assert eight is not None
    assert eight.interval is not None
    assert list(eight.interval) == [2, 7]
    assert eight.coverage == pytest.approx(1 - 2 * (1 + 8) / 256)


@given(st.lists(st.floats(-1e9, 1e9), min_size=5, max_size=60))
def test_an_interval_holds_the_median_and_covers_enough(values: list[float]) -> None:
    found = cell(values)
    assert found is not None
    assert found.interval is not None
    assert found.coverage is not None
    low, high = found.interval
    assert found.low <= low <= found.median <= high <= found.high
    assert 0.9 <= found.coverage < 1


@pytest.mark.parametrize(
    ("disturbed", "words"),
    [
        (run(noise=Noise(0.24)), "other programs had 24 % of the processors"),
        (run(noise=Noise(0.0, 100 * MIB), drained=moved(100 * MIB, 4.0)), "others wrote 17 % of the device's bytes"),
        (run(drain_s=None), "drain"),
        (run(warnings=("the daemon ended",)), "the daemon ended"),
        (run(per_s=1000, seconds=100, measured_s=100.0, operations=run(per_s=980, seconds=98).operations), "96040"),
    ],
)
def test_a_disturbed_run_is_marked(disturbed: RawRun, words: str) -> None:
    (mark,) = marks(disturbed)
    assert words in mark


@pytest.mark.parametrize(
    "quiet",
    [
        run(),
        run(noise=Noise(0.10, None)),
        run(noise=Noise(0.0, 100 * MIB), drained=moved(100 * MIB, 30.0)),
        run(noise=Noise(0.5e-1, 10**12), drained=moved(wal_bytes=None)),
        run(per_s=1000, seconds=100, operations=run(per_s=1000, seconds=99).operations),
    ],
)
def test_a_quiet_one_is_not(quiet: RawRun) -> None:
    assert marks(quiet) == ()
