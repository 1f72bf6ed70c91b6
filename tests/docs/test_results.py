"""The figures of laws against each other in docs/results.md, and README's, are what the kept raw results come to."""

from __future__ import annotations

import functools
import itertools
from statistics import mean, median

import pytest
from adocd_bench.evaluation.raw import RawRun

from tests.bench.kept import needs_results
from tests.conftest import REPOSITORY
from tests.docs.kept_runs import (
    PAGE,
    README,
    WORDS,
    difference,
    figures,
    listed,
    longest_stop_s,
    median_ratio,
    paid_pairs,
    raw_runs,
    slowest_tens,
    summarised,
    to_default,
    unwritten_s,
)

pytestmark = needs_results

#: The rows of pairs that were restored before they were drained: directory, profile and scheme.
PAID = {
    "| `tide` |": ("tide-cap-210", "cap-210", "tide"),
    "| `adoc` |": ("tide-cap-210", "cap-210", "adoc"),
    "| SILK-O's settings, no law |": ("tide-cap-210", "cap-210", "silk-o"),
    "| no law, with the memtables of `tide` |": ("tide-cap-210", "cap-210", "default-with-tide-memory"),
    "| no law, with the memtables of `adoc` |": ("tide-cap-210", "cap-210", "default-with-adoc-memory"),
    "| no law, the best threads of a grid |": ("tide-cap-210", "cap-210", "grid-best-within-memory"),
    "| `tide`, not capped |": ("uncapped", "uncapped", "tide"),
    "| no law, with the memtables of `tide`, not capped |": ("uncapped", "uncapped", "default-with-tide-memory"),
    "| no law, the best threads of a grid, not capped |": ("uncapped", "uncapped", "grid-best-within-memory"),
    "| 210 MB/s |": ("wal-cap-210", "cap-210", "adoc"),
    "| 210 MB/s, the write-ahead log outside the cap |": ("wal-cap-210", "cap-210-wal-outside", "adoc"),
}

#: The rows of five minutes, which also have the seconds without a write.
FLOODS = {
    "| `tide`, five minutes |": ("flood-cap-13", "cap-13", "tide"),
    "| SILK-O's settings, no law, five minutes |": ("flood-cap-13", "cap-13", "silk-o"),
    "| `adoc`, five minutes |": ("flood-cap-13", "cap-13", "adoc"),
    "| no law, the memtables of `tide` |": ("flood-cap-13", "cap-13", "default-with-tide-memory"),
    "| no law, a grid's best threads |": ("flood-cap-13", "cap-13", "grid-best-within-memory"),
    "| `tide`, 15 MB/s |": ("flood-cap-15", "cap-15", "tide"),
    "| SILK-O's settings, no law, 15 MB/s |": ("flood-cap-15", "cap-15", "silk-o"),
    "| `adoc`, 15 MB/s |": ("flood-cap-15", "cap-15", "adoc"),
    "| no law, the memtables of `tide`, 15 MB/s |": ("flood-cap-15", "cap-15", "default-with-tide-memory"),
    "| no law, a grid's best threads, 15 MB/s |": ("flood-cap-15", "cap-15", "grid-best-within-memory"),
}

#: Which of them README has, and how it names them.
IN_README = {
    "| `tide`, adocd's own law |": "| `tide` |",
    "| `adoc` |": "| `adoc` |",
    "| SILK-O's settings, no law |": "| SILK-O's settings, no law |",
    "| no law, with the memtables of `tide` |": "| no law, with the memtables of `tide` |",
    "| no law, with the memtables of `adoc` |": "| no law, with the memtables of `adoc` |",
}


@pytest.mark.parametrize("row", PAID)
def test_what_a_law_is_worth_once_its_debt_is_paid(row: str) -> None:
    ran, paid = (paid_pairs(*PAID[row], member) for member in ("throughput_per_s", "with_drain_per_s"))
    assert f"{row} {paid} | {ran} |\n" in PAGE


@pytest.mark.parametrize("row", FLOODS)
def test_what_a_scheme_is_worth_in_five_minutes(row: str) -> None:
    directory, _, scheme = FLOODS[row]
    ran, paid = (paid_pairs(*FLOODS[row], member) for member in ("throughput_per_s", "with_drain_per_s"))
    still = listed(list(map(float, unwritten_s(directory, scheme))), ".0f")
    assert f"{row} {paid} | {ran} | {still} |\n" in PAGE


