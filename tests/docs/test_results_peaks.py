"""docs/results.md: SILK's peaks of 100, 50 and 10 s."""

from __future__ import annotations

import functools

import pytest
from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report.mechanisms import acting
from adocd_bench.evaluation.report.summary import Block

from tests.bench.kept import needs_results
from tests.conftest import REPOSITORY
from tests.docs.kept_runs import (
    LATEST,
    PAGE,
    README,
    WORDS,
    arrived,
    columns,
    difference,
    figures,
    listed,
    measured,
    median_ratio,
    of_workload,
    summarised,
)

pytestmark = needs_results
LEVEL0_TRIGGER = "level0_compaction_trigger"
#: By the length of the peaks in seconds: where their runs are, and as which workload.
PEAKS = {
    100: ("peaks-100-cap-5", "peaks-100-4kb"),
    50: ("peaks-cap-5", "peaks-50-4kb"),
    10: ("peaks-cap-5", "peaks-10-4kb"),
}
IN_ALL_PEAKS = {
    "`silk-floor`: SILK with a floor of 3 MB/s": "silk-floor",
    "`tide`": "tide",
    "no law, the memtables of `tide`": "default-with-tide-memory",
    "RocksDB's own auto-tuned limiter": "auto-tuned",
    "`silk`": "silk",
}
IN_LONG_PEAKS = {
    "`tide` with `limiter=true`": "tide-limiter",
    "no law, the memtables of `tide` and a rate limiter": "default-with-tide-limiter",
    "`silk-hold`: deeper compactions wait, no limiter": "silk-hold",
    "`silk-bandwidth`: the limiter alone": "silk-bandwidth",
    "`silk-floor-bandwidth`: the limiter alone, with that floor": "silk-floor-bandwidth",
    "SILK-O's settings, no law": "silk-o",
}
IN_PEAKS = [
    *((peak_s, row, scheme) for peak_s in PEAKS for row, scheme in IN_ALL_PEAKS.items()),
    *((100, row, scheme) for row, scheme in IN_LONG_PEAKS.items()),
]


@pytest.mark.parametrize(("peak_s", "row", "scheme"), IN_PEAKS)
def test_what_a_law_does_to_peaks(peak_s: int, row: str, scheme: str) -> None:
    directory, workload = PEAKS[peak_s]
    assert f"| {row}, in peaks of {peak_s} s | {columns(directory, scheme, workload)}\n" in PAGE


def test_what_the_defaults_do_in_the_peaks() -> None:
    for peak_s, (directory, workload) in PEAKS.items():
        done, late_s = arrived(directory, "default", workload)
        told = f"the defaults did {done} % of what arrived in time; p99.9 was {listed(late_s, '.0f')} s"
        assert f"In peaks of {peak_s} s {told}" in WORDS


def peaks_of(peak_s: int) -> Block:
    directory, workload = PEAKS[peak_s]
    (block,) = [each for each in summarised(directory) if each.workload == workload]
    assert set(block.weak) <= {"silk-o"}, "of which one run was disturbed"
    return block


