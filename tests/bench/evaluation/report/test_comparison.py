"""When a difference is one, and when a run was disturbed."""

from __future__ import annotations

import pytest
from adocd_bench.evaluation.raw import Noise, RawRun
from adocd_bench.evaluation.report.comparison import LEAST_PAIRS, Cell, Difference, cell, compare, difference_of
from adocd_bench.evaluation.report.disturbed import RULE, by_others, marks
from adocd_bench.evaluation.report.measures import MEASURES
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.evaluation.report.builders import MIB, moved, run

RATE, SHARE, WORST = MEASURES["throughput_per_s"], MEASURES["held_share"], MEASURES["worst_second"]
#: What the rule says the other way round.
OPPOSITE: dict[Difference, Difference] = {
    "more": "less", "less": "more", "direction more": "direction less", "direction less": "direction more",
}  # fmt: skip


def repetitions(*values: float) -> dict[int, float]:
    return dict(enumerate(values, 1))


@pytest.mark.parametrize(
    ("mine", "others", "difference"),
    [
        ((150,), (100,), "too few"),
        ((900, 901), (100, 101), "too few"),
        ((), (100,) * 5, "too few"),
        # Three or four pairs give no verdict, and never sameness.
        ((150, 160, 170), (100, 110, 120), "direction more"),
        ((80, 70, 60, 50), (100, 110, 120, 130), "direction less"),
        ((900,) * 4, (100,) * 4, "direction more"),
        ((150, 115, 170), (100, 110, 120), "not shown"),  # one lies among the other's
        ((104,) * 4, (100,) * 4, "not shown"),  # less than 5 %
        ((100,) * 4, (100,) * 4, "not shown"),
        # By hand: t of 97 % for five pairs is 3.298, of 90 % 2.132; a standard error is the deviation over root 5.
        ((150, 160, 170, 165, 155), (100, 110, 120, 115, 105), "more"),
        ((80, 70, 60, 65, 75), (100, 110, 120, 115, 105), "less"),
        ((106,) * 5, (100,) * 5, "more"),
        ((104,) * 5, (100,) * 5, "same"),
        ((111, 109, 110, 110, 110), (100,) * 5, "more"),
        ((150, 90, 170, 150, 150), (100,) * 5, "not shown"),  # in logarithms 0.33 +- 0.37
        ((150, 99, 170, 150, 150), (100,) * 5, "more"),  # 0.35 +- 0.31
        ((98, 101, 103, 97, 102), (100,) * 5, "same"),  # 0.002 +- 0.025, and 10 % is 0.095
        ((90, 112, 88, 111, 100), (100,) * 5, "not shown"),  # -0.003 +- 0.108
        ((92, 108, 92, 108, 100), (100,) * 5, "same"),  # -0.003 +- 0.077
        # What a machine does to both of a pair takes nothing away.
        ((12, 120, 1200, 12_000, 120_000), (10, 100, 1000, 10_000, 100_000), "more"),
    ],
)
def test_the_rule(mine: tuple[float, ...], others: tuple[float, ...], difference: str) -> None:
    assert compare(RATE, repetitions(*mine), repetitions(*others)).difference == difference


def test_next_to_nothing_of_the_time_is_nothing() -> None:
    nothing = (0.0,) * 5
    assert compare(SHARE, repetitions(*(0.004,) * 5), repetitions(*nothing)).difference == "same"
    assert compare(SHARE, repetitions(0.006, 0.007, 0.008, 0.007, 0.006), repetitions(*nothing)).difference == "more"
    assert compare(SHARE, repetitions(*nothing), repetitions(*nothing)).difference == "same"


