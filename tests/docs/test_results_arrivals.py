"""docs/results.md: operations that arrive by themselves, reads beside writes, and runs that were made again."""

from __future__ import annotations

import functools
from statistics import median

import pytest
from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report.measures import latency
from adocd_bench.evaluation.report.mechanisms import acting
from adocd_bench.evaluation.report.summary import Block, compared

from tests.bench.kept import RESULTS, needs_results
from tests.conftest import REPOSITORY
from tests.docs.kept_runs import (
    PAGE,
    README,
    WORDS,
    difference,
    figures,
    listed,
    measured,
    off_s,
    paid_pairs,
    raw_runs,
    summarised,
    to_default,
)

pytestmark = needs_results
#: The 99.9th percentile of all operations, from their arrival to their end.
LATEST = latency("all", "total", "p999_us")
LEVEL0_TRIGGER = "level0_compaction_trigger"
WAVE = {
    "| compaction disabled, six memtables, no limits |": "compaction-disabled",
    "| the thesis's toggle, without our bounds |": "toggle-without-bounds",
    "| `tide`, in the wave |": "tide",
    "| `toggle`, two memtables |": "toggle-two-memtables",
    "| no law, limits raised |": "limits-raised",
    "| no law, six memtables |": "default-with-toggle-memory",
}
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
    "`silk-hold`: deeper compactions wait, no limiter": "silk-hold",
    "`silk-bandwidth`: the limiter alone": "silk-bandwidth",
    "`silk-floor-bandwidth`: the limiter alone, with that floor": "silk-floor-bandwidth",
}
IN_PEAKS = [
    *((peak_s, row, scheme) for peak_s in PEAKS for row, scheme in IN_ALL_PEAKS.items()),
    *((100, row, scheme) for row, scheme in IN_LONG_PEAKS.items()),
]
TRACE = {
    "| `silk-floor`: SILK with a floor of 3 MB/s, in the trace |": "silk-floor",
    "| no law, the memtables of `tide`, in the trace |": "default-with-tide-memory",
    "| `tide`, in the trace |": "tide",
    "| RocksDB's own auto-tuned limiter, in the trace |": "auto-tuned",
    "| `silk`, in the trace |": "silk",
}
STEADY = {
    "| `tide`, at 95 % |": "tide",
    "| no law, the memtables of `tide`, at 95 % |": "default-with-tide-memory",
    "| no law, the memtables of `adoc`, at 95 % |": "default-with-adoc-memory",
    "| `adoc`, at 95 % |": "adoc",
}
READS = {
    "| `tide`, beside readers |": "tide",
    "| no law, the memtables of `tide`, beside readers |": "default-with-tide-memory",
}


@pytest.mark.parametrize("row", WAVE)
def test_what_a_law_is_worth_under_a_wave(row: str) -> None:
    kept = [run for run in raw_runs("wave-350-cap-13") if run.scheme.name == WAVE[row]]
    shares = [figures(run).completed_share for run in sorted(kept, key=lambda run: run.repetition)]
    assert len(shares) >= 5
    done = listed([100 * (share or 0.0) for share in shares], ".0f")
    paid = paid_pairs("wave-350-cap-13", "cap-13", WAVE[row], "with_drain_per_s")
    assert f"{row} {done} % | {paid} |\n" in PAGE


def test_what_the_defaults_do_in_the_wave() -> None:
    kept = [run for run in raw_runs("wave-350-cap-13") if run.scheme.name == "default"]
    (done,) = {round(100 * measured("completed_share")(run)) for run in kept}
    assert f"The defaults did {done} %. Compaction that is simply disabled" in WORDS


