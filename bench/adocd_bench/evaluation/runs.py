"""Carries out a plan: makes every run without a result, and saves each as soon as it ends."""

import contextlib
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from rich.console import Console

from adocd_bench.errors import BadArgument, BenchError, RunFailed
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.circumstances import Options
from adocd_bench.evaluation.lanes import Gathering
from adocd_bench.evaluation.loads.workloads import workload
from adocd_bench.evaluation.plan import Folder, Planned, RunsAsked, checked, planned
from adocd_bench.evaluation.progress import RunLine, RunsProgress, time_text
from adocd_bench.evaluation.schemes import Scheme, scheme
from adocd_bench.evaluation.search import grid, halving, rates
from adocd_bench.evaluation.search.halving import BATCHES_MIB, Grid
from adocd_bench.evaluation.search.sustained import RUNNING_SHARE, Search
from adocd_bench.evaluation.setting import RunSite, prepare, program, setting, wanted
from adocd_bench.host.device import WAL_OUTSIDE, parse_profile
from adocd_bench.results import is_there
from adocd_bench.run.interrupt import interruptible


@dataclass(frozen=True, slots=True)
class Done:
    """What came of it: how many runs there are, were there before, were made now, and the sentences of those failed."""

    out: str
    runs: int
    kept: int
    made: int
    failed: dict[str, str]
    wall_s: float


def search_grid(asked: RunsAsked, wanted_grid: Grid, out: Path, directory: Path | None, console: Console) -> Options:
    """Find the best static options for a block, and keep all that was tried; raises BenchError."""
    asked = checked(replace(asked, profiles=(wanted_grid.profile,), workloads=(wanted_grid.workload,)))
    with _there(asked, out, directory) as there:
        return grid.best(there, wanted_grid, asked, out, console)


@dataclass(frozen=True, slots=True)
class Lasting:
    """What came of searches for rates that last, by block and scheme, and the sentences of those that failed."""

    searches: dict[str, Search]
    failed: dict[str, str]


def search_sustainable(asked: RunsAsked, out: Path, directory: Path | None, console: Console) -> Lasting:
    """Find for each scheme which rate lasts; raises BenchError.

    A search that fails is kept with its sentence, and the others go on.
    """
    asked = checked(asked)
    found: dict[str, Search] = {}
    failed: dict[str, str] = {}
    maxima: dict[str, float] = {}
    with _there(asked, out, directory) as there:
        prepare(there, asked, [scheme(name) for name in asked.schemes], RunsProgress(console, 0, asked.seconds))
        wanted_runs = list(planned(replace(asked, repeat=1)))
        for run in {run.block: run for run in wanted_runs}.values():
            try:
                maxima[run.block] = rates.find_maximum(there, asked, run, out, console).per_s
            except RunFailed as error:
                failed[f"{run.block}-maximum"] = str(error)

        def search(run: Planned) -> tuple[Planned, Search]:
            return run, rates.find_sustainable(there, asked, run, maxima[run.block], out, console)

        for run, result in there.lanes.each([run for run in wanted_runs if run.block in maxima], search):
            name = f"{run.block}-{run.scheme}"
            found[name] = result
            if result.failed is not None:
                failed[name] = result.failed
    return Lasting(found, failed)


@contextlib.contextmanager
def _there(asked: RunsAsked, out: Path, directory: Path | None) -> Iterator[RunSite]:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadArgument(f"{out} cannot be used ({error.strerror}): choose another --out") from None
    with interruptible(), setting(asked, out, directory) as there:
        yield there


def carry_out(asked: RunsAsked, out: Path, directory: Path | None, console: Console) -> Done:
    """Make all runs that are left; raises BenchError, and KeyboardInterrupt when everything it started is gone.

    A run that fails is kept with its sentence, and the others go on.
    """
    asked, out, begun_s = checked(asked), out.absolute(), time.monotonic()
    schemes = [scheme(name) for name in asked.schemes]
    for name in asked.workloads:
        program(asked, name)  # report missing programs before the first run
    folder = Folder(out)
    folder.check(asked)
    left, total = folder.left(asked), len(list(planned(asked)))
    _refuse_other_caps(folder, asked)
    failed: dict[str, str] = {}
    if left:
        with _there(asked, out, directory) as there:
            progress = RunsProgress(console, len(left), _mean_s(asked, left), _walls_s(folder, asked), asked.at_once)
            prepare(there, asked, schemes, progress)
            _resolve(there, asked)
            found = _search(there, asked, left, out, schemes, console)
            folder.begin(asked)  # not before: what a check or a search refuses must not stand in the first plan's way
            progress.say(f"{len(left)} of {total} runs to make, which takes about {time_text(progress.left_s)}")
            failed = _make(there, asked, folder, left, found, progress)
    else:
        folder.begin(asked)
    return Done(
        out=str(out),
        runs=total,
        kept=total - len(left),
        made=len(left) - len(failed),
        failed=failed,
        wall_s=round(time.monotonic() - begun_s, 1),
    )


