"""The state of a bisection for the highest sustainable rate, kept in one JSON file per block and scheme."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from adocd_bench.results import ResultFile, results_in

#: The files' directory, in the directory of the runs.
SUSTAINABLE = "sustainable"
#: The running phase's rate, as a share of the maximum; if it lasts, the maximum is not too high.
RUNNING_SHARE = 0.95
#: Bisection ends when the highest rate that lasts and the lowest that does not differ by this share of the maximum.
_CLOSE = 0.05


@dataclass(frozen=True, slots=True)
class TriedRate:
    """The result at one rate: operations/s offered and done, and the 99th percentile of latency with queueing."""

    offered_per_s: float
    done_per_s: float
    p99_total_us: int
    lasts: bool


@dataclass(frozen=True, slots=True)
class Search:
    """A bisection between 0 and `maximum_per_s`, the baseline's rate in a closed loop."""

    seconds: int
    scale: int
    maximum_per_s: float
    tested: tuple[TriedRate, ...] = ()

    @property
    def lasts_per_s(self) -> float:
        """The highest rate that lasted; 0 if none did."""
        return max((each.offered_per_s for each in self.tested if each.lasts), default=0.0)

    @property
    def fails_per_s(self) -> float:
        """The lowest rate above `lasts_per_s` that did not last; the maximum if none failed."""
        failing = [each.offered_per_s for each in self.tested if not each.lasts]
        return min((rate for rate in failing if rate > self.lasts_per_s), default=self.maximum_per_s)

    @property
    def share(self) -> float:
        """The highest rate that lasted, as a share of the maximum."""
        return self.lasts_per_s / self.maximum_per_s if self.maximum_per_s > 0 else 0.0

    @property
    def next_per_s(self) -> float | None:
        """The next rate to try; None when the search is complete."""
        if not self.tested:
            return RUNNING_SHARE * self.maximum_per_s
        known = self.fails_per_s - self.lasts_per_s <= _CLOSE * self.maximum_per_s
        return None if known else (self.lasts_per_s + self.fails_per_s) / 2


_FILE = ResultFile(TypeAdapter(Search))


def read(file: Path) -> Search | None:
    """Read a search; None if the file does not exist. Raises BadArgument if it is malformed."""
    return _FILE.read_if_there(file)


def keep(file: Path, search: Search) -> Search:
    """Write a search to its file; raises BadArgument if that fails."""
    _FILE.write(file, search)
    return search


def searches_in(directory: Path) -> dict[str, Search]:
    """Read all searches in a directory of runs, by file name. Raises BadArgument if one is malformed."""
    files = results_in(directory / SUSTAINABLE)
    return {file.stem: search for file in files if (search := read(file)) is not None}