def test_what_the_thesis_toggle_does_in_the_wave() -> None:
    kept = raw_runs("wave-350-cap-13")
    (block,) = summarised("wave-350-cap-13")
    found = {scheme.name: scheme for scheme in block.schemes}

    def times(other: str) -> str:
        compared_with = compared("operations", found["toggle-without-bounds"], found[other])
        assert compared_with.difference == "more"
        assert compared_with.ratio is not None
        return f"{compared_with.ratio.median:.2f}"

    def of(scheme: str, measure: str) -> float:
        return found[scheme].cells[measure].median

    assert (
        f"toggle wrote all that arrived: {times('default')} times as much as the defaults, which also had the 60 s"
        in WORDS
    )
    assert f"{times('limits-raised')} times as much as raised limits alone" in WORDS
    late_s = [of(scheme, latency("write", "total", "p99_us")) / 1e6 for scheme in ("toggle-without-bounds", "tide")]
    assert f"arrival to its end was {late_s[0]:.1f} s; under `tide` it was {late_s[1]:.0f} s" in WORDS
    after = [of(scheme, "reads_after_per_s") for scheme in ("tide", "default")]
    assert (
        f"went at {after[0]:.2f}/s under `tide` and at {after[1]:.0f}/s under the defaults. Under the toggle" in WORDS
    )
    assert {name for name, scheme in found.items() if "reads_after_per_s" not in scheme.cells} >= {
        "toggle",
        "toggle-two-memtables",
        "toggle-without-bounds",
    }
    files = {
        scheme: max(sample.l0_files for run in kept if run.scheme.name == scheme for sample in run.samples)
        for scheme in ("toggle-without-bounds", "compaction-disabled")
    }
    assert f"it left up to {files['toggle-without-bounds']} files in level 0" in WORDS
    assert f"leaves up to {files['compaction-disabled']} files in level 0" in WORDS


def test_what_the_toggle_does_in_the_wave() -> None:
    paid = paid_pairs("wave-350-cap-13", "cap-13", "toggle", "with_drain_per_s", missing=1)
    assert f"it has four runs only ({paid})" in WORDS
    off = {
        scheme: [
            round(100 * off_s(run) / run.phase_s) for run in raw_runs("wave-350-cap-13") if run.scheme.name == scheme
        ]
        for scheme in ("toggle", "toggle-two-memtables")
    }
    assert f"off for {min(off['toggle'])} to {max(off['toggle'])} % of the phase with six memtables" in WORDS
    assert f"for at most {max(off['toggle-two-memtables'])} % with two, in two of those five runs not at all" in WORDS
    assert off["toggle-two-memtables"].count(0) == 2
    by_knob = [
        figures(run).acted.away_share("auto_compaction")
        for run in raw_runs("wave-350-cap-13")
        if run.scheme.name in off
    ]
    assert max(by_knob) < 0.25, "the report must not count them as having acted"


def test_the_order_in_the_wave() -> None:
    """By the time until all is merged, reads after the phase included."""
    (block,) = summarised("wave-350-cap-13")
    verdict = functools.partial(difference, block, "with_drain_per_s")
    assert verdict("toggle-without-bounds", "tide") == "less"
    assert verdict("compaction-disabled", "toggle-without-bounds") == "more"


def of_workload(directory: str, workload: str | None = None) -> list[RawRun]:
    """Return a directory's runs, of one workload if one is named."""
    return [run for run in raw_runs(directory) if workload in (None, run.workload.name)]


@functools.cache
def arrived(directory: str, scheme: str, workload: str | None = None) -> tuple[str, list[float]]:
    """Write what was done in time, in percent of what arrived; p99.9 of the time from the arrival on, in seconds."""
    kept = [run for run in of_workload(directory, workload) if run.scheme.name == scheme]
    found = sorted(kept, key=lambda run: run.repetition)
    assert len(found) >= 5
    done = listed([100 * measured("completed_share")(run) for run in found], ".0f")
    return done, [measured(LATEST)(run) / 1e6 for run in found]


def median_ratio(block: Block, measure: str, one: str, other: str) -> str:
    """Write the median of the pairs' ratios."""
    schemes = block.scheme(one), block.scheme(other)
    assert schemes[0] is not None
    assert schemes[1] is not None
    ratio = compared(measure, schemes[0], schemes[1]).ratio
    assert ratio is not None
    return f"{ratio.median:.2f}"


def columns(directory: str, scheme: str, workload: str | None = None) -> str:
    """Write a row of the tables of peaks: done in time, p99.9, and its ratio to the defaults'."""
    done, late_s = arrived(directory, scheme, workload)
    ratios = to_default(of_workload(directory, workload), scheme, measured(LATEST))
    return f"{done} % | {listed(late_s, '.0f')} s | {listed(ratios, '.2f')} |"


@pytest.mark.parametrize(("peak_s", "row", "scheme"), IN_PEAKS)
def test_what_a_law_does_to_peaks(peak_s: int, row: str, scheme: str) -> None:
    directory, workload = PEAKS[peak_s]
    assert f"| {row}, in peaks of {peak_s} s | {columns(directory, scheme, workload)}\n" in PAGE


