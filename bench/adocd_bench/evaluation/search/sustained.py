"""The highest rate that lasts, as it is looked for by bisection and kept: a JSON file a block and scheme."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from adocd_bench.results import ResultFile, results_in

#: Where the files are, in the directory of the runs.
SUSTAINABLE = "sustainable"
#: The running phase's rate, of the maximum; where it lasts, the maximum is not too high.
RUNNING_SHARE = 0.95
#: Bisection ends when what lasts and what does not are so close.
_CLOSE = 0.05


@dataclass(frozen=True, slots=True)
class TriedRate:
    """One rate that was tried: operations/s offered and done, the 99th percentile from the intended start."""

    offered_per_s: float
    done_per_s: float
    p99_total_us: int
    lasts: bool


@dataclass(frozen=True, slots=True)
class Search:
    """A bisection: below the baseline's maximum in a closed loop, rate after rate."""

    seconds: int
    scale: int
    maximum_per_s: float
    tested: tuple[TriedRate, ...] = ()

    @property
    def lasts_per_s(self) -> float:
        """The highest rate that lasted; 0 where none did."""
        return max((each.offered_per_s for each in self.tested if each.lasts), default=0.0)

    @property
    def fails_per_s(self) -> float:
        """The lowest rate above it that did not last; the maximum where none was tried."""
        failing = [each.offered_per_s for each in self.tested if not each.lasts]
        return min((rate for rate in failing if rate > self.lasts_per_s), default=self.maximum_per_s)

    @property
    def share(self) -> float:
        """What lasts, of the maximum."""
        return self.lasts_per_s / self.maximum_per_s if self.maximum_per_s > 0 else 0.0

    @property
    def next_per_s(self) -> float | None:
        """The rate to be tried next; None where what lasts is known."""
        if not self.tested:
            return RUNNING_SHARE * self.maximum_per_s
        known = self.fails_per_s - self.lasts_per_s <= _CLOSE * self.maximum_per_s
        return None if known else (self.lasts_per_s + self.fails_per_s) / 2


_FILE = ResultFile(TypeAdapter(Search))


def read(file: Path) -> Search | None:
    """Read a search; None where there is none. Raises BadOption where it is broken."""
    return _FILE.read_if_there(file)


def keep(file: Path, search: Search) -> Search:
    """Write it down; raises BadOption."""
    _FILE.write(file, search)
    return search


def searches_in(directory: Path) -> dict[str, Search]:
    """Read all of a directory of runs, by block and scheme. Raises BadOption where one is broken."""
    files = results_in(directory / SUSTAINABLE)
    return {file.stem: search for file in files if (search := read(file)) is not None}
