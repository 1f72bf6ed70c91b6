"""docs/results.md: operations that arrive by themselves, reads beside writes, and runs that were made again."""

from __future__ import annotations

import functools
from statistics import median

import pytest
from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report.measures import latency
from adocd_bench.evaluation.report.mechanisms import acting
from adocd_bench.evaluation.report.summary import compared

from tests.bench.kept import needs_results
from tests.conftest import REPOSITORY
from tests.docs.kept_runs import (
    LATEST,
    PAGE,
    WORDS,
    arrived,
    columns,
    difference,
    figures,
    listed,
    measured,
    median_ratio,
    off_s,
    paid_pairs,
    raw_runs,
    summarised,
    to_default,
)

pytestmark = needs_results
WAVE = {
    "| compaction disabled, six memtables, no limits |": "compaction-disabled",
    "| the thesis's toggle, without our bounds |": "toggle-without-bounds",
    "| `tide`, in the wave |": "tide",
    "| `toggle`, in the wave |": "toggle",
    "| `toggle`, two memtables |": "toggle-two-memtables",
    "| no law, limits raised |": "limits-raised",
    "| no law, the memtables of `tide`, in the wave |": "default-with-tide-memory",
    "| no law, six memtables |": "default-with-toggle-memory",
}
_IN_THE_TAIL = {
    "the thesis's toggle, without our bounds": "toggle-without-bounds",
    "compaction disabled, six memtables, no limits": "compaction-disabled",
    "no law, six memtables": "default-with-toggle-memory",
}
#: The wave and then a quiet tail until then: directory and scheme.
TAIL = {
    f"| {told}, until {until_s} s |": (f"wave-{until_s}-cap-13", scheme)
    for until_s in (700, 1000)
    for told, scheme in _IN_THE_TAIL.items()
}
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