@pytest.mark.parametrize("row", TRACE)
def test_what_a_law_does_to_a_trace(row: str) -> None:
    assert f"{row} {columns('trace-cap-5', TRACE[row])}\n" in PAGE


def test_what_the_defaults_do_in_the_peaks() -> None:
    for peak_s, (directory, workload) in PEAKS.items():
        done, late_s = arrived(directory, "default", workload)
        told = f"the defaults did {done} % of what arrived in time; p99.9 was {listed(late_s, '.0f')} s"
        assert f"In peaks of {peak_s} s {told}" in WORDS
    done, late_s = arrived("trace-cap-5", "default")
    assert f"Here the defaults did {done} % of what arrived in time; p99.9 was {listed(late_s, '.0f')} s" in WORDS


@pytest.mark.parametrize("row", STEADY)
def test_what_a_law_does_at_95_percent(row: str) -> None:
    kept = raw_runs("two-phase-cap-13")
    late_ms = listed([1000 * late_s for late_s in arrived("two-phase-cap-13", STEADY[row])[1]], ",.0f")
    ratios = listed(to_default(kept, STEADY[row], measured(LATEST)), ".4f")
    paid = paid_pairs("two-phase-cap-13", "cap-13", STEADY[row], "with_drain_per_s")
    assert f"{row} {late_ms} ms | {ratios} | {paid} |\n" in PAGE


def test_what_95_percent_shows() -> None:
    kept = raw_runs("two-phase-cap-13")
    (offered_per_s,) = {run.workload.offered_per_s for run in kept}
    assert f"under the defaults: {offered_per_s:,.0f} updates/s, for 300 s" in WORDS
    late_s = listed(arrived("two-phase-cap-13", "default")[1], ".1f")
    default = [figures(run) for run in kept if run.scheme.name == "default"]
    waited = [100 * (each.waited_share or 0.0) for each in default]
    assert (
        f"p99.9 of the defaults was {late_s} s; writers waited for {min(waited):.0f} to {max(waited):.0f} % of" in WORDS
    )
    (block,) = summarised("two-phase-cap-13")
    assert not block.weak
    assert difference(block, LATEST, "tide", "default") == "less"
    assert difference(block, LATEST, "tide", "default-with-tide-memory") == "not shown"
    met = {
        scheme: sum(ratio <= 0.1 for ratio in to_default(kept, scheme, measured(LATEST))) for scheme in STEADY.values()
    }
    assert met == {"tide": 3, "default-with-adoc-memory": 5, "default-with-tide-memory": 5, "adoc": 1}
    assert "in each pair by the memtables of `tide` and by those of `adoc`, without a law, and in three of" in WORDS
    assert f"`tide`, whose median ratio is {median_ratio(block, LATEST, 'tide', 'default')}." in WORDS
    assert difference(block, LATEST, "tide", "default-with-adoc-memory") == "more"
    assert difference(block, "with_drain_per_s", "tide", "default") == "less"
    written = [
        median(
            each
            for run in kept
            if run.scheme.name == scheme and (each := figures(run).write_amplification_drained) is not None
        )
        for scheme in ("tide", "default")
    ]
    assert f"wrote {written[0]:.1f} times what the user wrote, the defaults {written[1]:.1f} times" in WORDS
    tide = [run for run in kept if run.scheme.name == "tide"]
    assert all(figures(run).acted.away_share("level0_compaction_trigger") > 0.8 for run in tide)
    assert {run.at_end.stalled_s for run in tide} == {0.0}, "RocksDB held no write"


