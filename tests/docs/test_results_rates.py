"""docs/results.md: the highest rates that last."""

from __future__ import annotations

import functools
from itertools import pairwise

import pytest
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report.measures import latency
from adocd_bench.evaluation.search.maximum import MAXIMUM
from adocd_bench.evaluation.search.maximum import begin as begin_maximum
from adocd_bench.evaluation.search.sustained import CLOSE, RUNNING_SHARE, Search, searches_in
from adocd_bench.results import results_in

from tests.bench.kept import needs_results
from tests.docs.kept_runs import PAGE, RAW, WORDS, measured, raw_runs

pytestmark = needs_results
KEPT = RAW / "two-phase-cap-13"
BLOCK = "cap-13-two-phase"
ROWS = {
    "| `tide`, at its highest rate |": "tide",
    "| no law, the memtables of `tide`, at its highest rate |": "default-with-tide-memory",
    "| `adoc`, at its highest rate |": "adoc",
    "| the defaults, at their highest rate |": "default",
    "| `stability`, at its highest rate |": "stability",
    "| `spring-and-gear`, at its highest rate |": "spring-and-gear",
}


@functools.cache
def searches() -> dict[str, Search]:
    return {name.removeprefix(f"{BLOCK}-"): search for name, search in searches_in(KEPT).items()}


def runs(scheme: str) -> list[RawRun]:
    """The raw results of a search, in its order."""
    return [raw.read(file) for file in sorted(results_in(KEPT / "searches" / f"{BLOCK}-{scheme}"))]


@pytest.mark.parametrize("row", ROWS)
def test_the_highest_rate_that_lasts(row: str) -> None:
    search = searches()[ROWS[row]]
    assert search.next_trial is None, "the search is complete"
    at_most = [each for each in search.tested if each.offered_per_s == search.lasts_per_s]
    files = sorted(each.l0_files for each in at_most if each.l0_files is not None)
    assert len(files) == len(at_most) >= 2
    first = search.tested[0]
    assert first.offered_per_s == pytest.approx(RUNNING_SHARE * search.maximum_per_s)
    p99_us = first.p99_total_us
    p99 = f"{p99_us / 1e3:.0f} ms" if p99_us < 1e6 else f"{p99_us / 1e6:.1f} s"
    assert (
        f"{row} {search.lasts_per_s:,.0f}/s | {100 * search.share:.0f} % | {files[0]} to {files[-1]} | {p99} |\n"
        in PAGE
    )


def test_what_the_rates_come_to() -> None:
    found = searches()
    assert set(found) == set(ROWS.values())
    (maximum,) = {search.maximum_per_s for search in found.values()}
    (search,) = {(search.seconds, search.scale) for search in found.values()}
    assert search == (300, 16)
    assert f"Each rate was tried for {search[0]} s." in WORDS
    assert maximum == begin_maximum(KEPT / MAXIMUM / f"{BLOCK}.json", found["tide"].conditions).per_s
    assert f"under the defaults: {maximum:,.0f} updates/s" in WORDS
    rates = {name: each.lasts_per_s for name, each in found.items()}
    best = max((name for name in rates if name != "tide"), key=rates.__getitem__)
    assert best == "default-with-tide-memory"
    times = rates["tide"] / rates["default"], rates["tide"] / rates[best]
    assert f"`tide` sustains {times[0]:.2f} times the defaults' rate, and {times[1]:.2f} times that of its mem" in WORDS
    ends = [found[name].fails_per_s or 0.0 for name in ("tide", best)]
    assert f"between {rates['tide'] / ends[1]:.2f} and {ends[0] / rates[best]:.2f}, and a search can be off" in WORDS
    steps = {(each.fails_per_s - each.lasts_per_s) / maximum for each in found.values() if each.fails_per_s is not None}
    assert max(steps) < CLOSE
    assert f"the last step of the bisection is {100 * max(steps):.0f} % of the maximum" in WORDS
    hours = (runs("tide")[0].started_unix_s - runs("maximum")[0].started_unix_s) / 3600
    assert 6.5 < hours < 7.5
    assert "measured seven hours earlier, on another machine" in WORDS


def test_two_runs_of_a_rate_are_few() -> None:
    rate = searches()["adoc"].lasts_per_s
    beside = [run for run in raw_runs("two-phase-cap-13") if run.scheme.name == "adoc"]
    assert all(run.workload.offered_per_s == pytest.approx(rate) for run in beside)
    late = [p99_us for run in beside if (p99_us := measured(latency("all", "total", "p99_us"))(run)) > 1e6]
    assert (len(beside), len(late)) == (5, 3)
    assert f"in three of the five runs at 95 % above, `adoc` did not keep the rate of {rate:,.0f}/s" in WORDS


def test_what_was_offered_to_spring_and_gear() -> None:
    beside = [run for run in raw_runs("two-phase-cap-13") if run.scheme.name == "spring-and-gear"]
    assert len(beside) == 5
    (offered_per_s,) = {round(run.workload.offered_per_s or 0.0) for run in beside}
    times = offered_per_s / searches()["spring-and-gear"].lasts_per_s
    assert f"Here it is 95 % of the defaults', {times:.1f} times the rate that [lasts](#rates-that-last)" in WORDS


def test_tide_merged_level_0_beside_the_clients() -> None:
    search = searches()["tide"]
    merged, opened, deep, held_s = [], [], [], []
    for tried, run in zip(search.tested, runs("tide"), strict=True):
        assert run.scheme.policy == "tide"
        applied = [each for each in run.decisions if each.outcome == "applied"]
        gates = [gate for each in applied if (gate := each.settings.get("level0_compaction_trigger"))]
        assert gates[0] > 90, "shut at first"
        opened.append(gates[1])
        opened_s = next(each.at_s for each in applied if each.settings.get("level0_compaction_trigger") == gates[1])
        deep.append(next(each.l0_files for each in run.samples if each.at_s >= opened_s))
        assert max(gate for gate in gates if gate < 90) > gates[1]
        files = [each.l0_files for each in run.samples if each.at_s <= run.measured_s]
        # A flush adds one file; only a merge out of level 0 takes several away.
        merged.append(sum(later < sooner - 5 for sooner, later in pairwise(files)))
        if not tried.lasts:
            held_s.append(sum(stall.stalled_s for stall in run.stalls))
    assert (len(merged), min(merged), max(merged), set(opened)) == (7, 4, 6, {8})
    assert "In each of its seven runs `tide` merged level 0 four to six times beside the clients" in WORDS
    assert f"first with a trigger of 8 files, when it had {min(deep)} to {max(deep)}, and then at more" in WORDS
    assert f"At 3,304/s one of two runs did not last. RocksDB held writes there for {held_s[0]:.2f} s in all" in WORDS
    assert [round(each.offered_per_s) for each in search.tested if not each.lasts] == [3304]