#: The ADOC paper's schemes, at a sixteenth.
ADOCS_READS = {
    "| `adoc`, beside readers |": "adoc",
    "| no law, the memtables of `adoc`, beside readers |": "default-with-adoc-memory",
    "| SILK-O's settings, no law, beside readers |": "silk-o",
    "| RocksDB's own auto-tuned limiter, beside readers |": "auto-tuned",
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
    done = sorted(round(100 * measured("completed_share")(run)) for run in kept)
    assert len(done) == 5
    assert (
        f"The defaults did {done[0]} to {done[-1]} %. Over run, restore and drain, compaction that is simply" in WORDS
    )


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
    files = {
        scheme: max(sample.l0_files for run in kept if run.scheme.name == scheme for sample in run.samples)
        for scheme in ("toggle-without-bounds", "compaction-disabled")
    }
    assert f"it left up to {files['toggle-without-bounds']} files in level 0" in WORDS
    assert f"leaves up to {files['compaction-disabled']} files in level 0" in WORDS


def test_reads_after_the_wave() -> None:
    (block,) = summarised("wave-350-cap-13")
    verdict, times = functools.partial(difference, block), functools.partial(median_ratio, block)
    cells = {scheme.name: scheme.cells for scheme in block.schemes}

    def reads(scheme: str, form: str) -> str:
        cell = cells[scheme]["reads_after_per_s"]
        return f"{cell.low:{form}} to {cell.high:{form}}"

    toggle, compared_with = "toggle-without-bounds", "reads_after_per_s"
    for scheme in (toggle, "tide", "compaction-disabled"):
        assert verdict(compared_with, scheme, "default") == "less"
    assert f"the defaults did {reads('default', '.0f')} reads/s, the thesis's toggle {reads(toggle, '.2f')}" in WORDS
    assert (
        f"`tide` {reads('tide', '.2f')}, and where compaction is disabled {reads('compaction-disabled', '.1f')}"
        in WORDS
    )
    assert float(times(compared_with, toggle, "default")) < 0.001


def test_what_the_toggle_does_in_the_wave() -> None:
    off = {
        scheme: [
            round(100 * off_s(run) / run.phase_s) for run in raw_runs("wave-350-cap-13") if run.scheme.name == scheme
        ]
        for scheme in ("toggle", "toggle-two-memtables")
    }
    assert f"off for {min(off['toggle'])} to {max(off['toggle'])} % of the phase with six memtables" in WORDS
    assert f"for at most {max(off['toggle-two-memtables'])} % with two, in one of those five runs not at all" in WORDS
    assert off["toggle-two-memtables"].count(0) == 1
    by_knob = [
        figures(run).acted.away_share("auto_compaction")
        for run in raw_runs("wave-350-cap-13")
        if run.scheme.name in off
    ]
    assert max(by_knob) < 0.25, "the report must not count them as having acted"


@pytest.mark.parametrize("row", TAIL)
def test_what_a_scheme_does_in_the_wave_with_a_tail(row: str) -> None:
    directory, scheme = TAIL[row]
    kept = raw_runs(directory)
    mine = sorted((run for run in kept if run.scheme.name == scheme), key=lambda run: run.repetition)
    done = listed([100 * (figures(run).completed_share or 0.0) for run in mine], ".0f")
    measures = ("operations", "with_drain_per_s", "reads_after_per_s")
    ratios = [to_default(kept, scheme, measured(of)) for of in measures]
    assert {len(each) for each in ratios} == {5}
    assert f"{row} {done} % | {' | '.join(listed(each, '.2f') for each in ratios)} |\n" in PAGE


def files_at_end(run: RawRun) -> int:
    """Level-0 files in the last sample of the phase."""
    return [sample.l0_files for sample in run.samples if sample.at_s <= run.phase_s][-1]


def test_what_the_thesis_toggle_does_in_the_wave_with_a_tail() -> None:
    (block,) = summarised("wave-700-cap-13")
    assert not block.weak
    toggle, disabled = "toggle-without-bounds", "compaction-disabled"
    verdict, times = functools.partial(difference, block), functools.partial(median_ratio, block)
    assert verdict("operations", toggle, "default") == "more"
    assert f"{times('operations', toggle, 'default')} times as much as the defaults (1.588 there" in WORDS
    assert (verdict("with_drain_per_s", toggle, "default"), verdict("with_drain_per_s", toggle, disabled)) == (
        "more",
        "more",
    )
    memory = "default-with-toggle-memory"
    assert verdict("with_drain_per_s", toggle, memory) == "more"
    paid = [times("with_drain_per_s", toggle, other) for other in ("default", memory)]
    assert f"drain it had {paid[0]} times the defaults' writes/s, and {paid[1]} times those of its memtables" in WORDS
    assert verdict("reads_after_per_s", toggle, "default") == "not shown"
    mine = [run for run in raw_runs("wave-700-cap-13") if run.scheme.name == toggle]
    off = [off_s(run) for run in mine]
    assert f"Compaction was off for {min(off):.0f} to {max(off):.0f} s" in WORDS
    assert f"merged up to {max(s.l0_files for run in mine for s in run.samples)} level-0 files" in WORDS
    switched = [each.at_s for run in mine for each in run.decisions if each.rule == "toggle.on" and each.at_s < 350]
    assert len(switched) >= len(mine), "before the wave ended"
    last = [files_at_end(run) for run in mine]
    assert f"at 700 s {min(last)} to {max(last)} were left" in WORDS
    shares = [
        100 * (figures(run).completed_share or 0.0)
        for run in raw_runs("wave-700-cap-13")
        if run.scheme.name == "default"
    ]
    assert f"the defaults did {min(shares):.0f} to {max(shares):.0f} % in time" in WORDS
    cells = {scheme.name: scheme.cells for scheme in block.schemes}

    def range_of(scheme: str, measure: str) -> str:
        return f"{cells[scheme][measure].low:.0f} to {cells[scheme][measure].high:.0f}"

    assert f"and the drain took {range_of(toggle, 'drain_s')} s" in WORDS
    assert f"then drains for {range_of(disabled, 'drain_s')} s" in WORDS
    left = {files_at_end(run) for run in raw_runs("wave-700-cap-13") if run.scheme.name == disabled}
    assert f"which leaves {left.pop()} files" in WORDS
    assert not left
    late_us = [cells[scheme][latency("write", "total", "p99_us")].median for scheme in (toggle, disabled)]
    assert f"a p99 of {late_us[0] / 1e6:.1f} s from a write's arrival to its end" in WORDS
    assert f"where compaction is disabled {late_us[1] / 1e3:.1f} ms" in WORDS
    reads = [range_of(scheme, "reads_after_per_s") for scheme in (toggle, "default")]
    assert f"the toggle did {reads[0]} reads/s; the defaults, which read after up to 60 s of late writes, did" in WORDS
    assert f"late writes, did {reads[1]}. In none of the five pairs was the toggle slower" in WORDS
    assert min(to_default(raw_runs("wave-700-cap-13"), toggle, measured("reads_after_per_s"))) > 1.0
    assert 0.7 < cells[disabled]["reads_after_per_s"].low < cells[disabled]["reads_after_per_s"].high < 1.3


def test_what_the_longer_tail_changes() -> None:
    (block,) = summarised("wave-1000-cap-13")
    kept = raw_runs("wave-1000-cap-13")
    assert not block.weak
    toggle, memory = "toggle-without-bounds", "default-with-toggle-memory"
    verdict, times = functools.partial(difference, block), functools.partial(median_ratio, block)
    assert [verdict("operations", toggle, other) for other in ("default", memory)] == ["more", "same"]
    assert (
        f"the toggle wrote {times('operations', toggle, 'default')} times as much as the defaults, and no more" in WORDS
    )
    shares = [100 * (figures(run).completed_share or 0.0) for run in kept if run.scheme.name == memory]
    assert f"which did {min(shares):.0f} to {max(shares):.0f} % in time" in WORDS
    assert [verdict("with_drain_per_s", toggle, other) for other in ("default", memory)] == ["more", "more"]
    paid = [times("with_drain_per_s", toggle, other) for other in ("default", memory)]
    assert f"it had {paid[0]} times the defaults' writes/s, and {paid[1]} times those of its memtables" in WORDS
    off = [off_s(run) for run in kept if run.scheme.name == toggle]
    assert f"off for {min(off):.0f} to {max(off):.0f} s, and on again before the wave ended" in WORDS
    on_again = [
        each.at_s for run in kept if run.scheme.name == toggle for each in run.decisions if each.rule == "toggle.on"
    ]
    assert len(on_again) == len(off)
    assert max(on_again) < 350
    cells = {scheme.name: scheme.cells for scheme in block.schemes}

    def reads(scheme: str) -> str:
        return f"{cells[scheme]['reads_after_per_s'].low:.0f} to {cells[scheme]['reads_after_per_s'].high:.0f}"

    assert f"the toggle did {reads(toggle)} reads/s, the defaults {reads('default')}, and its memtables" in WORDS
    assert f"without a law {reads(memory)}; no difference between the three is shown" in WORDS
    for one, other in ((toggle, "default"), (toggle, memory), (memory, "default")):
        assert verdict("reads_after_per_s", one, other) == "not shown"


def test_the_order_in_the_wave() -> None:
    """By the time until all is merged, reads after the phase included."""
    (block,) = summarised("wave-350-cap-13")
    assert not block.weak
    verdict, times = (functools.partial(each, block, "with_drain_per_s") for each in (difference, median_ratio))
    assert (verdict("tide", "default-with-tide-memory"), verdict("tide", "compaction-disabled")) == ("more", "less")
    ratios = [times("tide", other) for other in ("default-with-tide-memory", "compaction-disabled")]
    assert f"`tide` had {ratios[0]} times the writes/s of its memtables without a law, and {ratios[1]} times" in WORDS
    assert verdict("toggle-without-bounds", "tide") == "same"
    page = (REPOSITORY / "docs" / "evaluation.md").read_text()
    assert f"drain | the same, {times('toggle-without-bounds', 'tide')} times | made anew" in page
    assert verdict("compaction-disabled", "toggle-without-bounds") == "more"


@pytest.mark.parametrize("row", TRACE)
def test_what_a_law_does_to_a_trace(row: str) -> None:
    assert f"{row} {columns('trace-cap-5', TRACE[row])}\n" in PAGE


def test_what_the_defaults_do_in_the_trace() -> None:
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
    assert difference(block, LATEST, "default-with-adoc-memory", "default-with-tide-memory") == "not shown"
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
    assert [verdict("tide", other) for other in others] == ["less", "not shown", "less", "less", "more"]
    assert "**`tide` is better than the defaults, and worse than `silk-floor`.**" in WORDS
    acted, why = acting(block, {"tide": "tide"})
    assert acted is not None, why
    found = [difference(acted, LATEST, "tide", other) for other in others]
    assert found == ["direction less", "not shown", "direction less", "direction less", "direction more"]
    assert "than the half that a claim about a paper's mechanism asks for; the other four point the same way" in WORDS
    ratio = functools.partial(median_ratio, block)
    assert f"Its p99.9 was {ratio(LATEST, 'silk-floor', 'default')} times the defaults'" in WORDS
    assert f"and {ratio(LATEST, 'silk-floor', 'auto-tuned')} times the auto-tuned limiter's, with the default" in WORDS
    tide, other = ratio(LATEST, "tide", "default"), ratio(LATEST, "tide", "silk-floor")
    assert f"Its p99.9 was {tide} times the defaults' and {other} times that of `silk-floor`" in WORDS
    assert difference(block, "with_drain_per_s", "tide", "default-with-tide-memory") == "less"
    paid = ratio("with_drain_per_s", "tide", "default-with-tide-memory")
    assert f"made fewer operations in each of the five pairs, {paid} times in the median" in WORDS
    kept = raw_runs("trace-cap-5")
    own = [to_default(kept, name, measured("with_drain_per_s")) for name in ("tide", "default-with-tide-memory")]
    assert all(mine < other for mine, other in zip(*own, strict=True))


def test_tide_and_silk_acted_in_the_trace() -> None:
    acted = [figures(run).acted for run in raw_runs("trace-cap-5") if run.scheme.name == "tide"]
    shut = sorted(each.away_share("level0_compaction_trigger") for each in acted)
    assert (len(shut), sum(share >= 0.5 for share in shut)) == (5, 4)
    assert f"level 0 was shut for only {100 * shut[0]:.0f} % of the phase" in WORDS
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


def done(kind: str, run: RawRun) -> float:
    return figures(run).operations_by_kind[kind] / run.measured_s


@pytest.mark.parametrize("row", [*READS, *ADOCS_READS])
def test_what_a_law_does_beside_readers(row: str) -> None:
    columns = (
        measured("with_drain_per_s"),
        functools.partial(done, "write"),
        functools.partial(done, "read"),
        measured(latency("read", "processing", "p99_us")),
    )
    directory = "reads-cap-210" if row in READS else "adoc-reads-cap-13"
    ratios = [to_default(raw_runs(directory), (READS | ADOCS_READS)[row], of) for of in columns]
    assert {len(each) for each in ratios} == {5}
    assert f"{row} {' | '.join(listed(each, '.2f') for each in ratios)} |\n" in PAGE


def test_the_adoc_papers_schemes_beside_readers() -> None:
    (block,) = summarised("adoc-reads-cap-13")
    memory = "default-with-adoc-memory"
    assert not block.weak
    kept = raw_runs("adoc-reads-cap-13")
    reads = [done("read", run) for run in kept if run.scheme.name == "default"]
    assert f"the defaults did {min(reads):,.0f} to {max(reads):,.0f} reads/s" in WORDS
    assert max((run.database.measured_cpu_s or 0.0) / run.measured_s for run in kept) < 1 / 3, "of a processor"
    ran, paid = (functools.partial(median_ratio, block, of) for of in ("throughput_per_s", "with_drain_per_s"))
    found = [difference(block, "throughput_per_s", "adoc", other) for other in ("auto-tuned", "silk-o")]
    assert found == ["more", "less"]
    assert f"`adoc` did {ran('adoc', 'silk-o')} times the operations/s, reads and writes together, of SILK-O's" in WORDS
    assert f"Against the auto-tuned limiter it did {ran('adoc', 'auto-tuned')} times (at least 1.95" in WORDS
    report = (REPOSITORY / "docs" / "evaluation" / "report.md").read_text()
    assert "| ADOC | figure 19 | throughput of read-while-writing | 1 direction, 1 refuted |" in report
    moved = [figures(run).acted.away_share("rate_limit") for run in kept if run.scheme.name == "auto-tuned"]
    assert [f"{100 * share:.0f} %" for share in moved if share < 0.5] == ["43 %"]
    assert "another rate than its original for 43 % of the phase" in WORDS
    written = {each.name: f"{each.cells['write_amplification'].median:.2f}" for each in block.schemes}
    assert (
        f"in the phase was {written['silk-o']} under SILK-O's settings, {written[memory]} under the memtables of "
        f"`adoc`, {written['adoc']} under `adoc` and {written['default']} under the defaults"
    ) in WORDS
    assert difference(block, "with_drain_per_s", "adoc", memory) == "less"
    assert f"restore and drain `adoc` did {paid('adoc', memory)} times what its memtables did without" in WORDS
    for run in kept:
        if run.scheme.name == "adoc":
            rules = [each.rule for each in run.decisions if 0 <= each.at_s < run.measured_s]
            assert rules.count("adoc.memory") == 7
            assert set(rules) <= {"adoc.memory", "actuator.repeat"}
    before = {(run.scheme.name, run.repetition): run.wall_s - run.measured_s - (run.drain_s or 0.0) for run in kept}
    later = [before["auto-tuned", n] - before[other, n] for (other, n) in before if other != "auto-tuned"]
    assert 90 < min(later) < max(later) < 150, "about two minutes"


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
