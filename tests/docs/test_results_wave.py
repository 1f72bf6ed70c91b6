"""docs/results.md: the thesis's wave, with and without its quiet tails, and the reads after it."""

from __future__ import annotations

import functools

import pytest
from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report.measures import latency
from adocd_bench.evaluation.report.summary import compared

from tests.bench.kept import needs_results
from tests.conftest import REPOSITORY
from tests.docs.kept_runs import (
    PAGE,
    WORDS,
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