def test_a_share_and_what_may_be_nothing_are_compared_by_their_differences() -> None:
    held = (0.40, 0.42, 0.41, 0.40, 0.42)
    assert difference_of(SHARE, list(zip(held, (0.41, 0.41, 0.41, 0.41, 0.41), strict=True))) == "same"
    assert difference_of(SHARE, list(zip(held, (0.20, 0.21, 0.22, 0.20, 0.21), strict=True))) == "more"
    assert difference_of(WORST, [(0, 100), (5, 104), (0, 98), (0, 101), (3, 99)]) == "less"
    assert difference_of(WORST, [(0, 100), (105, 0), (0, 0), (0, 101), (99, 99)]) == "not shown"


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
    there = compare(RATE, repetitions(*mine), repetitions(*others))
    assert compare(RATE, repetitions(*others), repetitions(*mine)).difference == OPPOSITE.get(
        there.difference, there.difference
    )
    assert there.pairs >= LEAST_PAIRS or there.difference not in ("more", "less", "same")
    same = "same" if len(mine) >= LEAST_PAIRS else "not shown" if len(mine) >= 3 else "too few"
    assert compare(RATE, repetitions(*mine), repetitions(*mine)).difference == same


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
        (run(noise=Noise(0.24)), "others had 24 % of the processors"),
        (run(noise=Noise(0.06, others_kernel_fraction=0.05)), "others had 11 % of the processors"),
        (run(noise=Noise(0.0, 100 * MIB), drained=moved(100 * MIB, 4.0)), "others wrote 17 % of the disk's bytes"),
        (
            run(noise=Noise(0.0, 100 * MIB, bench_device_bytes=900 * MIB), drained=moved(100 * MIB, 4.0)),
            "others wrote 10 % of the disk's bytes",
        ),
        # A long drain dilutes what disturbed the phase.
        (
            run(noise=Noise(0.02, measured_others_fraction=0.31)),
            "others had 31 % of the processors in the measured phase",
        ),
        (run(noise=Noise(0.24, measured_others_fraction=0.02)), "others had 24 % of the processors"),
        (run(warnings=("the daemon ended",)), "the daemon ended"),
        (run(per_s=1000, seconds=100, measured_s=100.0, operations=run(per_s=980, seconds=98).operations), "96040"),
    ],
)
def test_a_disturbed_run_is_marked(disturbed: RawRun, words: str) -> None:
    (mark,) = marks(disturbed)
    assert words in mark


def test_others_in_the_phase_and_in_the_whole_run_are_told_apart() -> None:
    both = by_others(run(noise=Noise(0.24, measured_others_fraction=0.31)))
    assert both == (
        "others had 24 % of the processors",
        "others had 31 % of the processors in the measured phase",
    )
    assert "over the whole run or over its measured phase alone" in RULE


def test_what_others_did_does_not_depend_on_a_drain_or_on_warnings() -> None:
    assert by_others(run(drain_s=None, warnings=("not everything was compacted",))) == ()
    noise = Noise(0.24, 100 * MIB)
    (cpu, device) = by_others(run(noise=noise, drain_s=None, drained=None, at_end=moved(100 * MIB, 4.0)))
    assert (cpu, device) == ("others had 24 % of the processors", "others wrote 17 % of the disk's bytes")


@pytest.mark.parametrize(
    "quiet",
    [
        run(noise=Noise(0.0, 40 * MIB, bench_device_bytes=900 * MIB), drained=moved(100 * MIB, 4.0)),
        run(),
        run(noise=Noise(0.10, None)),
        run(noise=Noise(0.10, None, measured_others_fraction=0.10)),
        # A drain that was cut off, or that nobody waited for, is no disturbance; older runners noticed it.
        run(drain_s=None, drained=None),
        run(
            drain_s=None,
            drained=None,
            warnings=("not everything was compacted in the end, so how long the drain takes is not known",),
        ),
        run(drain_s=None, drained=None, settled=None),
        run(noise=Noise(0.05, others_kernel_fraction=0.05)),
        run(noise=Noise(0.0, 100 * MIB), drained=moved(100 * MIB, 30.0)),
        run(noise=Noise(0.5e-1, 10**12), drained=moved(wal_bytes=None)),
        run(per_s=1000, seconds=100, operations=run(per_s=1000, seconds=99).operations),
    ],
)
def test_a_quiet_one_is_not(quiet: RawRun) -> None:
    assert marks(quiet) == ()
