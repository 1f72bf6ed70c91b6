"""docs/results.md: the stability paper's bursts, and what its spring and gear does at 95 % of the maximum."""

from __future__ import annotations

import functools

import pytest
from adocd_bench.evaluation.report.measures import latency

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
    raw_runs,
    summarised,
    to_default,
)

pytestmark = needs_results
DIRECTORY = "burst-cap-15"
ROWS = {
    "| `tide`, in bursts |": "tide",
    "| no law, the memtables of `tide`, in bursts |": "default-with-tide-memory",
    "| `stability-36`, in bursts |": "stability-36",
    "| `tikv`, in bursts |": "tikv",
    "| the defaults, in bursts |": "default",
    "| `speedb`, in bursts |": "speedb",
    "| `stability`, in bursts |": "stability",
    "| `cockroach`, in bursts |": "cockroach",
    "| `spring-and-gear`, in bursts |": "spring-and-gear",
}
LATE = latency("write", "total", "p99_us")


def shown(scheme: str) -> str:
    """Write a scheme's columns."""
    kept = raw_runs(DIRECTORY)
    mine = sorted((run for run in kept if run.scheme.name == scheme), key=lambda run: run.repetition)
    assert len(mine) == 5
    done, stopped, delayed = (
        listed([100 * measured(name)(run) for run in mine], ".0f")
        for name in ("completed_share", "stopped_share", "delayed_share")
    )
    late_s = listed([measured(LATE)(run) / 1e6 for run in mine], ".1f")
    ratios = listed(to_default(kept, scheme, measured(LATE)), ".2f") if scheme != "default" else ""
    return f"{done} % | {late_s} s | {ratios} | {stopped} % | {delayed} % |"


@pytest.mark.parametrize("row", ROWS)
def test_what_a_law_does_in_bursts(row: str) -> None:
    assert f"{row} {shown(ROWS[row])}\n" in PAGE


def test_what_figure_12_shows() -> None:
    (block,) = summarised(DIRECTORY)
    assert not block.weak
    verdict, times = functools.partial(difference, block), functools.partial(median_ratio, block)
    quick, gear = "stability-36", "spring-and-gear"
    assert (verdict("stopped_share", gear, quick), verdict(LATE, quick, gear), verdict(LATE, quick, "default")) == (
        "less",
        "less",
        "less",
    )
    assert f"stopped them for {times('stopped_share', gear, quick)} times as long as `stability-36`" in WORDS
    assert f"p99 of `stability-36` is {times(LATE, quick, gear)} times that of `spring-and-gear`, and" in WORDS
    delayed = [100 * measured("delayed_share")(run) for run in raw_runs(DIRECTORY) if run.scheme.name == "default"]
    assert (
        f"and {times(LATE, quick, 'default')} times that of the defaults, which delay for {min(delayed):.0f} to "
        f"{max(delayed):.0f} % of the time"
    ) in WORDS
    report = (REPOSITORY / "docs" / "evaluation" / "report.md").read_text()
    assert "| Stability | figure 12 | bursts: delay, or write as quickly as possible | reproduced |" in report


def test_what_the_laws_do_against_the_defaults_in_bursts() -> None:
    (block,) = summarised(DIRECTORY)
    verdict, times = functools.partial(difference, block), functools.partial(median_ratio, block)
    found = {scheme: verdict(LATE, scheme, "default") for scheme in ROWS.values() if scheme != "default"}
    assert found == {
        "tide": "less",
        "default-with-tide-memory": "less",
        "stability-36": "less",
        "tikv": "not shown",
        "speedb": "not shown",
        "stability": "more",
        "cockroach": "more",
        "spring-and-gear": "more",
    }
    assert verdict(LATE, "tide", "default-with-tide-memory") == "not shown"
    memory = times(LATE, "default-with-tide-memory", "default")
    assert f"p99 of `tide` is {times(LATE, 'tide', 'default')} times the defaults', that of its memtables" in WORDS
    assert f"memtables without a law {memory} times" in WORDS
    assert verdict(LATE, "tide", "stability-36") == "not shown"
    late = {(run.scheme.name, run.repetition): measured(LATE)(run) for run in raw_runs(DIRECTORY)}
    pairs = sorted(late["tide", pair] / late["stability-36", pair] for pair in range(1, 6))
    assert f"lower than that of `stability-36` in each pair, {pairs[0]:.2f} to {pairs[-1]:.2f} times" in WORDS
    assert pairs[-1] < 1


def test_that_the_laws_acted_in_bursts() -> None:
    kept = raw_runs(DIRECTORY)
    for scheme in ("stability", "stability-36", "spring-and-gear", "tikv", "cockroach", "tide"):
        shares = [figures(run).acted.controlled_share for run in kept if run.scheme.name == scheme]
        assert len(shares) == 5
        assert min(shares) > 0.4, scheme


def test_what_figure_6_shows() -> None:
    kept = raw_runs("two-phase-cap-13")
    ends = {
        (scheme, span): sorted(
            measured(latency("write", span, "p99_us"))(run) for run in kept if run.scheme.name == scheme
        )
        for scheme in ("spring-and-gear", "default")
        for span in ("queueing", "processing")
    }
    queued, processed = ends["spring-and-gear", "queueing"], ends["spring-and-gear", "processing"]
    assert len(queued) == 5
    assert f"that of the time in the queue was {queued[0] / 1e6:.0f} to {queued[-1] / 1e6:.0f} s" in WORDS
    assert f"the write itself was {processed[0] / 1e3:.0f} ms under `spring-and-gear` and" in WORDS
    assert f"{processed[-1] / 1e3:.0f}" == f"{processed[0] / 1e3:.0f}"
    others = ends["default", "processing"]
    assert f"and {others[0] / 1e3:.0f} to {others[-1] / 1e3:.0f} ms under the defaults;" in WORDS
    report = (REPOSITORY / "docs" / "evaluation" / "report.md").read_text()
    assert "| Stability | figure 6 | bLSM in two phases | reproduced |" in report
    shares = [100 * measured("completed_share")(run) for run in kept if run.scheme.name == "spring-and-gear"]
    assert f"{min(shares):.0f} to {max(shares):.0f} % of them were done in time" in WORDS
    younger_s = min(run.started_unix_s for run in kept if run.scheme.name == "spring-and-gear") - max(
        run.started_unix_s for run in kept if run.scheme.name != "spring-and-gear"
    )
    assert younger_s > 86400
