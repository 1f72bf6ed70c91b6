"""Two searches, without any run of their own: successive halving over a grid, and bisection of a rate.

Successive halving (Jamieson and Talwalkar, AISTATS'16; after Karnin, Koren and Somekh, ICML'13): every candidate gets a
short run, the best share of them a longer one, and so on, until one is left. What it may miss: a candidate that is slow
at first and best in the end is dropped early, and a large memtable looks good in a run too short to flush it. So the
first rung must be long enough for several flushes of the largest batch.

Bisection looks for the highest rate that a database takes for good. It assumes that what cannot be taken at one rate
cannot be taken at a higher one; a noisy machine may break that, which is why the bracket is reported, not a number.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

#: Of a rung's candidates, this share goes on.
KEPT_SHARE = 1 / 3
#: The next rung's runs are so many times as long.
GROWTH = 2.0
#: A bracket narrower than this share of its upper end is not halved any more.
BRACKET_SHARE = 0.05

CandidateT = TypeVar("CandidateT", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Rung(Generic[CandidateT]):
    """One rung: how long each run took, and what each candidate scored (more is better), best first."""

    seconds: float
    scores: tuple[tuple[CandidateT, float], ...]


def successive_halving(
    candidates: Sequence[CandidateT],
    score: Callable[[CandidateT, float], float],
    seconds: float,
    *,
    kept_share: float = KEPT_SHARE,
    growth: float = GROWTH,
) -> tuple[Rung[CandidateT], ...]:
    """Run rung after rung until one candidate is left; the last rung's first is the best.

    `score` runs a candidate for so many seconds. Candidates that score the same keep their order. Raises ValueError
    without candidates, or with shares that would never end.
    """
    if not candidates or not 0 < kept_share < 1 or growth < 1 or seconds <= 0:
        raise ValueError("candidates, a share between 0 and 1, a growth of 1 or more and seconds are needed")
    rungs, left = [], list(candidates)
    while True:
        scored = [(candidate, score(candidate, seconds)) for candidate in left]
        scored.sort(key=lambda pair: pair[1], reverse=True)
        rungs.append(Rung(seconds, tuple(scored)))
        if len(left) == 1:
            return tuple(rungs)
        keep = min(max(1, math.ceil(len(left) * kept_share)), len(left) - 1)
        left = [candidate for candidate, _ in scored[:keep]]
        seconds *= growth


@dataclass(frozen=True, slots=True)
class Probe:
    """One run of a bisection: a rate of arrivals, and whether it could be taken."""

    rate_per_s: float
    sustained: bool


@dataclass(frozen=True, slots=True)
class Bracket:
    """Between which rates the highest sustainable one lies; `above_per_s` None: even the first upper end was taken."""

    sustained_per_s: float
    above_per_s: float | None
    probes: tuple[Probe, ...]


def highest_sustained(
    is_sustained: Callable[[float], bool],
    upper_per_s: float,
    *,
    bracket_share: float = BRACKET_SHARE,
    probes_most: int = 8,
) -> Bracket:
    """Halve between nothing and `upper_per_s`, which is tried first.

    Stops when the bracket is narrow, or after so many probes. `sustained_per_s` is 0 when no rate that was tried was
    taken. Raises ValueError for an upper end that is no rate.
    """
    if not upper_per_s > 0:
        raise ValueError("the upper end of a bisection must be a rate above 0")
    probes = [Probe(upper_per_s, is_sustained(upper_per_s))]
    if probes[0].sustained:
        return Bracket(upper_per_s, None, tuple(probes))
    low, high = 0.0, upper_per_s
    while len(probes) < probes_most and high - low > bracket_share * high:
        # A maximum measured in a closed loop is some 30 % too high (VLDB'19, 6.2): no step to the middle at first.
        rate = 0.7 * high if low == 0 else (low + high) / 2
        probes.append(Probe(rate, is_sustained(rate)))
        low, high = (rate, high) if probes[-1].sustained else (low, rate)
    return Bracket(low, high, tuple(probes))