def test_tide_with_the_limiter_is_best_in_long_peaks() -> None:
    block = peaks_of(100)
    others = {each.name for each in block.schemes} - {"tide-limiter"}
    verdicts = {name: difference(block, LATEST, "tide-limiter", name) for name in others}
    assert verdicts.pop("silk-o") == "direction less"
    assert "One run of SILK-O's settings was disturbed, so four pairs count" in WORDS
    assert set(verdicts.values()) == {"less"}
    ratio = {name: median_ratio(block, LATEST, "tide-limiter", name) for name in others}
    assert (
        f"Its p99.9 was {ratio['default']} times the defaults' in the median, {ratio['default-with-tide-limiter']} "
        f"times that of the same memtables and limiter without a law, {ratio['tide']} times that of `tide`, and "
        f"{ratio['silk-floor']} times that of `silk-floor`, which has a quarter of the memory for memtables."
    ) in WORDS
    tide_page = " ".join((REPOSITORY / "docs" / "tide.md").read_text().split())
    assert f"its p99.9 was {ratio['default']} times the defaults', and lower than that of any other scheme" in tide_page
    late_s = {name: arrived("peaks-100-cap-5", name)[1] for name in ("tide-limiter", *others)}
    mine = late_s.pop("tide-limiter")
    assert all(one < least for one, least in zip(mine, map(min, zip(*late_s.values(), strict=True)), strict=True))
    assert "In peaks of 100 s `tide` with its rate limiter was better than SILK in all five pairs" in README
    lower = min(default / one for one, default in zip(mine, late_s["default"], strict=True))
    assert (
        f"with the limiter it is at least {int(lower)} times lower in all five pairs, and lower than that of every"
        in (WORDS)
    )
    tenfold = [10 * one <= default for one, default in zip(late_s["tide"], late_s["default"], strict=True)]
    assert not all(tenfold), "without the limiter the first half is missed, too"
    shut_s = [
        min(each.at_s for each in run.decisions if LEVEL0_TRIGGER in each.settings)
        for run in of_workload(*PEAKS[100])
        if run.scheme.name == "tide-limiter"
    ]
    assert f"from {min(shut_s):.0f} or {max(shut_s):.0f} s on" in WORDS
    assert difference(block, "with_drain_per_s", "tide-limiter", "silk-floor") == "more"
    paid = median_ratio(block, "with_drain_per_s", "tide-limiter", "default")
    assert f"it makes {paid} times the operations of the defaults, and more than `silk-floor`" in WORDS
    left, why = acting(block, {"tide-limiter": "tide"})
    assert left is not None, why
    acted = [figures(run).acted for run in of_workload(*PEAKS[100]) if run.scheme.name == "tide-limiter"]
    shares = [[100 * each.away_share(knob) for each in acted] for knob in ("rate_limit", LEVEL0_TRIGGER)]
    told = [f"{min(each):.0f} to {max(each):.0f} % of the phase" for each in shares]
    assert f"its limit was below the owner's for {told[0]}, and the trigger of level 0 was raised for" in WORDS
    assert f"was raised for {min(shares[1]):.0f} to {max(shares[1]):.0f} %" in WORDS


def test_without_it_silk_with_a_floor_is_best_in_the_peaks() -> None:
    blocks = {peak_s: peaks_of(peak_s) for peak_s in PEAKS}
    others = {
        peak_s: {each.name: difference(block, LATEST, "silk-floor", each.name) for each in block.schemes}
        for peak_s, block in blocks.items()
    }
    del others[100]["tide-limiter"]
    for peak_s, found in others.items():
        del found["silk-floor"]
        assert found.pop("tide") == ("not shown" if peak_s == 50 else "less")
        assert found.pop("silk-o", "direction less") == "direction less"
        assert set(found.values()) == {"less"}
    assert "better than every scheme but `tide` with its limiter, with two exceptions: `tide` in peaks of 50 s" in WORDS
    to_tide = [median_ratio(blocks[peak_s], LATEST, "silk-floor", "tide") for peak_s in (100, 10)]
    assert (
        f"Against `tide` its p99.9 was {to_tide[0]} times in peaks of 100 s, and {to_tide[1]} times in those" in WORDS
    )
    paid = {peak_s: difference(block, "with_drain_per_s", "silk-floor", "default") for peak_s, block in blocks.items()}
    assert "less" not in paid.values()
    assert "Over run, restore and drain it is not shown to do fewer operations than the defaults" in WORDS
    for block in blocks.values():
        left, why = acting(block, {"silk-floor": "silk"})
        assert left is not None, why
    files = [max(each.l0_files for each in run.samples) for run in of_workload(*PEAKS[100]) if is_floor(run)]
    assert f"level 0 had up to {max(files)} files in the peaks of 100 s" in WORDS


def is_floor(run: RawRun) -> bool:
    return run.scheme.name == "silk-floor"


