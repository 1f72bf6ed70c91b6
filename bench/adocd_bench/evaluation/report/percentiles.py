"""Percentiles of latencies that are kept in buckets.

The rule is the nearest rank: of n values the one at rank ceil(fraction x n), the first being 1. Within a bucket values
are taken to lie evenly: the j-th of c is at lowest + (highest - lowest) x (j - 1/2) / c. The highest bucket ends at the
largest value measured. Where there are fewer values than 1 / (1 - fraction), a percentile is the largest bucket's.
"""

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
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
    return _percentile_us(histogram, _last_ranks(histogram), fraction)


def _last_ranks(histogram: LatencyHistogram) -> list[int]:
    """Give the rank of the last value in each bucket: there are thousands, so whoever asks often adds them up once."""
    return list(itertools.accumulate([count for _, _, count in histogram.buckets]))


def _percentile_us(histogram: LatencyHistogram, last_ranks: Sequence[int], fraction: float) -> float | None:
    total = last_ranks[-1] if last_ranks else 0
    if total == 0:
        return None
    rank = min(max(math.ceil(fraction * total - _ROUNDING), 1), total)
    place = bisect.bisect_left(last_ranks, rank)
    lowest, highest, count = histogram.buckets[place]
    within = rank - last_ranks[place] + count
    end = max(min(highest, histogram.max_us), lowest)
    return min(lowest + (end - lowest) * (within - 0.5) / count, histogram.max_us)


def percentiles(histogram: LatencyHistogram | None) -> Percentiles | None:
    """Work out all that is told; None where nothing was measured, or there were no operations."""
    ranks = [] if histogram is None else _last_ranks(histogram)
    if histogram is None or not ranks or not ranks[-1]:
        return None
    found = {name: _percentile_us(histogram, ranks, fraction) or 0.0 for name, fraction in FRACTIONS.items()}
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
    found: list[LatencyHistogram] = []
    for histogram in histograms:
        if histogram is None:
            return None
        found.append(histogram)
    if len(found) < 2:
        return found[0] if found else None
    # Each is ascending already, which makes sorting them quick.
    ordered = sorted(itertools.chain.from_iterable(each.buckets for each in found))
    return LatencyHistogram(tuple(_counted_together(ordered)), max(each.max_us for each in found))


def _counted_together(ordered: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Make one bucket of those with the same ends."""
    lowest, highest, count = 0, 0, 0
    for low, high, more in ordered:
        if low == lowest and high == highest:
            count += more
            continue
        if count:
            yield lowest, highest, count
        lowest, highest, count = low, high, more
    if count:
        yield lowest, highest, count


def curve(histogram: LatencyHistogram, nines: float = 5.0, steps: int = 60) -> list[tuple[float, float]]:
    """Give (fraction, microseconds) for a picture, from the median on: evenly over "how many nines"."""
    ranks = _last_ranks(histogram)
    total = ranks[-1] if ranks else 0
    found = []
    for step in range(steps + 1):
        fraction = 1 - 10 ** -(MEDIAN_NINES + (nines - MEDIAN_NINES) * step / steps)
        if total == 0 or total * (1 - fraction) < 1 - _ROUNDING:
            break
        found.append((fraction, _percentile_us(histogram, ranks, fraction) or 0.0))
    return found
