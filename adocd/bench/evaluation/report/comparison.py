"""Medians and spreads over repetitions, and the rule of when two schemes differ.

A scheme is compared with another within each repetition: what a machine does on one evening, it does to both. A
difference is called one only if all three hold:

- there are at least two such pairs;
- in every pair the same scheme has more;
- the median of the differences is larger than the other scheme's own runs are apart (largest less smallest), and
  larger than 5 % of their median: two runs of the same differ by as much for no reason but what else ran. For a figure
  that is a share of the time it has to be half a percentage point beside, so that next to nothing is nothing.

Else no difference was shown, which does not say that there is none.
"""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adocd.bench.evaluation.report.measures import Measure

Difference = Literal["more", "less", "none", "too few"]
#: Differences below are none: of the other's median, and of the time.
LEAST_DIFFERENCE, LEAST_SHARE = 0.05, 0.005
LEAST_PAIRS = 2
_INTERVAL_FROM, _COVERAGE_LEAST = 5, 0.9

#: The rule, as the report says it.
RULE = (
    "Schemes are compared within each repetition. A difference is called one only if there are at least "
    f"{LEAST_PAIRS} pairs, if all of them agree on its side, and if the median of the differences is larger than the "
    f"other scheme's own runs are apart and than {LEAST_DIFFERENCE:.0%} of their median (for a share of the time also "
    "than half a percentage point). Else no difference was shown, which does not say that there is none."
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
    apart = [one - other for one, other in pairs]
    if not (all(each > 0 for each in apart) or all(each < 0 for each in apart)):
        return "none"
    others = [other for _, other in pairs]
    least = max(max(others) - min(others), LEAST_DIFFERENCE * statistics.median(others))
    if measure.unit == "share":
        least = max(least, LEAST_SHARE)
    middle = statistics.median(apart)
    if abs(middle) <= least:
        return "none"
    return "more" if middle > 0 else "less"
