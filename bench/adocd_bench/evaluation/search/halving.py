"""A grid over threads and batch, as it is searched by successive halving and kept: a JSON file a block."""

from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from adocd_bench.errors import BadArgument
from adocd_bench.evaluation.plan import block_name
from adocd_bench.results import ResultFile, results_in

#: Where the files are, in the directory of the runs.
GRIDS = "grid"
THREADS = tuple(range(2, 21, 2))
BATCHES_MIB = (64, 128, 256, 512)


@dataclass(frozen=True, slots=True)
class Grid:
    """What is searched: threads and batches, at scale 1, for a workload on a profile."""

    profile: str
    workload: str
    threads: tuple[int, ...] = THREADS
    batches_mib: tuple[int, ...] = BATCHES_MIB
    #: The rate of a workload that finds its own.
    found_per_s: float | None = None

    @property
    def block(self) -> str:
        """Name the block that it is for."""
        return block_name(self.profile, self.workload)


@dataclass(frozen=True, slots=True)
class TriedOptions:
    """One configuration in one rung; `score` is higher where it is better."""

    threads: int
    batch_bytes: int
    seconds: int
    score: float
    operations_per_s: float


@dataclass(frozen=True, slots=True)
class Searched:
    """A grid as it is kept: what was searched, and all rungs so far; `best` once there is one."""

    grid: Grid
    seconds: int
    scale: int
    seed: int
    tried: tuple[TriedOptions, ...] = ()
    failed: dict[str, str] | None = None
    best: dict[str, int] | None = None

    def found(self, threads: int, batch_bytes: int, seconds: int) -> TriedOptions | None:
        """Find what a configuration came to in the rung of so many seconds; None where it has not run there."""
        wanted = (threads, batch_bytes, seconds)
        return next((each for each in self.tried if (each.threads, each.batch_bytes, each.seconds) == wanted), None)


_FILE = ResultFile(TypeAdapter(Searched))


def read(file: Path) -> Searched | None:
    """Read a grid; None where there is none. Raises BadOption where it is broken."""
    return _FILE.read_if_there(file)


def begin(file: Path, wanted: Searched, *, any_grid: bool) -> Searched:
    """Go on with the grid that is kept, or begin the wanted one; raises BadOption where another one is kept."""
    before = read(file)
    if before is None:
        return wanted
    wanted = replace(wanted, grid=before.grid) if any_grid else wanted
    if replace(before, tried=(), failed=None, best=None) != wanted:
        raise BadArgument(f"{file} is of another grid: give the same options to resume it, or choose another --out")
    return before


def keep(file: Path, searched: Searched) -> Searched:
    """Write it down; raises BadOption."""
    _FILE.write(file, searched)
    return searched


def grids_in(directory: Path) -> tuple[Searched, ...]:
    """Read all of a directory of runs. Raises BadOption where one is broken."""
    files = results_in(directory / GRIDS)
    return tuple(searched for file in files if (searched := read(file)) is not None)
