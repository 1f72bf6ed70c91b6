"""Percentiles from buckets: by hand, and for any histogram."""

from __future__ import annotations

import math

import pytest
from adocd_bench.evaluation.raw import LatencyHistogram
from adocd_bench.evaluation.report.percentiles import (
    FRACTIONS,
    Percentiles,
    curve,
    mean_us,
    merged,
    percentile_us,
    percentiles,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.evaluation.report.builders import at, histogram


@st.composite
def histograms(draw: st.DrawFn) -> LatencyHistogram:
    """Buckets as they are kept: ascending, apart, none empty, the largest value in the last one."""
    widths = draw(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(1, 1000)), min_size=1))
    buckets, lowest = [], 0
    for gap, width, count in widths:
        buckets.append((lowest + gap, lowest + gap + width, count))
        lowest += gap + width + 1
    first, last, _ = buckets[-1]
    return LatencyHistogram(tuple(buckets), draw(st.integers(first, last)))


FRACTION = st.floats(0, 1)


@given(histograms(), FRACTION)
def test_a_percentile_lies_in_the_bucket_of_its_rank(found: LatencyHistogram, fraction: float) -> None:
    values = [bucket for bucket in found.buckets for _ in range(bucket[2])]
    rank = min(max(math.ceil(fraction * len(values) - 1e-9), 1), len(values))
    lowest, highest, _ = values[rank - 1]
    value = percentile_us(found, fraction)
    assert value is not None
    assert lowest <= value <= min(highest, found.max_us)


@given(histograms(), FRACTION, FRACTION)
def test_percentiles_ascend_and_never_pass_the_largest(found: LatencyHistogram, one: float, other: float) -> None:
    low, high = percentile_us(found, min(one, other)), percentile_us(found, max(one, other))
    assert low is not None
    assert high is not None
    assert low <= high <= found.max_us


@given(histograms())
def test_twice_the_same_has_the_same_percentiles(found: LatencyHistogram) -> None:
    both = merged([found, found])
    assert both is not None
    assert sum(count for _, _, count in both.buckets) == 2 * sum(count for _, _, count in found.buckets)
    assert mean_us(both) == pytest.approx(mean_us(found))
    # A rank falls into the same bucket; within it by at most half a value's share.
    for fraction in FRACTIONS.values():
        one, two = percentile_us(found, fraction), percentile_us(both, fraction)
        assert one is not None
        assert two is not None
        width = max(highest - lowest for lowest, highest, _ in found.buckets)
        assert abs(one - two) <= width


@given(st.lists(st.integers(1, 10_000), min_size=1), FRACTION)
def test_buckets_of_one_value_are_exact(values: list[int], fraction: float) -> None:
    ordered = sorted(values)
    found = LatencyHistogram(tuple((value, value, ordered.count(value)) for value in sorted(set(ordered))), ordered[-1])
    rank = min(max(math.ceil(fraction * len(ordered) - 1e-9), 1), len(ordered))
    assert percentile_us(found, fraction) == ordered[rank - 1]


def test_values_lie_evenly_in_a_bucket() -> None:
    found = histogram((0, 9, 5), (100, 199, 100))
    assert percentile_us(found, 3 / 105) == 0 + 9 * 2.5 / 5
    # The rank 53 of 105 is the 48th of the second bucket's hundred.
    assert percentile_us(found, 0.5) == pytest.approx(100 + 99 * 47.5 / 100)


def test_the_highest_bucket_ends_at_the_largest_value() -> None:
    assert percentile_us(histogram((100, 1000, 2), max_us=200), 1) == 100 + 100 * 1.5 / 2


def test_all_that_is_told() -> None:
    found = percentiles(histogram((10, 10, 9000), (20, 20, 989), (30, 30, 10), (40, 40, 1)))
    assert found == Percentiles(p50_us=10, p90_us=10, p99_us=20, p999_us=30, p9999_us=30, max_us=40)


def test_nothing_measured_stays_so() -> None:
    assert percentiles(None) is None
    assert percentiles(LatencyHistogram((), 0)) is None
    assert percentile_us(LatencyHistogram((), 0), 0.5) is None
    assert mean_us(None) is None
    assert merged([]) is None
    assert merged([at(1), None]) is None


def test_means_and_merging() -> None:
    assert mean_us(histogram((10, 10, 1), (20, 40, 3))) == (10 + 3 * 30) / 4
    assert merged([at(5, 2), histogram((1, 2, 1), (5, 5, 3))]) == histogram((1, 2, 1), (5, 5, 5))


def test_a_curve_ends_where_values_do() -> None:
    line = curve(at(7, 1000))
    assert line[0][0] == pytest.approx(0.5)
    assert {latency_us for _, latency_us in line} == {7}
    assert 0.998 < line[-1][0] <= 0.999
    assert curve(LatencyHistogram((), 0)) == []