def test_no_paid_row_is_of_anything_else() -> None:
    section = PAGE.partition("## With the debt paid")[2].partition("\n## ")[0]
    heads = ("|---", "| |", "| dev", "| at 15", "| on the disk")
    section = section.partition("**Five minutes are no steady state.**")[0]
    rows = [line for line in section.splitlines() if line.startswith("|") and not line.startswith(heads)]
    assert [" | ".join(row.split(" | ")[:1]) + " |" for row in rows] == [*PAID, *FLOODS]


@pytest.mark.parametrize("row", IN_README)
def test_what_readme_says_of_a_law(row: str) -> None:
    members = ("with_drain_per_s", "throughput_per_s", "peak_memory_bytes")
    directory, _, scheme = PAID[IN_README[row]]
    told = (paid_pairs(*PAID[IN_README[row]], member) for member in members)
    assert f"{row} {' | '.join(told)} | {waited(directory, scheme)} |" in README


def test_what_readme_says_of_waiting_and_of_stops() -> None:
    told = README.partition("The table shows a minute of random writes")[2]
    assert f"under the defaults it was {waited('tide-cap-210', 'default')}." in told
    stops = {scheme: longest_stop_s("tide-cap-210", scheme) for scheme in ("tide", "adoc", "default")}
    assert (
        f"the longest took {stops['tide']:.1f} s under `tide`, {stops['adoc']:.1f} s under `adoc`, and "
        f"{stops['default']:.1f} s under the defaults"
    ) in told
    assert "with more than 60 GB free" in told
    plan = (REPOSITORY / "bench" / "evaluation.sh").read_text().partition("\nblock tide-cap-210 ")[2]
    assert "--device-gb 60" in plan.partition("\n#")[0]


@pytest.mark.parametrize(
    ("law", "directory", "rules"),
    [
        ("adoc", "wal-cap-210", {"adoc.memory", "actuator.repeat"}),
        ("adoc", "tide-cap-210", {"adoc.memory", "actuator.repeat"}),
        ("tide", "tide-cap-210", {"tide.flood", "actuator.repeat"}),
    ],
)
def test_the_laws_acted_in_the_phase(law: str, directory: str, rules: set[str]) -> None:
    found = [figures(run) for run in raw_runs(directory) if run.scheme.name == law]
    assert len(found) >= 5
    for each in found:
        assert {acted.rule for acted in each.acted.of("phase")} == rules


def test_the_verdicts_on_the_pairs_whose_debt_was_paid() -> None:
    (block,) = summarised("tide-cap-210")
    paid, ran = (functools.partial(difference, block, of) for of in ("with_drain_per_s", "throughput_per_s"))
    others = ("adoc", "silk-o", "default-with-tide-memory", "grid-best-within-memory")
    rows = ("default", "default-with-adoc-memory", *others)
    assert {scheme.name for scheme in block.schemes} == {"tide", *rows}
    assert {verdict("tide", row) for verdict in (paid, ran) for row in rows} == {"more"}
    assert "The report calls `tide` better than every other scheme of this block, in both columns." in WORDS
    assert "five pairs finds `tide` better than every other row" in README

    def times(measure: str) -> list[str]:
        return [median_ratio(block, measure, "tide", other) for other in others]

    first, second, third, fourth = times("with_drain_per_s")
    assert (
        f"it had {first} times the writes/s of `adoc`, {second} times those of SILK-O's settings, {third} times those "
        f"of its own memtables without a law, and {fourth} times those of the best threads of a grid"
    ) in WORDS
    first, second, third, fourth = times("throughput_per_s")
    assert f"while it ran, {first}, {second}, {third} and {fourth} times." in WORDS
    better = ("silk-o", "default-with-adoc-memory", "grid-best-within-memory")
    assert {paid(row, "default") for row in better} == {"more"}
    assert "SILK-O's settings, the memtables of `adoc` and the grid's threads are better than the defaults" in WORDS
    assert (paid("adoc", "default"), paid("adoc", "default-with-adoc-memory")) == ("not shown", "not shown")
    assert ran("adoc", "default-with-adoc-memory") == "same"
    ratio = median_ratio(block, "with_drain_per_s", "adoc", "default-with-adoc-memory")
    assert f"it had {ratio} times what they have, and the same while it ran" in WORDS
    assert "shows no gain of `adoc` over its memtables without a law" in " ".join(README.split())


