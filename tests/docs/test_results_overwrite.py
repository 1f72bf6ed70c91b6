"""docs/results.md: a flood into a database that has data."""

from __future__ import annotations

from collections.abc import Callable

from adocd_bench.evaluation.raw import RawRun

from tests.bench.kept import needs_results
from tests.docs.kept_runs import (
    PAGE,
    README,
    WORDS,
    amplification,
    difference,
    drain_s,
    figures,
    first_minute,
    least_and_most,
    listed,
    longest_stop_s,
    measured,
    median_ratio,
    raw_runs,
    summarised,
    to_default,
    unwritten_s,
    waited_share_percent,
)

pytestmark = needs_results
BLOCK, PAIRS = "overwrite-cap-210", 5
PAID, RAN = "with_drain_per_s", "throughput_per_s"


def ratios(measure: Callable[[RawRun], float]) -> str:
    found = to_default(raw_runs(BLOCK), "tide", measure)
    assert len(found) == PAIRS
    return listed(found, ".2f")


def of(scheme: str, value: Callable[[RawRun], float], form: str) -> str:
    return least_and_most(BLOCK, scheme, value, form)


def test_the_row() -> None:
    assert {(run.scale, run.profile, run.workload.seconds) for run in raw_runs(BLOCK)} == {(1, "cap-210", 240)}
    still = listed(list(map(float, unwritten_s(BLOCK, "tide", pairs=PAIRS))), ".0f")
    paid, ran = ratios(measured(PAID)), ratios(measured(RAN))
    assert f"| `tide`, overwriting | {paid} | {ran} | {still} |\n" in PAGE
    assert f"| overwriting 4 GB at random, four minutes at 210 MB/s | {paid} | {ran} | " in README


def test_what_the_pairs_show() -> None:
    (block,) = summarised(BLOCK)
    assert not block.weak
    assert {difference(block, measure, "tide", "default") for measure in (PAID, RAN)} == {"more"}
    medians = [median_ratio(block, measure, "tide", "default") for measure in (PAID, RAN)]
    assert f"better than the defaults in both columns: {medians[0]} and {medians[1]} times at the median" in WORDS
    waits = [of(scheme, waited_share_percent, ".0f") for scheme in ("tide", "default")]
    assert f"writers waited {waits[0]} % of the time under `tide`, {waits[1]} % under the defaults" in WORDS
    assert f"writers waited {waits[0]} % of the time instead of {waits[1]} %" in README
    stops = [longest_stop_s(BLOCK, scheme) for scheme in ("tide", "default")]
    assert f"The longest stop took {stops[0]:.1f} s under `tide`, {stops[1]:.1f} s under the defaults" in WORDS
    drains = [of(scheme, drain_s, ".0f") for scheme in ("tide", "default")]
    assert f"It took {drains[0]} s to merge what was left, under the defaults {drains[1]} s" in WORDS
    wrote = [of(scheme, amplification, ".1f") for scheme in ("tide", "default")]
    assert f"wrote {wrote[0]} times what the user wrote under `tide`, {wrote[1]} times under the defaults" in WORDS
    memory = to_default(raw_runs(BLOCK), "tide", measured("peak_memory_bytes"))
    assert f"took {min(memory):.1f} to {max(memory):.1f} times the memory that it takes under the defaults" in WORDS
    assert f"In the first minute clients wrote {of('tide', first_minute, '.0f')} MB/s under `tide`" in WORDS
    ours = sorted((run for run in raw_runs(BLOCK) if run.scheme.name == "tide"), key=first_minute)
    gains = dict(enumerate(to_default(raw_runs(BLOCK), "tide", measured(PAID)), start=1))
    assert gains[ours[-1].repetition] == max(gains.values()), "where they wrote more, the gain was larger"
    assert gains[ours[0].repetition] == min(gains.values())
    longer = to_default(raw_runs(BLOCK), "tide", drain_s)
    assert (
        f"memory, single stops of up to {stops[0]:.1f} s, and a drain {min(longer):.1f} to {max(longer):.1f} times as "
        "long |"
    ) in PAGE
    assert set(unwritten_s(BLOCK, "default", pairs=PAIRS)) == {0}, "which wrote something in every second"
    for run in raw_runs(BLOCK):
        if run.scheme.name == "tide":
            assert figures(run).acted.away_share("level0_compaction_trigger") > 0.9
