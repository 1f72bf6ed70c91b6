"""docs/results.md: the highest rates that last."""

from __future__ import annotations

import functools

import pytest
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.search.maximum import MAXIMUM
from adocd_bench.evaluation.search.maximum import begin as begin_maximum
from adocd_bench.evaluation.search.sustained import CLOSE, RUNNING_SHARE, Search, searches_in
from adocd_bench.results import results_in

from tests.bench.kept import needs_results
from tests.docs.kept_runs import PAGE, RAW, WORDS

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
    assert (
        f"{row} {search.lasts_per_s:,.0f}/s | {100 * search.share:.0f} % | {files[0]} to {files[-1]} | "
        f"{first.p99_total_us / 1e6:.{2 if first.p99_total_us < 100_000 else 1}f} s |\n" in PAGE
    )


def test_what_the_rates_come_to() -> None:
    found = searches()
    assert set(found) == set(ROWS.values())
    (maximum,) = {search.maximum_per_s for search in found.values()}
    (search,) = {(search.seconds, search.scale) for search in found.values()}
    assert search == (300, 16)
    assert f"which stand for {search[0] * search[1] // 60} minutes at scale 1" in WORDS
    assert maximum == begin_maximum(KEPT / MAXIMUM / f"{BLOCK}.json", found["tide"].conditions).per_s
    assert f"under the defaults: {maximum:,.0f} updates/s" in WORDS
    tide, default = found["tide"], found["default"]
    assert f"`tide` sustains {tide.lasts_per_s / default.lasts_per_s:.2f} times the defaults' rate" in WORDS
    assert tide.lasts_per_s == found["default-with-tide-memory"].lasts_per_s
    steps = {(each.fails_per_s - each.lasts_per_s) / maximum for each in found.values() if each.fails_per_s is not None}
    assert max(steps) < CLOSE
    assert f"differences below {100 * max(steps):.0f} % of the maximum" in WORDS


def test_tide_acted_and_has_not_paid_at_its_highest_rate() -> None:
    """It took its memory and shut the gate, and level 0 was not merged again; above that rate it was."""
    search = searches()["tide"]
    for tried, run in zip(search.tested, runs("tide"), strict=True):
        (shut, *_) = (each for each in run.decisions if "level0_compaction_trigger" in each.settings)
        assert shut.outcome == "applied"
        gate = shut.settings["level0_compaction_trigger"]
        files = [each.l0_files for each in run.samples if shut.at_s + 10 < each.at_s <= run.measured_s]
        assert run.scheme.policy == "tide"
        if tried.offered_per_s == search.lasts_per_s:
            assert files[-1] > 90, "about 100 files"
            assert min(files[len(files) // 2 :]) > 30, "level 0 was not merged"
        elif tried.offered_per_s > search.lasts_per_s and not tried.lasts:
            assert max(files) >= gate, "the merge began"
            assert tried.p99_total_us > 1_000_000