def test_what_tide_merges_and_owes() -> None:
    kept = raw_runs("tide-cap-210")
    drains = []
    for scheme in ("tide", "silk-o", "default"):
        took_s = [run.drain_s or 0.0 for run in kept if run.scheme.name == scheme]
        drains.append(f"{min(took_s):.0f} to {max(took_s):.0f} s under")
    assert (
        f"the drain, which took {drains[0]} `tide`, {drains[1]} SILK-O's settings and {drains[2]} the defaults" in WORDS
    )

    def of(scheme: str, member: str) -> float:
        return float(median(getattr(figures(run), member) for run in kept if run.scheme.name == scheme))

    written = [of(scheme, "write_amplification_drained") for scheme in ("tide", "silk-o", "default")]
    assert (
        f"have written {written[0]:.2f} times what the user wrote, under SILK-O's settings {written[1]:.2f} times and "
        f"under the defaults {written[2]:.2f} times"
    ) in WORDS
    assert not any(each.rule == "tide.brim" for run in kept for each in run.decisions if each.at_s < run.measured_s)
    assert "Level 0 was not full by then" in WORDS
    debt = [of(scheme, "debt_bytes") / (1 << 30) for scheme in ("tide", "default")]
    assert (
        f"minute {debt[0]:.1f} GiB of compactions are pending under `tide`, and {debt[1]:.1f} GiB under the defaults "
        "(medians)"
    ) in WORDS


def slowest(directory: str, scheme: str) -> str:
    """The slowest ten seconds of the first 300 of each run, in means of the run: the least and the most."""
    found = slowest_tens(directory, scheme)
    return f"{min(found):.2f} to {max(found):.2f}"


def drains(directory: str, scheme: str) -> str:
    found = [run.drain_s for run in raw_runs(directory) if run.scheme.name == scheme and run.drain_s is not None]
    assert len(found) == 5
    return f"{min(found):.0f} to {max(found):.0f} s"


def restored(directory: str, scheme: str) -> str:
    """How long after the clients' end the last option was the owner's, in seconds."""
    settled = [run.settled for run in raw_runs(directory) if run.scheme.name == scheme]
    took = [each.owners_s - each.clients_ended_s for each in settled if each is not None]
    assert len(took) == 5
    return f"{min(took):.0f} to {max(took):.0f} s"


def times_in(directory: str, scheme: str, seconds: range) -> str:
    """The writes of these seconds, as the median of the ratios to the defaults' in the same pair."""

    def wrote(run: RawRun) -> float:
        return sum(second.writes for second in run.seconds if second.at_s in seconds)

    ratios = to_default(raw_runs(directory), scheme, wrote)
    assert len(ratios) == 5
    return f"{median(ratios):.2f}"


def merged(directory: str, scheme: str) -> str:
    """What flushes and compactions wrote until all was merged, in what the user wrote."""
    kept = [figures(run).write_amplification_drained for run in raw_runs(directory) if run.scheme.name == scheme]
    return f"{median(each for each in kept if each is not None):.2f}"


def see_that_laws_acted(directory: str) -> None:
    acted = [run for run in raw_runs(directory) if run.scheme.policy in ("adoc", "tide")]
    assert len(acted) == 10
    for run in acted:
        assert figures(run).acted.of("phase"), f"{run.scheme.name} did not act"


PAID_PER_S, RAN_PER_S = "with_drain_per_s", "throughput_per_s"
OTHERS = ("adoc", "default-with-tide-memory", "grid-best-within-memory")


