"""The best static configuration, as a patient expert would find it: a grid search over threads and batch.

The search is successive halving (Jamieson and Talwalkar, AISTATS'16), by thirds: all configurations run for a short
time, the best third runs twice as long, and so on until the best ninth has run for the whole time. No configuration
takes more memory than ADOC: batch x max_write_buffer_number is at most ADOC's largest batch times RocksDB's two
memtables. All configurations get the same keys. In a closed loop the best has the most operations/s; in an open loop it
has the lowest 99th percentile of total latency. A short run favours large memtables, so the last rung is as long as the
runs in which the result is compared.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from adocd.model.knob import MIB
from adocd_bench.errors import BadArgument, BenchError, RunFailed
from adocd_bench.evaluation import one, raw
from adocd_bench.evaluation.circumstances import Circumstances, Options, batch
from adocd_bench.evaluation.loads.closed_loop import DbBenchLoad
from adocd_bench.evaluation.plan import Planned, RunsAsked
from adocd_bench.evaluation.progress import RunsProgress
from adocd_bench.evaluation.raw import BASELINE
from adocd_bench.evaluation.schemes import scheme
from adocd_bench.evaluation.search import halving
from adocd_bench.evaluation.search.halving import BATCHES_MIB, GRIDS, FailedOptions, Grid, Searched, TriedOptions
from adocd_bench.evaluation.search.two_phase import percentile_us
from adocd_bench.evaluation.setting import RunSite, program, wanted

_MEMTABLES = 2
_KEPT, _LONGER, _RUNGS = 3, 2, 3
#: Shortest rung, in seconds. An empty database does not stall in its first seconds, so all configurations look alike:
#: on cap-210, twelve of them were within 13 % of each other after 5 s, with the default ahead.
_RUNG_LEAST_S = 15


def configurations(grid: Grid, scale: int) -> list[tuple[int, int]]:
    """Return the threads and batch (bytes) of all configurations that take no more memory than ADOC."""
    here = Circumstances(scale)
    most = here.size(max(BATCHES_MIB) * MIB) * _MEMTABLES
    sizes = dict.fromkeys(here.size(mib * MIB) for mib in grid.batches_mib)
    return [(t, size) for t, size in itertools.product(grid.threads, sizes) if size * _MEMTABLES <= most]


def rungs(count: int, seconds: int) -> list[tuple[int, int]]:
    """Return how many configurations run in each rung, and for how long (s); the last rung takes all `seconds`."""
    sizes = [count]
    while sizes[-1] > 1 and len(sizes) < _RUNGS:
        sizes.append(math.ceil(sizes[-1] / _KEPT))
    last = len(sizes) - 1
    least_s = min(seconds, _RUNG_LEAST_S)
    return [(size, max(least_s, seconds // _LONGER ** (last - rung))) for rung, size in enumerate(sizes)]


def best(
    there: RunSite, grid: Grid, asked: RunsAsked, out: Path, console: Console, *, any_grid: bool = False
) -> Options:
    """Return the best options: begin the search, resume it, or read its result; raises BenchError.

    `any_grid` accepts a search that was begun with other threads and batches.
    """
    file = out / GRIDS / f"{grid.block}.json"
    searched = halving.begin(file, Searched(grid, asked.seconds, asked.scale, asked.seed), any_grid=any_grid)
    if searched.best is not None:
        return searched.best
    chosen = configurations(searched.grid, asked.scale)
    if not chosen:
        raise BadArgument(f"every batch of this grid takes more memory than ADOC's largest, {max(BATCHES_MIB)} MiB")
    plan = rungs(len(chosen), asked.seconds)
    left = sum(size for size, _ in plan) - len(searched.tried)
    mean_s = round(sum(n * s for n, s in plan) / sum(n for n, _ in plan))
    progress = RunsProgress(console, left, mean_s, at_once=there.lanes.count)
    progress.say(f"the grid for {grid.block}: {left} short runs")
    for size, seconds in plan:
        chosen = chosen[:size]
        missing = [(*one_, seconds) for one_ in chosen if searched.found(*one_, seconds) is None]
        try_one = functools.partial(_try, there, searched.grid, asked=asked, progress=progress)
        for tried in there.lanes.each(missing, try_one):
            searched = halving.keep(file, searched.with_one(tried))
        chosen = _ranked(searched, chosen, seconds)
    if not chosen:
        raise RunFailed(f"every configuration of the grid for {grid.block} failed: see {file}")
    threads, batch_bytes = chosen[0]
    found = {**batch(batch_bytes), "max_background_jobs": threads}
    halving.keep(file, replace(searched, best=found))
    return found


def _ranked(searched: Searched, chosen: Sequence[tuple[int, int]], seconds: int) -> list[tuple[int, int]]:
    """Sort configurations by their score in this rung, best first; leave out those that failed."""
    found = [(searched.found(*one_, seconds), one_) for one_ in chosen]
    scored = [(tried.score, one_) for tried, one_ in found if tried is not None]
    return [one_ for _, one_ in sorted(scored, key=lambda pair: -pair[0])]


def _try(
    there: RunSite, grid: Grid, what: tuple[int, int, int], *, asked: RunsAsked, progress: RunsProgress
) -> TriedOptions | FailedOptions:
    threads, batch_bytes, seconds = what
    name = f"{threads} threads, batch of {batch_bytes // MIB} MiB, {seconds} s"
    with progress.run(name) as line:
        try:
            run = _run(there, grid, what, asked, line.look)
        except BadArgument:
            raise
        except BenchError as error:
            return FailedOptions(name, str(error))
    per_s = sum(each.count for each in run.operations) / run.measured_s
    return TriedOptions(threads, batch_bytes, seconds, _score(run, per_s), per_s)


def _run(there: RunSite, grid: Grid, what: tuple[int, int, int], asked: RunsAsked, on_look: one.OnLook) -> raw.RawRun:
    threads, batch_bytes, seconds = what
    used = scheme(BASELINE).used(Circumstances(asked.scale))
    options = {**batch(batch_bytes), "max_background_jobs": threads, "max_write_buffer_number": _MEMTABLES}
    used = replace(used, options={**used.options, **{key: str(value) for key, value in options.items()}})
    load = program(replace(asked, seconds=seconds), grid.workload, grid.found_per_s)
    if isinstance(load, DbBenchLoad):
        load = replace(load, drained=False)
    run = Planned("grid", grid.profile, grid.workload, 1, asked.seed)
    return there.run(wanted(asked, run, used, load), load, on_look)


def _score(run: raw.RawRun, per_s: float) -> float:
    totals = [each.total for each in run.operations if each.total is not None]
    return per_s if not totals else -max(percentile_us(total, 0.99) for total in totals)
