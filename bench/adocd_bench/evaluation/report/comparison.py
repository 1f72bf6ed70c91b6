"""Medians and spreads over repetitions, and the rule of when two schemes differ.

Repetitions are pairs: what a machine does on one evening, it does to both schemes. A difference is called one only if

- there are at least two pairs;
- every run of one has more than every run of the other;
- the median of the pairs' differences is larger than 5 % of the larger median, and for a figure that is a share of the
  time larger than half a percentage point, so that next to nothing is nothing; with two pairs alone, also larger than
  the two runs of either are apart, for two of the same lie so by chance in one case of three.

With n pairs of the same scheme, the second happens by chance in 2 of (2n over n) cases: 1 of 10 with three pairs, 1 of
35 with four, 1 of 126 with five. Else no difference was shown, which does not say that there is none.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adocd_bench.evaluation.report.measures import Measure

Difference = Literal["more", "less", "none", "too few"]
#: Differences below are none: of the other's median, and of the time.
LEAST_DIFFERENCE, LEAST_SHARE = 0.05, 0.005
LEAST_PAIRS = 2
_INTERVAL_FROM, _COVERAGE_LEAST = 5, 0.9

#: The rule, as the report says it.
RULE = (
    "Schemes are compared within each repetition. A difference is called one only if there are at least "
    f"{LEAST_PAIRS} pairs, if every run of one has more than every run of the other, and if the median of the pairs' "
    f"differences is larger than {100 * LEAST_DIFFERENCE:g} % of the larger median (for a share of the time also than "
    "half a percentage point; with two pairs alone also than the two runs of either are apart). By chance two of the "
    "same are told apart so in at most 1 of 10 cases with three pairs, 1 of 126 with five. Else no difference was "
    "shown, which does not say that there is none."
)


@dataclass(frozen=True, slots=True)
class Cell:
    """A figure over repetitions: the median, the smallest and largest, and how many there are.

    From five on, `interval` are the two values between which the median lies with the probability `coverage` (at least
    90 %), whatever the distribution: by ranks, as of the sign test (order statistics).
    """

    median: float
    low: float
    high: float
    count: int
    interval: tuple[float, float] | None = None
    coverage: float | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A scheme's figure against another's.

    `ratio` is over the pairs' ratios, None where the other's figure was 0 in one of them or there is no pair.
    """

    pairs: int
    difference: Difference
    ratio: Cell | None


def cell(values: Sequence[float]) -> Cell | None:
    """Summarise what was measured; None where nothing was."""
    if not values:
        return None
    ordered = sorted(values)
    interval, coverage = _interval(ordered)
    return Cell(statistics.median(ordered), ordered[0], ordered[-1], len(ordered), interval, coverage)


def _interval(ordered: Sequence[float]) -> tuple[tuple[float, float] | None, float | None]:
    count = len(ordered)
    if count < _INTERVAL_FROM:
        return None, None
    outside, skipped = 2 / 2**count, 0
    while skipped + 1 < count // 2:
        more = outside + 2 * math.comb(count, skipped + 1) / 2**count
        if 1 - more < _COVERAGE_LEAST:
            break
        outside, skipped = more, skipped + 1
    return (ordered[skipped], ordered[-1 - skipped]), 1 - outside


def compare(measure: Measure, mine: Mapping[int, float], others: Mapping[int, float]) -> Comparison:
    """Compare what was measured by repetition; repetitions that one of them lacks are left out."""
    pairs = [(mine[repetition], others[repetition]) for repetition in sorted(mine.keys() & others.keys())]
    ratios = [one / other for one, other in pairs if other > 0]
    ratio = cell(ratios) if len(ratios) == len(pairs) else None
    return Comparison(len(pairs), _difference(measure, pairs), ratio)


def _difference(measure: Measure, pairs: Sequence[tuple[float, float]]) -> Difference:
    if len(pairs) < LEAST_PAIRS:
        return "too few"
    mine, others = [one for one, _ in pairs], [other for _, other in pairs]
    if min(mine) <= max(others) and max(mine) >= min(others):
        return "none"
    least = LEAST_DIFFERENCE * max(statistics.median(mine), statistics.median(others))
    if measure.unit == "share":
        least = max(least, LEAST_SHARE)
    if len(pairs) == LEAST_PAIRS:
        least = max(least, max(mine) - min(mine), max(others) - min(others))
    middle = statistics.median(one - other for one, other in pairs)
    if abs(middle) <= least:
        return "none"
    return "more" if middle > 0 else "less"
