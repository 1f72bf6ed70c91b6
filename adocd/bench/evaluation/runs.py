"""A plan carried out: every run that has no result yet, one after the other, each kept as soon as it is there."""

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from adocd.bench.cap import capped
from adocd.bench.device import parse_profile
from adocd.bench.errors import BadOption, BenchError
from adocd.bench.evaluation import grid, one, raw
from adocd.bench.evaluation.plan import Asked, Folder, Planned, checked, planned
from adocd.bench.evaluation.progress import Line, Progress, time_text
from adocd.bench.evaluation.schemes import Options, Scheme, scheme
from adocd.bench.evaluation.setting import Setting, prepare, program, setting
from adocd.bench.evaluation.workloads import workload
from adocd.bench.interrupt import interruptible


@dataclass(frozen=True, slots=True)
class Done:
    """What came of it: how many runs there are, were there before, were made now, and the sentences of those failed."""

    out: str
    runs: int
    kept: int
    made: int
    failed: dict[str, str]
    wall_s: float


def carry_out(asked: Asked, out: Path, directory: Path | None, console: Console) -> Done:
    """Make all runs that are left; raises BenchError, and KeyboardInterrupt when everything it started is gone.

    A run that fails is kept with its sentence, and the others go on.
    """
    asked, out, begun_s = checked(asked), out.absolute(), time.monotonic()
    schemes = [scheme(name) for name in asked.schemes]
    for name in asked.workloads:
        program(asked, name)  # what is missing is said before anything is made
    folder = Folder(out)
    folder.begin(asked)
    left, total = folder.left(asked), len(list(planned(asked)))
    failed: dict[str, str] = {}
    if left:
        with interruptible(), setting(asked, out, directory) as there:
            progress = Progress(console, len(left), asked.seconds, _walls_s(folder, asked))
            prepare(there, asked, schemes, progress)
            best = _grids(there, asked, out, schemes, console)
            _resolve(there, asked, best)
            progress.say(f"{len(left)} of {total} runs to make, which takes about {time_text(progress.left_s)}")
            failed = _make(there, asked, folder, left, best, progress)
    return Done(
        out=str(out),
        runs=total,
        kept=total - len(left),
        made=len(left) - len(failed),
        failed=failed,
        wall_s=round(time.monotonic() - begun_s, 1),
    )


_Best = dict[str, Options]


def _grids(there: Setting, asked: Asked, out: Path, schemes: list[Scheme], console: Console) -> _Best:
    """Run the grid of each block, or read its result, where a scheme needs it; by block."""
    if not any(each.needs_grid for each in schemes):
        return {}
    blocks = {run.block: run for run in planned(asked)}
    return {
        block: grid.best(there, grid.Grid(run.profile, run.workload), asked, out, console)
        for block, run in blocks.items()
    }


def _resolve(there: Setting, asked: Asked, best: _Best) -> None:
    """Raise BadOption for a scheme that cannot be run here, before hours are spent on the others."""
    for run in planned(asked):
        _used(there, asked, run, best)


def _used(there: Setting, asked: Asked, run: Planned, best: _Best) -> raw.SchemeUsed:
    profile = parse_profile(run.profile)
    return scheme(run.scheme).used(there.circumstances(profile, asked.scale, best.get(run.block)))


def _make(
    there: Setting, asked: Asked, folder: Folder, left: list[Planned], best: _Best, progress: Progress
) -> dict[str, str]:
    failed: dict[str, str] = {}
    for run in left:
        with progress.run(run.name) as line:
            try:
                raw.write(folder.file(run), _one(there, asked, run, _used(there, asked, run, best), line))
            except BadOption:  # the directory is full, or gone: the next would fail as well
                raise
            except BenchError as error:
                failed[run.name] = str(error)
                folder.fail(run, str(error))
            else:
                folder.succeed(run)
        if run.name in failed:
            progress.say(f"{run.name} failed: {failed[run.name]}")
    return failed


def _one(there: Setting, asked: Asked, run: Planned, used: raw.SchemeUsed, line: Line) -> raw.Run:
    load, profile = program(asked, run.workload), parse_profile(run.profile)
    work = workload(run.workload)
    told = raw.WorkloadUsed(work.name, work.title, load.name, load.arguments, load.seconds, load.offered_per_s)
    wanted = one.Wanted(run.block, used, run.profile, told, load.version, run.repetition, run.seed, asked.scale)
    with capped(profile, there.parent) as cap:
        return one.run(wanted, load, cap, there.machine, there.place, line.look)


def _walls_s(folder: Folder, asked: Asked) -> list[float]:
    """Read how long earlier runs took; one that cannot be read says nothing here."""
    walls = []
    for run in planned(asked):
        with contextlib.suppress(BenchError, OSError):
            if os.path.exists(folder.file(run)):
                walls.append(raw.read(folder.file(run)).wall_s)
    return walls
