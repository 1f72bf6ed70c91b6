"""The kept raw results of the evaluation, and how docs/results.md writes what they come to."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise

from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report import accounting
from adocd_bench.evaluation.report.accounting import RunFigures
from adocd_bench.evaluation.report.measures import MEASURES, latency
from adocd_bench.evaluation.report.read import found_in
from adocd_bench.evaluation.report.summary import Block, Judged, compared, summarise

from tests.bench.kept import RESULTS
from tests.conftest import REPOSITORY

RAW = RESULTS / "evaluation"
PAGE = (REPOSITORY / "docs" / "results.md").read_text()
#: The page's words on one line, to look for a sentence in.
WORDS = " ".join(PAGE.split())
README = " ".join((REPOSITORY / "README.md").read_text().split())
#: The 99.9th percentile of all operations, from their arrival to their end.
LATEST = latency("all", "total", "p999_us")
#: What was worked out of the runs that were read, by `_key`.
_FIGURES: dict[tuple[str, int, float], RunFigures] = {}


def raw_runs(directory: str) -> tuple[RawRun, ...]:
    """Read a directory once; its runs are without their latencies, of which only `figures` stay."""
    return _kept(directory)[0]


def summarised(directory: str) -> tuple[Block, ...]:
    """Summarise a directory's runs, once."""
    return _kept(directory)[1]


def figures(run: RawRun) -> RunFigures:
    """Give a run's figures, of what was read: its latencies included."""
    found = _FIGURES.get(_key(run))
    return accounting.figures(run) if found is None else found


@functools.cache
def _kept(directory: str) -> tuple[tuple[RawRun, ...], tuple[Block, ...]]:
    found = found_in(RAW / directory).runs
    blocks = summarise(found)
    judged = [each for block in blocks for scheme in block.schemes for each in scheme.runs]
    _FIGURES.update((_key(each.run), each.figures) for each in judged)
    light = {_key(run): _light(run) for run in found}

    def lightened(runs: Iterable[Judged]) -> tuple[Judged, ...]:
        return tuple(replace(each, run=light[_key(each.run)]) for each in runs)

    return tuple(light.values()), tuple(
        replace(
            block,
            schemes=tuple(
                replace(scheme, runs=lightened(scheme.runs), used=lightened(scheme.used)) for scheme in block.schemes
            ),
        )
        for block in blocks
    )


def _light(run: RawRun) -> RawRun:
    """Leave out the latencies, whose buckets take nearly all of a run's memory."""
    operations = (replace(each, processing=None, queueing=None, total=None) for each in run.operations)
    return replace(run, operations=tuple(operations))


def _key(run: RawRun) -> tuple[str, int, float]:
    return run.scheme.name, run.repetition, run.started_unix_s


def listed(values: list[float], form: str) -> str:
    told = [format(each, form) for each in values]
    return f"{', '.join(told[:-1])} and {told[-1]}"


def off_s(run: RawRun) -> float:
    """Say how long compaction was off in the phase, by the daemon's samples."""
    return sum(
        min(after.at_s, run.phase_s) - max(before.at_s, 0.0)
        for before, after in pairwise(run.samples)
        if not before.compaction_enabled and before.at_s < run.phase_s
    )


def least_and_most(directory: str, scheme: str, value: Callable[[RawRun], float], form: str) -> str:
    """Write the least and the most of a scheme's runs."""
    found = [value(run) for run in raw_runs(directory) if run.scheme.name == scheme]
    assert len(found) >= 3
    least, most = (format(each, form) for each in (min(found), max(found)))
    return least if least == most else f"{least} to {most}"


def waited_share_percent(run: RawRun) -> float:
    """Return for how much of the phase writers waited, in percent."""
    return 100 * (figures(run).waited_share or 0.0)


def drain_s(run: RawRun) -> float:
    """Return how long it took to merge what was left."""
    assert run.drain_s is not None
    return run.drain_s


def amplification(run: RawRun) -> float:
    """Return what flushes and compactions have written when all is merged, for each byte of the user's."""
    found = figures(run).write_amplification_drained
    assert found is not None
    return found


def first_minute(run: RawRun) -> float:
    """Return what clients wrote in the first minute, in MB/s."""
    return sum(second.writes for second in run.seconds if second.at_s < 60) * 1000 / 60 / 1e6


def longest_stop_s(directory: str, scheme: str) -> float:
    """Say how long RocksDB stopped writes at most while clients wrote, in any run of a scheme."""
    kept = [run for run in raw_runs(directory) if run.scheme.name == scheme]
    assert kept
    return max(
        min(each.end_s, run.measured_s) - each.begin_s
        for run in kept
        for each in run.stalls
        if each.condition == "stopped" and each.begin_s < run.measured_s
    )


def by_pair(directory: str, scheme: str, pairs: int = 5) -> list[RawRun]:
    """Return a scheme's runs in the order of their repetitions; there must be one in each of the pairs."""
    kept = sorted((run for run in raw_runs(directory) if run.scheme.name == scheme), key=lambda run: run.repetition)
    assert [run.repetition for run in kept] == [*range(1, pairs + 1)]
    return kept


def unwritten_s(directory: str, scheme: str, pairs: int = 5) -> list[int]:
    """In how many seconds of each run's phase nothing was written, by repetition."""
    return [
        sum(second.writes == 0 for second in run.seconds if second.at_s < run.workload.seconds)
        for run in by_pair(directory, scheme, pairs)
    ]


def slowest_tens(directory: str, scheme: str, pairs: int = 5) -> list[float]:
    """Return the writes in the slowest ten seconds of each run's phase, as a share of its mean."""
    found = []
    for run in by_pair(directory, scheme, pairs):
        writes = [second.writes for second in run.seconds if second.at_s < run.workload.seconds]
        tens = [sum(writes[at : at + 10]) / 10 for at in range(len(writes) - 9)]
        found.append(min(tens) / (sum(writes) / len(writes)))
    return found


def to_default(kept: Iterable[RawRun], scheme: str, of: Callable[[RawRun], float]) -> list[float]:
    """Return the ratios of a scheme to the default, by repetition."""
    both = [run for run in kept if run.scheme.name in (scheme, "default")]
    mine, default = ({run.repetition: of(run) for run in both if run.scheme.name == n} for n in (scheme, "default"))
    return [mine[repetition] / default[repetition] for repetition in sorted(mine)]


def measured(name: str) -> Callable[[RawRun], float]:
    """Return what reads one of the report's measures, which the run must have."""

    def of(run: RawRun) -> float:
        found = MEASURES[name].of(figures(run))
        assert found is not None
        return found

    return of


def paid_pairs(directory: str, profile: str, scheme: str, measure: str) -> str:
    """Write the ratios of a scheme to the default, pair by pair."""
    kept = [run for run in raw_runs(directory) if run.profile == profile]
    assert all(run.settled is not None for run in kept)
    ratios = to_default(kept, scheme, measured(measure))
    assert len(ratios) == len([run for run in kept if run.scheme.name == "default"]) >= 5
    return listed(ratios, ".2f")


def difference(block: Block, measure: str, one: str, other: str) -> str:
    """Name the report's verdict on two schemes of a block."""
    schemes = block.scheme(one), block.scheme(other)
    assert schemes[0] is not None
    assert schemes[1] is not None
    return compared(measure, schemes[0], schemes[1]).difference


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