def test_what_five_minutes_show() -> None:
    directory = "flood-cap-13"
    (block,) = summarised(directory)
    assert not block.weak
    verdict, ratio = functools.partial(difference, block), functools.partial(median_ratio, block)
    others = ("default", *OTHERS, "silk-o")
    assert {verdict(PAID_PER_S, "tide", other) for other in others} == {"more"}
    default, adoc, memory, grid, silk = (ratio(PAID_PER_S, "tide", other) for other in others)
    assert f"over run, restore and drain: {default}, {adoc}, {memory}, {grid} and {silk} times." in WORDS
    assert verdict(RAN_PER_S, "tide", "silk-o") == "more"
    assert f"it had {ratio(RAN_PER_S, 'tide', 'silk-o')} times the writes/s of SILK-O's settings" in WORDS
    still, uneven = (unwritten_s(directory, scheme) for scheme in ("tide", "silk-o"))
    stood = f"in {min(uneven)} to {max(uneven)} of the 300 s"
    defaults = unwritten_s(directory, "default")
    assert (
        f"nothing is written {stood}, under `tide` in {min(still)} to {max(still)} s, and under the defaults, which "
        f"delay nearly every write, in {min(defaults)} to {max(defaults)} s."
    ) in WORDS
    found = [figures(run) for run in raw_runs(directory) if run.scheme.name == "default"]
    held = [each.stopped_share + each.delayed_share for each in found]
    assert min(held) > 0.9, "stopped or delayed"
    assert (
        f"In the slowest ten seconds of a run `tide` wrote {slowest(directory, 'tide')} times its mean, these settings "
        f"{slowest(directory, 'silk-o')} times theirs (in one of five runs more than `tide`), the defaults "
        f"{slowest(directory, 'default')} times."
    ) in WORDS
    least = [slowest_tens(directory, scheme) for scheme in ("silk-o", "tide")]
    assert sum(each > max(least[1]) for each in least[0]) == 1
    stops = [longest_stop_s(directory, scheme) for scheme in ("tide", "default")]
    assert f"longest stop took {stops[0]:.1f} s under `tide` and {stops[1]:.1f} s under the defaults" in WORDS
    assert f"longest stop at 13 MB/s took {stops[0]:.1f} s under `tide`, {stops[1]:.1f} s under the defaults." in README
    assert (
        f"what was left took {drains(directory, 'tide')} under `tide`, {drains(directory, 'silk-o')} under SILK-O's "
        f"settings and {drains(directory, 'default')} under the defaults."
    ) in WORDS
    assert f"last option was the owner's {restored(directory, 'tide')} after the clients had ended" in WORDS
    older = [run for block in ("adoc-cap-13", "adoc-cap-15", "../older/flood-cap-210") for run in raw_runs(block)]
    longest = restored(directory, "tide").partition(" to ")[2]
    assert f"The longest wait that we saw was {longest}: after five minutes of a flood under `tide`" in README
    settled = [run.settled for run in older if run.scheme.name == "tide" and run.settled is not None]
    before = max(each.owners_s - each.clients_ended_s for each in settled)
    assert f"before 2026-11-29 it was up to {before:.0f} s" in README
    times = {name: median(waited_percent(directory, name)) for name in ("tide", "default")}
    of_time = f"waited {times['tide']:.0f} % of the time under `tide`, and {times['default']:.0f} % under the defaults"
    assert of_time in WORDS
    paid, ran = (paid_pairs(directory, "cap-13", "tide", measure) for measure in (PAID_PER_S, RAN_PER_S))
    assert (
        f"at a sixteenth of their size | {paid} | {ran} | {silk} times SILK-O's settings, which wrote nothing {stood} "
        f"(`tide`: {min(still)} to {max(still)} s) |"
    ) in README
    see_that_laws_acted(directory)


def test_what_five_minutes_show_of_a_faster_device() -> None:
    directory = "flood-cap-15"
    (block,) = summarised(directory)
    assert not block.weak
    assert block.speed == "cap-490", "15 MB/s at a thirty-second stand for it"
    verdict, ratio = functools.partial(difference, block), functools.partial(median_ratio, block)
    assert [verdict(measure, "tide", "silk-o") for measure in (PAID_PER_S, RAN_PER_S)] == ["same", "less"]
    for measure in (PAID_PER_S, RAN_PER_S):
        assert {verdict(measure, "tide", other) for other in (*OTHERS, "default")} == {"more"}
    paid, ran = (ratio(measure, "tide", "silk-o") for measure in (PAID_PER_S, RAN_PER_S))
    assert (
        "**Here the report calls `tide` the same as SILK-O's settings over run, restore and drain**, "
        f"{paid} times as much, and {ran} times while it ran."
    ) in WORDS
    default, adoc, memory, grid = (ratio(PAID_PER_S, "tide", other) for other in ("default", *OTHERS))
    assert (
        f"It does {default} times as much as the defaults, {adoc} times as much as `adoc`, {memory} times as much as "
        f"its own memtables without a law, and {grid} times as much as the best threads of a grid."
    ) in WORDS
    defaults = unwritten_s(directory, "default")
    idle = f"{min(defaults)} to {max(defaults)}"
    assert (
        f"in the slowest ten seconds of a run it wrote {slowest(directory, 'tide')} times its mean, under these "
        f"settings {slowest(directory, 'silk-o')} times theirs, and {slowest(directory, 'default')} times under the "
        f"defaults. Its longest stop took {longest_stop_s(directory, 'tide'):.1f} s, that of the defaults "
        f"{longest_stop_s(directory, 'default'):.1f} s, and under the defaults nothing was written in {idle} s."
    ) in WORDS
    assert (
        f"flushes and compactions had written {merged(directory, 'silk-o')} times what the user wrote under these "
        f"settings, and {merged(directory, 'tide')} times under `tide`. Merging what was left after the five "
        f"minutes took {drains(directory, 'silk-o')} under these settings, {drains(directory, 'tide')} under `tide`, "
        f"and {drains(directory, 'default')} under the defaults."
    ) in WORDS
    assert verdict("peak_memory_bytes", "tide", "silk-o") == "more"
    more = ratio("peak_memory_bytes", "tide", "silk-o")
    assert f"took {more} times as much memory under `tide` as under these settings" in WORDS
    see_that_laws_acted(directory)
    still, uneven = (unwritten_s(directory, scheme) for scheme in ("tide", "silk-o"))
    pairs = [paid_pairs(directory, "cap-15", "tide", measure) for measure in (PAID_PER_S, RAN_PER_S)]
    assert (
        f"at a thirty-second | {pairs[0]} | {pairs[1]} | {paid} times SILK-O's settings, and {ran} times while it ran; "
        f"they wrote nothing in {min(uneven)} to {max(uneven)} of the 300 s (`tide`: {min(still)} to {max(still)} s) |"
    ) in README


