"""The state of a search for the highest sustainable rate, kept in one JSON file per block and scheme.

It begins at 95 % of the maximum, goes up by a quarter while nothing has failed, at most to four times the maximum, and
then bisects. A rate that was tried in a run that others disturbed is tried once more, with another seed. When the two
ends are close, the highest rate that lasts and the lowest that does not are each confirmed with one more seed. If the
two runs of a rate disagree, the result is the lower one: the rate does not last, and the search goes on below it.
"""

from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from adocd_bench.evaluation.search.conditions import Conditions
from adocd_bench.results import ResultFile, results_in

#: The files' directory, in the directory of the runs.
SUSTAINABLE = "sustainable"
#: The running phase's rate, as a share of the maximum; if it lasts, the maximum is not too high.
RUNNING_SHARE = 0.95
#: How far the search goes up at a time while nothing has failed, and the highest rate in maxima.
_UP, _MOST = 1.25, 4.0
#: Bisection ends when the highest rate that lasts and the lowest that does not differ by less than this share of the
#: maximum. Halves of the ranges above are never that close to it that rounding would decide.
CLOSE = 0.05
#: Undisturbed runs that a rate needs, and each of the two ends.
_RUNS, _RUNS_OF_AN_END = 1, 2


@dataclass(frozen=True, slots=True)
class TriedRate:
    """The result of one run at one rate.

    Attributes:
        offered_per_s: operations/s that arrived.
        done_per_s: operations/s that ended.
        p99_total_us: the 99th percentile of latency with queueing, in microseconds.
        lasts: whether the rate lasted in this run.
        seed: of the run's keys.
        disturbed: what others disturbed the run by, in words; nothing if they did not.
        l0_files, pending_compaction_bytes: what the run left, which nobody drains; None if it was not recorded. The
            bytes, RocksDB's estimate, lack level 0 below its trigger, which a law may have raised: hence the files.

    """

    offered_per_s: float
    done_per_s: float
    p99_total_us: int
    lasts: bool
    seed: int = 1
    disturbed: tuple[str, ...] = ()
    l0_files: int | None = None
    pending_compaction_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Search:
    """A search around `maximum_per_s`, the baseline's rate in a closed loop.

    `seconds`, `scale`, `seed`, `at_once` and `device_bytes` are its conditions. `failed` says why its last run failed;
    None if it did not.
    """

    seconds: int
    scale: int
    maximum_per_s: float
    tested: tuple[TriedRate, ...] = ()
    seed: int = 1
    at_once: int = 1
    device_bytes: int = 0
    failed: str | None = None

    @property
    def conditions(self) -> Conditions:
        """What all of its runs have in common."""
        return Conditions(self.seconds, self.scale, self.seed, self.at_once, self.device_bytes)

    @property
    def lasts_per_s(self) -> float:
        """The highest rate that lasted; 0 if none did."""
        return max((per_s for per_s in self._rates if self._lasts(per_s)), default=0.0)

    @property
    def lasting(self) -> tuple[TriedRate, ...]:
        """The runs at that rate."""
        return tuple(self._runs_at(self.lasts_per_s))

    @property
    def fails_per_s(self) -> float | None:
        """The lowest rate above `lasts_per_s` that did not last; None if none failed."""
        failing = (per_s for per_s in self._rates if not self._lasts(per_s))
        return min((per_s for per_s in failing if per_s > self.lasts_per_s), default=None)

    @property
    def share(self) -> float:
        """The highest rate that lasted, as a share of the maximum."""
        return self.lasts_per_s / self.maximum_per_s if self.maximum_per_s > 0 else 0.0

    @property
    def next_trial(self) -> tuple[float, int] | None:
        """The next rate to try, and the seed to try it with; None when the search is complete."""
        per_s = self._next_per_s()
        return None if per_s is None else (per_s, self.seed + len(self._runs_at(per_s)))

    def _next_per_s(self) -> float | None:
        lasts, fails, most = self.lasts_per_s, self.fails_per_s, _MOST * self.maximum_per_s
        if not self.tested:
            return RUNNING_SHARE * self.maximum_per_s
        for per_s in self._rates:
            if not self._is_settled(per_s, _RUNS):
                return per_s
        if fails is None and lasts < most:
            return min(_UP * lasts, most)
        if fails is not None and fails - lasts > CLOSE * self.maximum_per_s:
            return (lasts + fails) / 2
        for end in (lasts, fails):
            if end and not self._is_settled(end, _RUNS_OF_AN_END):
                return end
        return None

    @property
    def _rates(self) -> list[float]:
        return list(dict.fromkeys(each.offered_per_s for each in self.tested))

    def _runs_at(self, per_s: float) -> list[TriedRate]:
        return [each for each in self.tested if each.offered_per_s == per_s]

    def _lasts(self, per_s: float) -> bool:
        """Say whether a rate lasted in all runs that count: disturbed ones do only where there is no other."""
        runs = self._runs_at(per_s)
        return all(each.lasts for each in [each for each in runs if not each.disturbed] or runs)

    def _is_settled(self, per_s: float, needed: int) -> bool:
        """Say whether a rate had so many undisturbed runs, or one more than that of any kind."""
        runs = self._runs_at(per_s)
        return sum(not each.disturbed for each in runs) >= needed or len(runs) > needed


_FILE = ResultFile(TypeAdapter(Search))


def begin(file: Path, wanted: Search) -> Search:
    """Read the search in `file`, or begin the wanted one; raises BadArgument if that in the file is of another kind."""
    before = _FILE.read_if_there(file)
    if before is None:
        return wanted
    before.conditions.refuse_others(file, wanted.conditions)
    return before


def keep(file: Path, search: Search) -> Search:
    """Write a search to its file; raises BadArgument if that fails."""
    _FILE.write(file, search)
    return search


def searches_in(directory: Path) -> dict[str, Search]:
    """Read all searches in a directory of runs, by file name. Raises BadArgument if one is malformed."""
    return {file.stem: _FILE.read(file) for file in results_in(directory / SUSTAINABLE)}