def test_the_verdicts_on_the_trace() -> None:
    (block,) = summarised("trace-cap-5")
    assert not block.weak
    verdict = functools.partial(difference, block, LATEST)
    others = ("default", "default-with-tide-memory", "auto-tuned", "silk", "silk-floor")
    assert [verdict(other, "default") for other in others[1:]] == ["less", "more", "more", "less"]
    assert [verdict("silk-floor", other) for other in others[1:4]] == ["not shown", "less", "less"]
    assert (
        "is better than the defaults, the auto-tuned limiter and `silk`**, and no difference to the memtables" in WORDS
    )
    acted, why = acting(block, {"tide": "tide"})
    assert acted is not None, why
    found = [difference(acted, LATEST, "tide", other) for other in others]
    assert found == ["direction less", "not shown", "direction less", "direction less", "direction more"]
    ratio = functools.partial(median_ratio, block)
    assert f"Its p99.9 was {ratio(LATEST, 'silk-floor', 'default')} times the defaults'" in WORDS
    assert f"and {ratio(LATEST, 'silk-floor', 'auto-tuned')} times the auto-tuned limiter's, with the default" in WORDS
    tide, other = ratio(LATEST, "tide", "default"), ratio(LATEST, "tide", "silk-floor")
    assert f"Its p99.9 was {tide} times the defaults' and {other} times that of `silk-floor`" in WORDS
    assert difference(block, "with_drain_per_s", "tide", "default-with-tide-memory") == "less"
    paid = ratio("with_drain_per_s", "tide", "default-with-tide-memory")
    assert f"over run, restore and drain it made {paid} times as many operations" in WORDS


def test_tide_and_silk_acted_in_the_trace() -> None:
    acted = [figures(run).acted for run in raw_runs("trace-cap-5") if run.scheme.name == "tide"]
    shut = sorted(each.away_share("level0_compaction_trigger") for each in acted)
    assert (len(shut), sum(share >= 0.5 for share in shut)) == (5, 4)
    assert f"level 0 was shut for {100 * shut[0]:.0f} % of the phase, and the report's rule asks for half" in WORDS
    acted = [figures(run).acted for run in raw_runs("trace-cap-5") if run.scheme.name == "silk-floor"]
    assert len(acted) == 5
    assert all(each.away_share(knob) > 0.95 for each in acted for knob in ("rate_limit", "level0_slowdown_trigger"))
    left, why = acting(summarised("trace-cap-5")[0], {"silk-floor": "silk"})
    assert left is not None, why


def test_when_the_runs_of_the_trace_were_made() -> None:
    old_s, new_s = (
        [run.started_unix_s for run in raw_runs("trace-cap-5") if (run.scheme.name in ("silk", "auto-tuned")) is is_old]
        for is_old in (True, False)
    )
    assert 2.5 < (min(new_s) - max(old_s)) / 3600 < (max(new_s) - min(old_s)) / 3600 < 4.5
    assert "those of the auto-tuned limiter are three to four hours older than the others" in WORDS
    by_repetition = [
        [
            run.started_unix_s
            for run in raw_runs("trace-cap-5")
            if run.repetition == each and run.started_unix_s in new_s
        ]
        for each in range(1, 6)
    ]
    apart_min = max(max(each) - min(each) for each in by_repetition) / 60
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    assert f"the runs of a repetition began up to {apart_min:.0f} minutes apart" in page


def peaks_of(peak_s: int) -> Block:
    directory, workload = PEAKS[peak_s]
    (block,) = [each for each in summarised(directory) if each.workload == workload]
    assert not block.weak
    return block


