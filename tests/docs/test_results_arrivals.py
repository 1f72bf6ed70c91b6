"""docs/results.md: operations that arrive by themselves, reads beside writes, and runs that were made again."""

from __future__ import annotations

import functools
from statistics import median

import pytest
from adocd_bench.evaluation.raw import RawDecision, RawRun, Second
from adocd_bench.evaluation.report.measures import latency
from adocd_bench.evaluation.report.mechanisms import acting

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
    paid_pairs,
    raw_runs,
    summarised,
    to_default,
)

pytestmark = needs_results
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


def test_what_ten_minutes_at_95_percent_show() -> None:
    block_name, p99 = "long-two-phase-cap-13", latency("write", "total", "p99_us")
    kept, (block,) = raw_runs(block_name), summarised(block_name)
    (offered_per_s,) = {run.workload.offered_per_s for run in kept}
    assert f"The same for 600 s, at {offered_per_s:,.0f} updates/s" in WORDS
    later = [100 * (figures(run).held_later_share or 0.0) for run in kept if run.scheme.name == "default"]
    assert f"writes were held for {min(later):.0f} to {max(later):.0f} percentage points more of the second" in WORDS
    late_s = {
        scheme: listed([measured(p99)(run) / 1e6 for run in kept if run.scheme.name == scheme], form)
        for scheme, form in (("default", ".1f"), ("tide", ".2f"))
    }
    assert f"and the p99 of an update was {late_s['default']} s." in WORDS
    assert {run.at_end.stalled_s for run in kept if run.scheme.name == "tide"} == {0.0}, "RocksDB held no write"
    ratios = to_default(kept, "tide", measured(LATEST))
    assert f"p99 was {late_s['tide']} s, and p99.9 was {listed(ratios, '.2f')} times the defaults', so there" in WORDS
    assert max(ratios) <= 0.1, "the goal is met in each pair"
    paid = "with_drain_per_s"
    assert f"Over run, restore and drain it made {median_ratio(block, paid, 'tide', 'default')} times the upd" in WORDS
    assert difference(block, paid, "tide", "default") == "less"
    assert block.scheme("default-with-tide-memory") is None
    report = (REPOSITORY / "docs" / "evaluation" / "report.md").read_text()
    (row,) = (line for line in report.splitlines() if line.startswith("| Stability | figure 15 |"))
    assert "| reproduced |" in row


def test_what_updates_waited_for_in_the_ten_minutes() -> None:
    """Writers wait while RocksDB writes its OPTIONS file: a change that took as long as the wait, or half of that."""

    def beside(second: Second, change: RawDecision, longest_s: float) -> bool:
        took_s = change.elapsed_s or 0.0
        return change.at_s - 1 <= second.at_s <= change.at_s + took_s + 2 and took_s > longest_s / 2

    waited = with_change = with_rate = 0
    for run in raw_runs("long-two-phase-cap-13"):
        if run.scheme.name != "tide":
            continue
        changes = [each for each in run.decisions if each.outcome == "applied" and 0 <= each.at_s < run.measured_s]
        for second in run.seconds:
            longest_s = (second.longest_us or 0) / 1e6
            if longest_s > 0.3:
                found = [each for each in changes if beside(second, each, longest_s)]
                waited += 1
                with_change += bool(found)
                with_rate += any("delayed_write_rate" in each.settings for each in found)
    assert (
        f"in {waited} seconds of the five runs an update took more than 0.3 s, in {with_change} of them beside a "
        f"change of options that took at least half as long, and in {with_rate} of these one of `delayed_write_rate`"
    ) in WORDS


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
