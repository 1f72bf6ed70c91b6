"""The state of a grid search over threads and batch, kept in one JSON file per block, so that it can be resumed."""

from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from adocd_bench.errors import BadArgument
from adocd_bench.evaluation.plan import block_name
from adocd_bench.results import ResultFile, results_in

#: The files' directory, in the directory of the runs.
GRIDS = "grid"
THREADS = tuple(range(2, 21, 2))
BATCHES_MIB = (64, 128, 256, 512)


@dataclass(frozen=True, slots=True)
class Grid:
    """The configurations to search, as threads and batches at scale 1, for a workload on a profile."""

    profile: str
    workload: str
    threads: tuple[int, ...] = THREADS
    batches_mib: tuple[int, ...] = BATCHES_MIB
    #: The rate, in operations/s, of a workload whose rate is found by a search; else None.
    found_per_s: float | None = None
    #: Only batches that take no more memory than the baseline's.
    within_memory: bool = False

    @property
    def block(self) -> str:
        """The name of the block that the grid is for, and of its file."""
        name = block_name(self.profile, self.workload)
        return f"{name}-within-memory" if self.within_memory else name


@dataclass(frozen=True, slots=True)
class TriedOptions:
    """The result of one configuration in one rung; a higher `score` is better."""

    threads: int
    batch_bytes: int
    seconds: int
    score: float
    operations_per_s: float


@dataclass(frozen=True, slots=True)
class FailedOptions:
    """A configuration, by its name in messages, that could not be run, and why."""

    name: str
    sentence: str


@dataclass(frozen=True, slots=True)
class Searched:
    """A grid search: its conditions, all results so far, and `best` when it is complete.

    `failed` has the error of each configuration that could not be run.
    """

    grid: Grid
    seconds: int
    scale: int
    seed: int
    tried: tuple[TriedOptions, ...] = ()
    failed: dict[str, str] | None = None
    best: dict[str, int] | None = None

    def found(self, threads: int, batch_bytes: int, seconds: int) -> TriedOptions | None:
        """Return a configuration's result in the rung of this length; None if it has not run there."""
        wanted = (threads, batch_bytes, seconds)
        return next((each for each in self.tried if (each.threads, each.batch_bytes, each.seconds) == wanted), None)

    def with_one(self, tried: TriedOptions | FailedOptions) -> "Searched":
        """Return the search with one more result."""
        if isinstance(tried, FailedOptions):
            return replace(self, failed={**(self.failed or {}), tried.name: tried.sentence})
        return replace(self, tried=(*self.tried, tried))


_FILE = ResultFile(TypeAdapter(Searched))


def read(file: Path) -> Searched | None:
    """Read a grid search; None if the file does not exist. Raises BadArgument if it is malformed."""
    return _FILE.read_if_there(file)


def begin(file: Path, wanted: Searched, *, any_grid: bool) -> Searched:
    """Resume the search in `file`, or begin the wanted one; raises BadArgument if the file is of another search."""
    before = read(file)
    if before is None:
        return wanted
    wanted = replace(wanted, grid=before.grid) if any_grid else wanted
    if replace(before, tried=(), failed=None, best=None) != wanted:
        raise BadArgument(f"{file} is of another grid: give the same options to resume it, or choose another --out")
    return before


def keep(file: Path, searched: Searched) -> Searched:
    """Write a grid search to its file; raises BadArgument if that fails."""
    _FILE.write(file, searched)
    return searched


def grids_in(directory: Path) -> tuple[Searched, ...]:
    """Read all grid searches in a directory of runs. Raises BadArgument if one is malformed."""
    files = results_in(directory / GRIDS)
    return tuple(searched for file in files if (searched := read(file)) is not None)
