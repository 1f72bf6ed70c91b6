"""The baseline's maximum in a closed loop, kept in one JSON file per block: the median of five testing phases."""

import statistics
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from adocd_bench.evaluation.search.conditions import Conditions
from adocd_bench.results import ResultFile

#: The files' directory, in the directory of the runs.
MAXIMUM = "maximum"
#: The directory of the raw results, one below it for each search, in the directory of the runs.
SEARCHES = "searches"
#: What the directory of a block's testing phases has in its name after the block.
OF_MAXIMUM = "-maximum"
_PHASES = 5


@dataclass(frozen=True, slots=True)
class ClosedPhase:
    """The result of one testing phase: operations/s, and what others disturbed it by, in words."""

    seed: int
    per_s: float
    disturbed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Maximum:
    """The testing phases made so far, each with a seed of its own."""

    conditions: Conditions
    phases: tuple[ClosedPhase, ...] = ()

    @property
    def per_s(self) -> float:
        """The median of the phases, in operations/s."""
        return statistics.median(phase.per_s for phase in self.phases)

    @property
    def seeds_left(self) -> list[int]:
        """The seeds of the phases that are still to be made."""
        first, made = self.conditions.seed, {phase.seed for phase in self.phases}
        return [seed for seed in range(first, first + _PHASES) if seed not in made]


_FILE = ResultFile(TypeAdapter(Maximum))


def begin(file: Path, conditions: Conditions) -> Maximum:
    """Read what is in `file`, or begin; raises BadArgument if that was made under other conditions, or is malformed."""
    before = _FILE.read_if_there(file)
    if before is None:
        return Maximum(conditions)
    before.conditions.refuse_others(file, conditions)
    return before


def keep(file: Path, maximum: Maximum) -> Maximum:
    """Write it to its file; raises BadArgument if that fails."""
    _FILE.write(file, maximum)
    return maximum
