"""What a directory of `adocd bench run` holds."""

import contextlib
import gc
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path

from adocd_bench.errors import BadArgument
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.plan import FAILURES, FailedRun
from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report.pairs import unlike
from adocd_bench.evaluation.search.halving import Searched, grids_in
from adocd_bench.evaluation.search.maximum import MAXIMUM, OF_MAXIMUM, SEARCHES
from adocd_bench.evaluation.search.sustained import Search, searches_in
from adocd_bench.host.device import WAL_OUTSIDE, parse_profile
from adocd_bench.results import results_in

RUNS, FAILED = "runs", "failed"


@dataclass(frozen=True, slots=True)
class FoundResults:
    """All runs, those that ever failed, the rates that were found to last, and the grids.

    `unlike_maximum` says which of them rest on a maximum that was measured under other circumstances.
    """

    runs: tuple[RawRun, ...]
    failed: tuple[FailedRun, ...]
    searches: Mapping[str, Search]
    grids: tuple[Searched, ...]
    unlike_maximum: tuple[str, ...] = ()


def found_in(directory: Path) -> FoundResults:
    """Read all that is there. Raises BadArgument where neither runs nor searches are, or one is broken."""
    if not directory.is_dir():
        raise BadArgument(f"{directory} is no directory: name the --out of adocd bench run")
    files = results_in(directory / RUNS)
    searches, searched = searches_in(directory), grids_in(directory)
    if not (files or searches or searched or results_in(directory / MAXIMUM)):
        raise BadArgument(
            f"{directory} has no raw results in {RUNS}/, and no searches: make them by adocd bench run --out "
            f"{directory}"
        )
    made = {file.stem for file in files}
    failed = tuple(_failed(file, made) for file in results_in(directory / FAILED))
    with _nothing_collected():
        runs = tuple(raw.read(file) for file in files)
    renamed = {run.block for run in runs if _has_older_name(run)}
    grids = (
        replace(found, grid=replace(found.grid, profile=f"{found.grid.profile}{WAL_OUTSIDE}"))
        if found.grid.block in renamed
        else found
        for found in searched
    )
    told = tuple(_unlike_maximum(directory, runs))
    return FoundResults(tuple(named_today(run) for run in runs), failed, searches, tuple(grids), told)


def _unlike_maximum(directory: Path, runs: Sequence[RawRun]) -> Iterator[str]:
    """Compare each block's testing phases with the runs and searches whose rates are shares of their median."""
    for phases in sorted((directory / SEARCHES).glob(f"*{OF_MAXIMUM}")):
        block = phases.name.removesuffix(OF_MAXIMUM)
        made = [raw.read(file) for file in results_in(phases)]
        if not made:  # it was interrupted in the first
            continue
        first = made[0]
        searched = [
            [raw.read(file) for file in results_in(place)]
            for place in phases.parent.glob(f"{block}-*")
            if place != phases
        ]
        groups = {
            "testing phases": [[each] for each in made],
            "runs": [[run] for run in runs if run.block == block],
            "searches": searched,
        }
        for things, every in groups.items():
            told = [{why for run in each if (why := unlike(first, run))} for each in every]
            if reasons := sorted(set().union(*told)):
                count = f"{sum(map(bool, told))} of {len(told)}"
                yield f"{block}: {', '.join(reasons)} in the first testing phase and in {count} {things}"


@contextlib.contextmanager
def _nothing_collected() -> Iterator[None]:
    """Switch the garbage collector off: runs are made of millions of objects, and it would look at all of them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _failed(file: Path, made: Set[str]) -> FailedRun:
    """Read one; a run whose result is there succeeded, also if the command was ended before it said so."""
    found = FAILURES.read(file)
    return replace(found, succeeded=found.succeeded or file.stem in made)


def named_today(run: RawRun) -> RawRun:
    """Give a run, and its block, the profile's name that it would have today.

    Before there was a device of the run's own, `cap-N` had the write-ahead log outside the cap on cgroup v1. The two
    are never of one block.
    """
    if not _has_older_name(run):
        return run
    profile = f"{run.profile}{WAL_OUTSIDE}"
    return replace(run, profile=profile, block=run.block.replace(run.profile, profile, 1))


def _has_older_name(run: RawRun) -> bool:
    return run.wal_outside_cap and not parse_profile(run.profile).wal_outside