def test_silk_with_a_floor_is_best_in_the_peaks() -> None:
    blocks = {peak_s: peaks_of(peak_s) for peak_s in PEAKS}
    others = {
        peak_s: {each.name: difference(block, LATEST, "silk-floor", each.name) for each in block.schemes}
        for peak_s, block in blocks.items()
    }
    for peak_s, found in others.items():
        del found["silk-floor"]
        assert found.pop("tide") == ("not shown" if peak_s == 50 else "less")
        assert set(found.values()) == {"less"}
    assert "it is better than every other scheme here, but for `tide` in peaks of 50 s" in WORDS
    to_tide = [median_ratio(blocks[peak_s], LATEST, "silk-floor", "tide") for peak_s in (100, 10)]
    assert (
        f"Against `tide` its p99.9 was {to_tide[0]} times in peaks of 100 s, and {to_tide[1]} times in those" in WORDS
    )
    paid = {peak_s: difference(block, "with_drain_per_s", "silk-floor", "default") for peak_s, block in blocks.items()}
    assert "less" not in paid.values()
    assert "Over run, restore and drain it made no fewer operations than the defaults that could be shown" in WORDS
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
    own = {difference(block, LATEST, "tide", "default-with-tide-memory") for block in blocks.values()}
    assert own == {"not shown"}
    assert "Against its own memtables without a law no difference is shown in any of the three" in WORDS
    begins = [
        min(each.at_s for each in run.decisions if each.rule == "tide.flood")
        for run in of_workload(*PEAKS[10])
        if run.scheme.name == "tide"
    ]
    assert f"began {min(begins):.0f} to {max(begins):.0f} s after the load" in WORDS
    held = [run.at_end.stalled_s or 0.0 for run in of_workload(*PEAKS[10]) if run.scheme.name == "default"]
    assert f"RocksDB held the defaults' writes for {min(held):.1f} to {max(held):.1f} s there" in WORDS
    for peak_s, least in ((100, 0.6), (50, 0.8), (10, 0.49)):
        runs = [run for run in of_workload(*PEAKS[peak_s]) if run.scheme.name == "tide"]
        acted = [figures(run).acted for run in runs]
        assert len(acted) == 5
        assert all(each.away_share(knob) >= least for each in acted for knob in ("memtable_size", LEVEL0_TRIGGER))
    done = [measured("completed_share")(run) for run in of_workload(*PEAKS[100]) if run.scheme.name == "tide"]
    assert min(done) > 0.95
    floor = {peak_s: median_ratio(block, LATEST, "silk-floor", "default") for peak_s, block in blocks.items()}
    assert (
        f"of 100, 50 and 10 s the 99.9th percentile of `tide`'s latency was {ratio[100]}, {ratio[50]} and {ratio[10]} "
        f"times the defaults'. SILK had {floor[100]}, {floor[50]} and {floor[10]} times on a database with a rate"
    ) in README


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
    told = f"for {100 * min(held):.0f} to {100 * max(held):.0f} % of the phase; in that block for 47 to 54 %"
    assert told in WORDS


def test_when_the_runs_of_the_peaks_were_made() -> None:
    later = ("auto-tuned", "silk", "silk-bandwidth", "silk-hold")
    kept = raw_runs("peaks-100-cap-5")
    first, last = (
        [run.started_unix_s for run in kept if (run.scheme.name in later) is is_later] for is_later in (False, True)
    )
    assert max(first) < min(last)
    by_repetition = [[run.started_unix_s for run in kept if run.repetition == each] for each in range(1, 6)]
    apart_min = max(max(each) - min(each) for each in by_repetition) / 60
    page = " ".join((REPOSITORY / "docs" / "evaluation.md").read_text().split())
    assert "`auto-tuned`, `silk`, `silk-bandwidth` and `silk-hold` were made after the others: the runs of" in page
    assert f"the runs of a repetition began up to {apart_min:.0f} minutes apart. An earlier run" in page
    (failed,) = (RESULTS / "evaluation" / "peaks-100-cap-5" / "failed").glob("*.json")
    assert "Assertion `bytes <= refill_bytes_per_period_" in failed.read_text()


def at_the_floor(run: RawRun) -> float:
    """Say in how many of the phase's samples the limiter was at a quarter of 5 MB/s, in percent."""
    limits = [each.rate_limit_bytes_per_s for each in run.samples if 0 <= each.at_s <= run.phase_s]
    return 100 * limits.count(1_250_000) / len(limits)


@pytest.mark.parametrize("row", READS)
def test_what_a_law_does_beside_readers(row: str) -> None:
    def done(kind: str, run: RawRun) -> float:
        return figures(run).operations_by_kind[kind] / run.measured_s

    columns = (
        measured("with_drain_per_s"),
        functools.partial(done, "write"),
        functools.partial(done, "read"),
        measured(latency("read", "processing", "p99_us")),
    )
    ratios = [to_default(raw_runs("reads-cap-210"), READS[row], of) for of in columns]
    assert {len(each) for each in ratios} == {5}
    assert f"{row} {' | '.join(listed(each, '.2f') for each in ratios)} |\n" in PAGE


def test_the_verdicts_beside_readers() -> None:
    (block,) = summarised("reads-cap-210")
    assert not block.weak
    verdict = functools.partial(difference, block)
    for other in ("default", "default-with-tide-memory"):
        assert verdict("with_drain_per_s", "tide", other) == "more"
    p99 = latency("read", "processing", "p99_us")
    assert [verdict(p99, "tide", other) for other in ("default", "default-with-tide-memory")] == ["more", "not shown"]
    assert verdict(p99, "default-with-tide-memory", "default") == "more"
    for run in raw_runs("reads-cap-210"):
        if run.scheme.name == "tide":
            assert figures(run).acted.away_share("level0_compaction_trigger") > 0.5, "it acted"
