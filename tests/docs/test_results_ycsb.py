"""docs/results.md: YCSB."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

import pytest
from adocd_bench.evaluation.raw import OperationKind, RawRun
from adocd_bench.evaluation.report.measures import latency

from tests.bench.kept import needs_results
from tests.conftest import REPOSITORY
from tests.docs.kept_runs import (
    PAGE,
    README,
    WORDS,
    difference,
    figures,
    listed,
    measured,
    median_ratio,
    raw_runs,
    summarised,
    to_default,
)

pytestmark = needs_results
#: The kind of read that each workload has.
READS: dict[str, OperationKind] = {letter: "scan" if letter == "e" else "read" for letter in "abcdef"}
SCHEMES = {"`tide`": "tide", "no law, the memtables of `tide`": "default-with-tide-memory"}
#: Where `tide` decides something in each run, and where in none.
ACTS, RESTS = "adf", "bce"


def directory(letter: str) -> str:
    return f"ycsb-{letter}-cap-13"


@pytest.mark.parametrize("letter", READS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_row(letter: str, scheme: str) -> None:
    kept = raw_runs(directory(letter))
    assert all(run.settled is not None for run in kept)
    columns = ("with_drain_per_s", "throughput_per_s", latency(READS[letter], "processing", "p99_us"))
    ratios = [to_default(kept, SCHEMES[scheme], measured(of)) for of in columns]
    assert {len(each) for each in ratios} == {5}
    row = f"| YCSB {letter.upper()} | {scheme} | {' | '.join(listed(each, '.2f') for each in ratios)} |\n"
    assert row in PAGE, row


def ratio(letter: str, measure: str, scheme: str = "tide", to: str = "default") -> str:
    (block,) = summarised(directory(letter))
    return median_ratio(block, measure, scheme, to)


def told(letters: str, measure: str | None, scheme: str = "tide", to: str = "default") -> str:
    """List the medians of workloads; of the 99th percentile of reads where no measure is named."""
    each = [ratio(letter, measure or latency(READS[letter], "processing", "p99_us"), scheme, to) for letter in letters]
    return " and ".join([", ".join(each[:-1]), each[-1]])


def verdicts(letters: str, measure: str, one: str, other: str) -> list[str]:
    return [difference(summarised(directory(letter))[0], measure, one, other) for letter in letters]


def decided(letter: str) -> list[int]:
    """How often the law decided in the phase of each of its runs."""
    kept = [run for run in raw_runs(directory(letter)) if run.scheme.name == "tide"]
    return [
        sum(each.rule.startswith("tide.") and 0 <= each.at_s < run.measured_s for each in run.decisions) for run in kept
    ]


def test_where_it_acts() -> None:
    for letter in ACTS:
        assert min(decided(letter)) > 0
        for run in raw_runs(directory(letter)):
            if run.scheme.name == "tide":
                assert figures(run).acted.away_share("level0_compaction_trigger") > 0.5, "the gate was shut"
    assert verdicts(ACTS, "throughput_per_s", "tide", "default") == ["more"] * 3
    assert f"does {told(ACTS, 'throughput_per_s')} times the defaults' operations/s at the median" in WORDS
    assert f"with a p99 of reads of {told(ACTS, None)} times" in WORDS
    memory = "default-with-tide-memory"
    assert verdicts(ACTS, "throughput_per_s", "tide", memory) == ["more"] * 3
    assert f"memtables alone, without a law, do {told(ACTS, 'throughput_per_s', memory)} times" in WORDS
    assert verdicts(ACTS, "with_drain_per_s", "tide", "default") == ["more"] * 3
    assert verdicts("d", "with_drain_per_s", "tide", memory) == ["same"]
    changed = (REPOSITORY / "docs" / "evaluation.md").read_text()
    assert (
        f"| `tide` does more: {ratio('d', 'with_drain_per_s')} times | made anew with the law of 2026-11-28 |"
        in changed
    )
    assert (
        f"| YCSB A, D and F, at a sixteenth | {told(ACTS, 'with_drain_per_s')} | {told(ACTS, 'throughput_per_s')} | "
        f"p99 of reads {told(ACTS, None)} times; the memtables of `tide` without a law: "
        f"{told(ACTS, 'throughput_per_s', memory)} times while they ran |"
    ) in README


def test_where_it_rests() -> None:
    for letter in RESTS:
        assert not any(decided(letter)), letter
    for measure in ("with_drain_per_s", "throughput_per_s"):
        assert verdicts("be", measure, "tide", "default") == ["same", "same"]
        assert verdicts("c", measure, "tide", "default") == ["not shown"]
    told_of = []
    for measure in ("with_drain_per_s", "throughput_per_s"):
        both = " and ".join(ratio(letter, measure) for letter in "be")
        pairs = [each for letter in "be" for each in pairs_of(letter, measure)]
        told_of.append((both, f"pairs of {min(pairs):.2f} to {max(pairs):.2f}"))
    (paid, paid_pairs), (ran, ran_pairs) = told_of
    assert (
        f"{paid} times at the median over run, restore and drain, in {paid_pairs}, and {ran} times while it ran, in "
        f"{ran_pairs}."
    ) in WORDS
    memory = "default-with-tide-memory"
    assert verdicts("be", "throughput_per_s", memory, "default") == ["more", "not shown"]
    of_b, of_e = (ratio(letter, "throughput_per_s", memory) for letter in "be")
    assert f"fewer merges: {of_b} times at the median while it ran." in WORDS
    assert verdicts("e", "with_drain_per_s", memory, "default") == ["more"]
    paid_e = ratio("e", "with_drain_per_s", memory)
    assert (
        f"In E they were better over run, restore and drain ({paid_e} times), and no difference is shown while it ran "
        f"({of_e} times)"
    ) in WORDS
    assert verdicts("b", "throughput_per_s", "tide", memory) == ["less"]
    assert f"In B `tide` is worse than they are: {ratio('b', 'throughput_per_s', 'tide', memory)} times" in WORDS
    assert (
        "| YCSB B, C and E, at a sixteenth | | | it did nothing, because no write waited; in B the memtables of "
        f"`tide` without a law had {ratio('b', 'throughput_per_s', memory)} times while they ran |"
    ) in README
    apart = max(max(each, 1 / each) for each in pairs_of("c", "throughput_per_s"))
    assert f"45 s of identical options differ by up to {apart:.2f} times" in WORDS


def processors_of_a_pair(runs: Sequence[RawRun]) -> float:
    """The processors that all programs of a pair used together, at the median of the pairs."""
    return median(
        sum((run.database.measured_cpu_s or 0.0) / run.measured_s for run in runs if run.repetition == repetition)
        for repetition in range(1, 6)
    )


def test_where_the_processors_were_busy() -> None:
    busy = {letter: processors_of_a_pair(raw_runs(directory(letter))) for letter in READS}
    assert {letter for letter, processors in busy.items() if processors > 1.8} == set("ce")
    assert "in C and E these were busy" in WORDS


def test_the_goal() -> None:
    """At least 0.98 times the operations/s, at most 1.1 times the 99th percentile of reads, at the median."""
    medians = {letter: median(pairs_of(letter, "throughput_per_s")) for letter in READS}
    assert {letter for letter, found in medians.items() if found < 0.98} == {"e"}
    assert f"That of E is {medians['e']:.3f} times, just below it, without any decision of `tide`" in WORDS
    assert all(median(pairs_of(letter, latency(kind, "processing", "p99_us"))) <= 1.1 for letter, kind in READS.items())
    for letter in "be":
        assert min(pairs_of(letter, "throughput_per_s")) < 0.98


def pairs_of(letter: str, measure: str) -> list[float]:
    return to_default(raw_runs(directory(letter)), "tide", measured(measure))


#: The ADOC paper's schemes, five at once.
ADOCS = {
    "`adoc`": "adoc",
    "no law, the memtables of `adoc`": "default-with-adoc-memory",
    "SILK-O's settings, no law": "silk-o",
    "RocksDB's own auto-tuned limiter": "auto-tuned",
}


@pytest.mark.parametrize("letter", ACTS)
@pytest.mark.parametrize("scheme", ADOCS)
def test_a_row_of_the_adoc_papers_schemes(letter: str, scheme: str) -> None:
    columns = ("with_drain_per_s", "throughput_per_s", latency("read", "processing", "p99_us"))
    ratios = [to_default(raw_runs(f"adoc-{directory(letter)}"), ADOCS[scheme], measured(of)) for of in columns]
    assert {len(each) for each in ratios} == {5}
    told_of = " | ".join(listed(each, ".2f") for each in ratios)
    assert f"| YCSB {letter.upper()}, five at once | {scheme} | {told_of} |\n" in PAGE


def test_what_the_adoc_papers_schemes_show() -> None:
    blocks = {letter: summarised(f"adoc-{directory(letter)}")[0] for letter in ACTS}
    assert not any(block.weak for block in blocks.values())

    def all_of(measure: str, one: str, other: str) -> list[str]:
        return [difference(block, measure, one, other) for block in blocks.values()]

    assert all_of("throughput_per_s", "adoc", "auto-tuned") == ["more", "not shown", "more"]
    a, _, f = (median_ratio(block, "throughput_per_s", "adoc", "auto-tuned") for block in blocks.values())
    assert f"There `adoc` did {a} and {f} times as much as the auto-tuned limiter while it ran" in WORDS
    assert all_of("with_drain_per_s", "adoc", "auto-tuned") == ["more", "less", "more"]
    assert all_of("peak_memory_bytes", "adoc", "silk-o") == ["less"] * 3
    memory = [median_ratio(block, "peak_memory_bytes", "adoc", "silk-o") for block in blocks.values()]
    assert f"`adoc` took {memory[0]}, {memory[1]} and {memory[2]} times the memory of SILK-O's settings" in WORDS
    for other in ("default", "silk-o"):
        assert all_of("with_drain_per_s", "adoc", other) == ["more", "not shown", "more"]
    for measure in ("with_drain_per_s", "throughput_per_s"):
        assert all_of(measure, "adoc", "default-with-adoc-memory") == ["not shown"] * 3
    report = (REPOSITORY / "docs" / "evaluation" / "report.md").read_text()
    for number, what in ((17, "throughput"), (18, "memory")):
        assert f"| ADOC | figure {number} | {what} in YCSB | reproduced |" in report
    for letter in ACTS:
        kept = raw_runs(f"adoc-{directory(letter)}")
        laws = [run for run in kept if run.scheme.name == "adoc"]
        rules = [{each.rule for each in run.decisions if 0 <= each.at_s < run.measured_s} for run in laws]
        assert len(rules) == 5
        assert all("adoc.memory" in each <= {"adoc.memory", "actuator.repeat"} for each in rules)
    busy = [
        processors_of_a_pair([run for run in raw_runs(f"adoc-{directory(letter)}") if run.scheme.name != "auto-tuned"])
        for letter in ACTS
    ]
    told = ", ".join(f"{each:.1f}" for each in busy[:2]) + f" and {busy[2]:.1f}"
    assert f"The other four used {told} of the two processors in A, D and F" in WORDS


def test_where_adoc_decides_nothing_beside_the_papers_schemes() -> None:
    kept = {letter: raw_runs(f"adoc-{directory(letter)}") for letter in RESTS}
    assert not any(run.decisions for runs in kept.values() for run in runs if run.scheme.name == "adoc")
    assert {len({run.started_unix_s // 10 for run in runs}) for runs in kept.values()} == {5}, "all five at once"
    noise = [each for runs in kept.values() for each in to_default(runs, "adoc", measured("throughput_per_s"))]
    assert f"shows the noise: {min(noise):.2f} to {max(noise):.2f} times the defaults while it ran" in WORDS
    (scans,) = summarised(f"adoc-{directory('e')}")
    larger = ("default-with-adoc-memory", "silk-o")
    assert [difference(scans, "throughput_per_s", scheme, "default") for scheme in larger] == ["less"] * 2
    memory, silk_o = (median_ratio(scans, "throughput_per_s", scheme, "default") for scheme in larger)
    assert f"larger memtables made scans slower: {memory} and {silk_o} times the defaults' operations" in WORDS
    busy = [processors_of_a_pair(runs) for runs in kept.values()]
    assert f"the five used {busy[0]:.1f}, {busy[1]:.1f} and {busy[2]:.1f} of the two processors" in WORDS
