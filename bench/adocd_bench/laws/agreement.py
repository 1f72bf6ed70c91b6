"""The rule for when the simulator agrees with reality; it was written before the runs that it judges.

Two real runs of one law on this kind of machine differ by a fifth merely because of other load. So a difference in
figures is not always an order:

- Two laws are ordered where every run of one wrote more than every run of the other; else they are a tie. The
  simulator agrees with an order if its own is the same, by however little. It agrees with a tie if its own ratio of the
  two is one that two real runs had, or at most a fifth either way: far ahead is no tie.
- A cause of stalls is there where it held writes for a hundredth of the time or more in every run, and is not there
  where it did in none; else reality does not say. The simulator has to have those that are there, and none of those
  that are not.
- Two causes are ordered where one held writes longer in every run, and by the medians a fifth longer or more. The
  simulator's order has to be that one.
"""

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from adocd.simulator.write_controller import CAUSES, Cause

#: Less of the time is no cause; a smaller ratio is no order.
THERE_SHARE, FIFTH = 0.01, 1.2


@dataclass(frozen=True, slots=True)
class LawFigures:
    """One run's result. Shares of time: writers waiting, writes held by each cause, and CPU used by other programs.

    Writes are held while they are delayed or stopped, whether or not anybody waits for it.
    """

    writes_per_s: float
    waited_share: float
    held_share: Mapping[Cause, float]
    others_cpu_share: float = 0.0


@dataclass(frozen=True, slots=True)
class Agreement:
    """One comparison, in words, and whether the simulator agrees."""

    about: str
    real: str
    simulated: str
    agrees: bool

    def words(self) -> str:
        """Say it in a line."""
        return f"{self.about}: {self.real}; in the simulator {self.simulated}: {'agrees' if self.agrees else 'DIFFERS'}"


def laws(real: Mapping[str, Sequence[LawFigures]], model: Mapping[str, LawFigures]) -> list[Agreement]:
    """Compare each pair of laws on one device by what they wrote."""
    return [_pair(one, other, real, model) for one, other in itertools.combinations(real, 2)]


def _pair(one: str, other: str, real: Mapping[str, Sequence[LawFigures]], model: Mapping[str, LawFigures]) -> Agreement:
    mine, its = ([run.writes_per_s for run in real[law]] for law in (one, other))
    ratio = model[one].writes_per_s / model[other].writes_per_s
    least, most = min(mine) / max(its), max(mine) / min(its)
    if least > 1 or most < 1:
        said, agrees = ">" if least > 1 else "<", (ratio > 1) == (least > 1) and ratio != 1
    else:
        said, agrees = "=", min(least, 1 / FIFTH) <= ratio <= max(most, FIFTH)
    return Agreement(
        f"{one} {said} {other}", f"{least:.2f} to {most:.2f} times the writes", f"{ratio:.2f} times", agrees
    )


def causes(law: str, runs: Sequence[LawFigures], model: LawFigures) -> Agreement:
    """Compare the causes that held writes, and which held them longest."""
    there = {cause for cause in CAUSES if all(run.held_share[cause] >= THERE_SHARE for run in runs)}
    gone = {cause for cause in CAUSES if all(run.held_share[cause] < THERE_SHARE for run in runs)}
    has = {cause for cause in CAUSES if model.held_share[cause] >= THERE_SHARE}
    in_order = all(
        model.held_share[longer] > model.held_share[shorter]
        for longer, shorter in itertools.permutations(set(CAUSES) - gone, 2)
        if _holds_longer(longer, shorter, runs)
    )
    said = {cause: statistics.median(run.held_share[cause] for run in runs) for cause in CAUSES}
    agrees = there <= has and not has & gone and in_order
    return Agreement(f"{law}'s causes", _ranked(said), _ranked(model.held_share), agrees)


def _holds_longer(one: Cause, other: Cause, runs: Sequence[LawFigures]) -> bool:
    middle = [statistics.median(run.held_share[cause] for run in runs) for cause in (one, other)]
    return middle[0] >= FIFTH * middle[1] and all(run.held_share[one] > run.held_share[other] for run in runs)


def _ranked(shares: Mapping[Cause, float]) -> str:
    found = sorted((cause for cause in CAUSES if shares[cause] >= THERE_SHARE), key=lambda cause: -shares[cause])
    return " > ".join(f"{cause} {shares[cause]:.0%}" for cause in found) or "none"
