"""Medians and spreads over repetitions, and the one rule of when two schemes differ and when they are the same.

Repetitions are pairs: what a machine does on one evening, it does to both schemes. So the rule is about the pairs'
differences, by Student's t for paired samples. Where every value is above 0 and no share of the time, they are
differences of logarithms, which are ratios; else they are differences of the values themselves, and "5 %" and "10 %"
are of the larger median.

- `more`, `less`: at least five pairs; the 97 % interval of the mean difference excludes 0; and the mean is larger than
  5 %, for a share of the time also than half a percentage point, so that next to nothing is nothing.
- `same`: at least five pairs, and the 90 % interval lies within 10 % either way (for a share of the time: or within
  half a percentage point). These are two one-sided tests, each at 5 % (Schuirmann 1987).
- `direction more`, `direction less`: three or four pairs, every run of one has more than every run of the other, and
  the mean is as large as above. Of identical schemes 1 of 10 is called so with three pairs, 1 of 35 with four: that is
  no verdict.
- `not shown`: anything else. `too few`: fewer than three pairs.

97 % and not 95 %: the t interval of five or eight runs is a little too short where values have two modes or an even
spread. `python -m adocd_bench.evaluation.error_rates` gives the rates, and those of other tests beside it.
"""

import functools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adocd_bench.evaluation.report.measures import Measure

Difference = Literal[
    "more", "less", "same", "direction more", "direction less", "not shown", "too few", "nothing to improve"
]
#: Differences below are none: of the other's figure, and of the time.
LEAST_DIFFERENCE, LEAST_SHARE = 0.05, 0.005
#: What lies within it is the same.
SAME_WITHIN = 0.10
#: So many undisturbed pairs make a verdict, and so many a direction.
LEAST_PAIRS, DIRECTION_PAIRS = 5, 3
#: A scheme that held writes for less of the time left nothing to improve.
LEAST_HELD = 0.005
#: By chance alone, differences outside of the interval of a difference, and on either side of that of sameness.
_CALLED_BY_CHANCE, _SAME_BY_CHANCE = 0.03, 0.05
_INTERVAL_FROM, _COVERAGE_LEAST = 5, 0.9

#: The rule, as the report says it.
RULE = (
    f"Schemes are compared in pairs, within each repetition; a verdict needs {LEAST_PAIRS} undisturbed pairs in either "
    f"direction. More or less: the {100 * (1 - _CALLED_BY_CHANCE):g} % interval of the mean difference (Student's t of "
    f"the pairs' logarithms) excludes 0, and the mean is larger than {100 * LEAST_DIFFERENCE:g} %, for a share of the "
    f"time also than {100 * LEAST_SHARE:g} percentage points. Same: the {100 * (1 - 2 * _SAME_BY_CHANCE):g} % interval "
    f"lies within {100 * SAME_WITHIN:g} % either way. Direction, which is no verdict: {DIRECTION_PAIRS} or "
    f"{LEAST_PAIRS - 1} pairs, and every run of one has more than every run of the other. Not shown: anything else, "
    "which does not say that there is no difference. Nothing to improve: in the scheme that is compared with, writes "
    f"were held for less than {100 * LEAST_HELD:g} % of the time, or a held time is 0 in every run of both, so held "
    "time proves nothing. In simulations the rule tells identical schemes apart in fewer than 4 of 100 figures. A "
    "report has many figures, so trust what several blocks say."
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
    return Comparison(len(pairs), difference_of(measure, pairs), ratio)


def difference_of(measure: Measure, pairs: Sequence[tuple[float, float]]) -> Difference:
    """Say what the pairs' differences show: the rule."""
    if len(pairs) < DIRECTION_PAIRS:
        return "too few"
    found = _Differences.of(measure, pairs)
    large = abs(found.mean) > found.least
    if len(pairs) < LEAST_PAIRS:
        mine, others = [one for one, _ in pairs], [other for _, other in pairs]
        if not large or (min(mine) <= max(others) and max(mine) >= min(others)):
            return "not shown"
        return "direction more" if found.mean > 0 else "direction less"
    if large and abs(found.mean) > found.half_width(_CALLED_BY_CHANCE):
        return "more" if found.mean > 0 else "less"
    return "same" if abs(found.mean) + found.half_width(2 * _SAME_BY_CHANCE) <= found.margin else "not shown"


@dataclass(frozen=True, slots=True)
class _Differences:
    """The pairs' differences: of logarithms or of values, with what is too small for a difference, and for another."""

    mean: float
    standard_error: float
    count: int
    least: float
    margin: float

    @classmethod
    def of(cls, measure: Measure, pairs: Sequence[tuple[float, float]]) -> "_Differences":
        if measure.unit != "share" and all(one > 0 and other > 0 for one, other in pairs):
            differences = [math.log(one) - math.log(other) for one, other in pairs]
            least, margin = math.log1p(LEAST_DIFFERENCE), math.log1p(SAME_WITHIN)
        else:
            differences = [one - other for one, other in pairs]
            larger = max(statistics.median(side) for side in zip(*pairs, strict=True))
            least, margin = LEAST_DIFFERENCE * larger, SAME_WITHIN * larger
            if measure.unit == "share":
                least, margin = max(least, LEAST_SHARE), max(margin, LEAST_SHARE)
        mean = statistics.fmean(differences)
        squares = math.fsum((each - mean) ** 2 for each in differences)
        return cls(mean, math.sqrt(squares / (len(pairs) - 1) / len(pairs)), len(pairs), least, margin)

    def half_width(self, outside: float) -> float:
        """Half of the interval of the mean that leaves the share `outside` out."""
        return _quantile(1 - outside / 2, self.count - 1) * self.standard_error


@functools.cache
def _quantile(probability: float, degrees_of_freedom: int) -> float:
    # scipy.stats.t.ppf is this function, and takes a second to import.
    from scipy.special import stdtrit  # noqa: PLC0415  # only a report has to wait for it

    return float(stdtrit(degrees_of_freedom, probability))
