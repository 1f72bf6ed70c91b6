"""Percentiles of latencies that are kept in buckets.

The rule is the nearest rank: of n values the one at rank ceil(fraction x n), the first being 1. Within a bucket values
are taken to lie evenly: the j-th of c is at lowest + (highest - lowest) x (j - 1/2) / c. The highest bucket ends at the
largest value measured. Where there are fewer values than 1 / (1 - fraction), a percentile is the largest bucket's.
"""

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from adocd_bench.evaluation.raw import LatencyHistogram

#: The median has so many nines.
MEDIAN_NINES = math.log10(2)
#: A product such as 0.07 x 100 comes out a little above 7, which is no rank of its own.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Percentiles:
    """What is told of a distribution of latencies, in microseconds."""

    p50_us: float
    p90_us: float
    p99_us: float
    p999_us: float
    p9999_us: float
    max_us: float


#: Member of `Percentiles` -> the share of operations that took no longer.
FRACTIONS = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99, "p999_us": 0.999, "p9999_us": 0.9999}


def percentile_us(histogram: LatencyHistogram, fraction: float) -> float | None:
    """Find the latency that the `fraction` (0 to 1) of all operations did not exceed; None where there were none."""
    total = sum(count for _, _, count in histogram.buckets)
    if total == 0:
        return None
    rank = min(max(math.ceil(fraction * total - _ROUNDING), 1), total)
    for lowest, highest, count in histogram.buckets:
        if rank <= count:
            end = max(min(highest, histogram.max_us), lowest)
            return min(lowest + (end - lowest) * (rank - 0.5) / count, histogram.max_us)
        rank -= count
    raise AssertionError("a rank is at most the sum of the counts")


def percentiles(histogram: LatencyHistogram | None) -> Percentiles | None:
    """Work out all that is told; None where nothing was measured, or there were no operations."""
    if histogram is None or percentile_us(histogram, 1) is None:
        return None
    found = {name: percentile_us(histogram, fraction) or 0.0 for name, fraction in FRACTIONS.items()}
    return Percentiles(**found, max_us=float(histogram.max_us))


def mean_us(histogram: LatencyHistogram | None) -> float | None:
    """Work out the mean, a bucket's values being evenly spread; None where nothing was measured."""
    total = sum(count for _, _, count in histogram.buckets) if histogram else 0
    if histogram is None or total == 0:
        return None
    ends = (
        (lowest, max(min(highest, histogram.max_us), lowest), count) for lowest, highest, count in histogram.buckets
    )
    return sum((lowest + highest) / 2 * count for lowest, highest, count in ends) / total


def merged(histograms: Iterable[LatencyHistogram | None]) -> LatencyHistogram | None:
    """Put histograms of one program together; None where one of them was not measured, or there is none."""
    counts: Counter[tuple[int, int]] = Counter()
    max_us = 0
    found = list(histograms)
    for histogram in found:
        if histogram is None:
            return None
        for lowest, highest, count in histogram.buckets:
            counts[lowest, highest] += count
        max_us = max(max_us, histogram.max_us)
    return LatencyHistogram(tuple((*ends, counts[ends]) for ends in sorted(counts)), max_us) if found else None


def curve(histogram: LatencyHistogram, nines: float = 5.0, steps: int = 60) -> list[tuple[float, float]]:
    """Give (fraction, microseconds) for a picture, from the median on: evenly over "how many nines"."""
    total = sum(count for _, _, count in histogram.buckets)
    found = []
    for step in range(steps + 1):
        fraction = 1 - 10 ** -(MEDIAN_NINES + (nines - MEDIAN_NINES) * step / steps)
        if total == 0 or total * (1 - fraction) < 1 - _ROUNDING:
            break
        found.append((fraction, percentile_us(histogram, fraction) or 0.0))
    return found