def test_that_five_minutes_are_no_steady_state() -> None:
    assert "In the first minute `tide` writes more than SILK-O's settings, in the last two less, on both" in README
    for device in (13, 15):
        directory = f"flood-cap-{device}"
        periods = (range(60), range(180, 300))
        ahead = [float(times_in(directory, "tide", of)) > float(times_in(directory, "silk-o", of)) for of in periods]
        assert ahead == [True, False]
        for name, scheme in (("`tide`", "tide"), ("SILK-O's settings", "silk-o")):
            first, last = (times_in(directory, scheme, of) for of in (range(60), range(180, 300)))
            assert f"| {name}, at {device} MB/s | {first} | {last} |\n" in PAGE
    by_scheme = [[run for run in raw_runs("flood-cap-15") if run.scheme.name == of] for of in ("silk-o", "default")]
    begins = [min(stall.begin_s for stall in run.stalls if stall.cause == "pending_bytes") for run in by_scheme[0]]
    reached = [begin < run.workload.seconds for begin, run in zip(begins, by_scheme[0], strict=True)]
    assert sorted(reached) == [False, True, True, True, True]
    begins = list(itertools.compress(begins, reached))
    assert f"bytes after {min(begins):.0f} to {max(begins):.0f} s;" in WORDS
    later = [
        mean(second.writes for second in run.seconds if max(begins) + 1 < second.at_s < run.workload.seconds)
        for run in itertools.compress(by_scheme[0], reached)
    ]
    usual = median(figures(run).throughput_per_s for run in by_scheme[1])
    assert f"write {min(later):.0f} to {max(later):.0f} operations/s" in WORDS
    assert max(later) < usual / 2
    assert f"the defaults write {round(usual, -1):,.0f} on average" in WORDS


def waited_percent(directory: str, scheme: str) -> list[float]:
    """How much of each run's time writers waited, by repetition."""
    kept = sorted((run for run in raw_runs(directory) if run.scheme.name == scheme), key=lambda run: run.repetition)
    shares = [figures(run).waited_share for run in kept]
    assert len(shares) >= 5
    return [100 * share for share in shares if share is not None]


def waited(directory: str, scheme: str) -> str:
    return f"{listed(waited_percent(directory, scheme), '.0f')} %"


def peaks(directory: str, scheme: str) -> list[int]:
    """The database's largest resident memory in bytes, by repetition."""
    found = {run.repetition: run.database.peak_rss_bytes for run in raw_runs(directory) if run.scheme.name == scheme}
    return [peak for _, peak in sorted(found.items()) if peak is not None]


def test_what_the_comparisons_leave_unequal() -> None:
    times = [
        tide / other
        for directory in ("tide-cap-210", "flood-cap-13", "flood-cap-15")
        for tide, other in zip(peaks(directory, "tide"), peaks(directory, "default-with-tide-memory"), strict=True)
    ]
    assert f"took {min(times):.1f} to {max(times):.1f} times as much memory under `tide`" in WORDS


def test_what_adocs_drain_writes() -> None:
    kept = [figures(run) for run in raw_runs("wal-cap-210") if run.scheme.name == "adoc"]
    written = [each.write_amplification_drained for each in kept if each.write_amplification_drained is not None]
    assert len(written) == len(kept) == 10
    assert f"compactions had written {min(written):.1f} to {max(written):.1f} times what the user wrote" in WORDS