@dataclass(frozen=True, slots=True)
class _Searched:
    """What is found before the runs, by block: both grids' options, and the rate of a workload that finds its own."""

    best: dict[str, Options] = field(default_factory=dict)
    best_within: dict[str, Options] = field(default_factory=dict)
    per_s: dict[str, float] = field(default_factory=dict)


def _search(
    there: RunSite, asked: RunsAsked, left: list[Planned], out: Path, schemes: list[Scheme], console: Console
) -> _Searched:
    """Search, or read what was found before, for the blocks of the runs that are left."""
    found = _Searched()
    for run in {run.block: run for run in left}.values():
        if workload(run.workload).needs_maximum:
            maximum = rates.find_maximum(there, asked, run, out, console)
            found.per_s[run.block] = RUNNING_SHARE * maximum.per_s
        if any(each.needs_grid for each in schemes):
            wanted_grid = Grid(run.profile, run.workload, found_per_s=found.per_s.get(run.block))
            found.best[run.block] = grid.best(there, wanted_grid, asked, out, console, any_grid=True)
        if any(each.needs_grid_within for each in schemes):
            wanted_grid = Grid(run.profile, run.workload, found_per_s=found.per_s.get(run.block))
            before = halving.read(out / halving.GRIDS / f"{wanted_grid.block}.json")
            threads = wanted_grid.threads if before is None else before.grid.threads  # both grids try the same
            wanted_grid = replace(wanted_grid, threads=threads, batches_mib=BATCHES_MIB[:1], within_memory=True)
            found.best_within[run.block] = grid.best(there, wanted_grid, asked, out, console, any_grid=True)
    return found


def _resolve(there: RunSite, asked: RunsAsked) -> None:
    """Raise BadArgument for a scheme that cannot be run here, before hours are spent on searching."""
    none: dict[str, Options] = {run.block: {} for run in planned(asked)}
    found = _Searched(none, none)
    for run in planned(asked):
        _used(there, asked, run, found)


def _used(there: RunSite, asked: RunsAsked, run: Planned, found: _Searched) -> raw.SchemeUsed:
    profile = parse_profile(run.profile)
    here = there.circumstances(profile, asked.scale)
    best, within = found.best.get(run.block), found.best_within.get(run.block)
    return scheme(run.scheme).used(replace(here, grid_best=best, grid_best_within=within))


def _make(
    there: RunSite, asked: RunsAsked, folder: Folder, left: list[Planned], found: _Searched, progress: RunsProgress
) -> dict[str, str]:
    gathering = _gathering(there, asked, left, found)

    def make(run: Planned) -> tuple[Planned, str | None]:
        with progress.run(run.name) as line:
            try:
                raw.write(folder.file(run), _one(there, asked, run, found, line, gathering))
            except BadArgument:  # the directory is full, or gone: the next would fail as well
                raise
            except BenchError as error:
                return run, str(error)
            finally:
                gathering.arrive(run.name)
        return run, None

    failed: dict[str, str] = {}
    for run, sentence in there.lanes.each(left, make):
        if sentence is None:
            folder.succeed(run)
            continue
        failed[run.name] = sentence
        folder.fail(run, sentence)
        progress.say(f"{run.name} failed: {sentence}")
    return failed


def _gathering(there: RunSite, asked: RunsAsked, left: list[Planned], found: _Searched) -> Gathering:
    """Have all of these runs begin together; none waits where they do not all go on at once, or one cannot wait."""
    loads = [program(asked, run.workload, found.per_s.get(run.block)) for run in left]
    together = len(left) <= there.lanes.count and all(load.gathers for load in loads)
    return Gathering(run.name for run in left if together)


def _one(
    there: RunSite, asked: RunsAsked, run: Planned, found: _Searched, line: RunLine, gathering: Gathering
) -> raw.RawRun:
    load = program(asked, run.workload, found.per_s.get(run.block))
    of_run = wanted(asked, run, _used(there, asked, run, found), load)
    return there.run(of_run, load, line.look, partial(gathering.arrive, run.name))


def _refuse_other_caps(folder: Folder, asked: RunsAsked) -> None:
    """Raise BadArgument for kept runs from when `cap-N` had the WAL outside the cap: the next would not be alike."""
    for run in planned(asked):
        if parse_profile(run.profile).wal_outside or not is_there(folder.file(run)):
            continue
        if raw.read(folder.file(run)).wal_outside_cap:
            raise BadArgument(
                f"{folder.directory} has runs of {run.profile} with the write-ahead log outside the cap, which is now "
                f"called {run.profile}{WAL_OUTSIDE}: choose another --out"
            )


def _mean_s(asked: RunsAsked, runs: Sequence[Planned]) -> int:
    """Return the mean length of the runs' measured phases; some workloads have a length of their own."""
    return round(statistics.fmean(program(asked, run.workload).seconds for run in runs))


def _walls_s(folder: Folder, asked: RunsAsked) -> list[float]:
    """Read how long earlier runs took; ignores unreadable results."""
    walls = []
    for run in planned(asked):
        with contextlib.suppress(BenchError, OSError):
            if is_there(folder.file(run)):
                walls.append(raw.read(folder.file(run)).wall_s)
    return walls