def test_what_tide_does_in_the_peaks() -> None:
    blocks = {peak_s: peaks_of(peak_s) for peak_s in PEAKS}
    found = {peak_s: difference(block, LATEST, "tide", "default") for peak_s, block in blocks.items()}
    assert found == {100: "less", 50: "less", 10: "not shown"}
    ratio = {peak_s: median_ratio(block, LATEST, "tide", "default") for peak_s, block in blocks.items()}
    assert (
        f"in peaks of 100 and of 50 s ({ratio[100]} and {ratio[50]} times their p99.9 in the median), and in" in WORDS
    )
    own = {p: difference(block, LATEST, "tide", "default-with-tide-memory") for p, block in blocks.items()}
    assert own == {100: "less", 50: "not shown", 10: "not shown"}
    to_own = median_ratio(blocks[100], LATEST, "tide", "default-with-tide-memory")
    assert f"Against its own memtables without a law it is better in peaks of 100 s ({to_own} times)" in WORDS
    short = [run for run in of_workload(*PEAKS[10]) if run.scheme.name == "tide"]
    begins = [min(each.at_s for each in run.decisions if each.rule == "tide.flood") for run in short]
    for run, begin_s in zip(short, begins, strict=True):
        late_us = measured(LATEST)(run)
        latest = [second.at_s for second in run.seconds if (second.longest_us or 0) >= late_us]
        assert latest, run.repetition
        assert max(latest) < begin_s, "its p99.9 is of the seconds before that"
    assert f"began {min(begins):.0f} to {max(begins):.0f} s after the load had begun" in WORDS
    held = [run.at_end.stalled_s or 0.0 for run in of_workload(*PEAKS[10]) if run.scheme.name == "default"]
    assert f"RocksDB held the defaults' writes for {min(held):.1f} to {max(held):.1f} s there" in WORDS
    for peak_s, least in ((100, 0.6), (50, 0.8), (10, 0.49)):
        runs = [run for run in of_workload(*PEAKS[peak_s]) if run.scheme.name == "tide"]
        acted = [figures(run).acted for run in runs]
        assert len(acted) == 5
        assert all(each.away_share(knob) >= least for each in acted for knob in ("memtable_size", LEVEL0_TRIGGER))
    done = [measured("completed_share")(run) for run in of_workload(*PEAKS[100]) if run.scheme.name == "tide"]
    assert min(done) > 0.95
    limited, floor = (median_ratio(blocks[100], LATEST, name, "default") for name in ("tide-limiter", "silk-floor"))
    assert f"| 100 s | {limited} | {floor} | {ratio[100]} |" in README
    floors = [median_ratio(blocks[peak_s], LATEST, "silk-floor", "default") for peak_s in (50, 10)]
    assert f"| 50 s | no runs kept | {floors[0]} | {ratio[50]} |" in README
    assert f"| 10 s, with an older `tide` | no runs kept | {floors[1]} | {ratio[10]} |" in README
    rival = {p: difference(block, LATEST, "tide", "silk-floor") for p, block in blocks.items()}
    assert rival[50] == "not shown"
    assert "In those of 50 s no difference between SILK and `tide` is shown" in README
    assert "Only in those of 100 s is `tide` shown to bring more than its memtables do without a law." in README


def test_what_silk_does_in_the_peaks() -> None:
    block = peaks_of(100)
    verdict = functools.partial(difference, block, LATEST)
    assert verdict("silk", "default") == "not shown"
    assert "in peaks of 100 s no difference to the defaults is shown" in WORDS
    left, why = acting(block, {"silk": "silk"})
    assert left is None
    assert "its floor of 1.25 MB/s does not flush the 2 MB/s written in the peaks" in why
    assert "the floor is 1.25 MB/s, a quarter of the given bandwidth as in the paper, and clients write 2 MB/s" in WORDS
    silk = block.scheme("silk")
    assert silk is not None
    assert f"writers waited {100 * silk.cells['waited_share'].median:.0f} % of the time, for memtables" in WORDS
    floors = [at_the_floor(run) for run in of_workload(*PEAKS[100]) if run.scheme.name == "silk"]
    assert f"For {min(floors):.0f} to {max(floors):.0f} % of the phase the limiter was at its floor" in WORDS
    assert [verdict("silk-hold", "default"), verdict("silk-hold", "silk")] == ["less", "less"]
    assert verdict("silk-hold", "default-with-tide-memory") == "more"
    assert "It is better than the defaults and than `silk`, and worse than the memory of `tide` without a law" in WORDS
    assert verdict("silk-floor-bandwidth", "default") == "more"
    assert "`silk-floor-bandwidth` is worse than the defaults: the floor alone does not do it" in WORDS


def test_an_earlier_block_of_the_peaks_had_it_the_other_way_round() -> None:
    held = [figures(run).acted.away_share("level_base_size") for run in of_workload(*PEAKS[100]) if is_floor(run)]
    told = f"for {100 * min(held):.0f} to {100 * max(held):.0f} % of the phase"
    assert f"{told}; in the block of 25 and 26 November for 47 to 54 %" in WORDS


def at_the_floor(run: RawRun) -> float:
    """Say in how many of the phase's samples the limiter was at a quarter of 5 MB/s, in percent."""
    limits = [each.rate_limit_bytes_per_s for each in run.samples if 0 <= each.at_s <= run.phase_s]
    return 100 * limits.count(1_250_000) / len(limits)
