"""What a directory of `adocd bench run` holds."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adocd_bench.errors import BadArgument
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.search.halving import Searched, grids_in
from adocd_bench.evaluation.search.sustained import Search, searches_in
from adocd_bench.results import results_in

RUNS, FAILED = "runs", "failed"


@dataclass(frozen=True, slots=True)
class FoundResults:
    """All runs, how many failed and are not among them, the rates that were found to last, and the grids."""

    runs: tuple[RawRun, ...]
    failed: int
    searches: Mapping[str, Search]
    grids: tuple[Searched, ...]


def found_in(directory: Path) -> FoundResults:
    """Read all raw results. Raises BadArgument where there is none, or one is broken."""
    if not directory.is_dir():
        raise BadArgument(f"{directory} is no directory: name the --out of adocd bench run")
    files = results_in(directory / RUNS)
    if not files:
        raise BadArgument(f"{directory} has no raw results in {RUNS}/: make them by adocd bench run --out {directory}")
    failed = len(results_in(directory / FAILED))
    return FoundResults(tuple(raw.read(file) for file in files), failed, searches_in(directory), grids_in(directory))
