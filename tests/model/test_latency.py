"""The latencies of a window from two readings of a histogram."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.model.latency import LatencyTotals, WriteLatency, sampled


def totals(**counts: int) -> LatencyTotals:
    """Make a reading from counts by value: `us5=3` is three writes of 5 us."""
    found = sorted((int(name.removeprefix("us")) * 1000, count) for name, count in counts.items())
    return LatencyTotals(32, 0.02, tuple(value for value, _ in found), tuple(count for _, count in found))


def test_percentiles_are_of_the_window_alone() -> None:
    before = totals(us1=1_000_000, us900000=1)
    found = sampled(totals(us1=1_000_000, us5=980, us40=19, us7000=1, us900000=1), before)
    assert (found.source, found.count, found.one_in, found.why) == ("agent sampler", 1000, 32, None)
    assert found.mean_s == pytest.approx((980 * 5 + 19 * 40 + 7000) / 1000 * 1e-6)
    assert (found.p50_s, found.p99_s, found.p99_9_s) == pytest.approx((5e-6, 40e-6, 40e-6))
    assert found.max_s == pytest.approx(7e-3)


def test_one_slow_write_is_the_worst_and_no_percentile() -> None:
    found = sampled(totals(us5=3200, us2000000=1), None)
    assert found.max_s == pytest.approx(2.0)
    assert found.p99_9_s == pytest.approx(5e-6)


def test_nothing_written_has_no_latency() -> None:
    same = totals(us5=7)
    assert sampled(same, same) == WriteLatency("agent sampler", 0, one_in=32)


@given(st.dictionaries(st.integers(1, 10**12), st.integers(1, 10**6), min_size=1, max_size=30))
def test_each_percentile_is_the_value_of_its_rank(counts: dict[int, int]) -> None:
    values = sorted(counts)
    found = sampled(LatencyTotals(32, 0.02, tuple(values), tuple(counts[value] for value in values)), None)
    everyone = sum(counts.values())

    def rank(value_s: float | None) -> tuple[int, int]:
        assert value_s is not None
        below = sum(counts[v] for v in values if v < round(value_s * 1e9))
        return below, below + counts[round(value_s * 1e9)]

    for share, value_s in ((0.5, found.p50_s), (0.99, found.p99_s), (0.999, found.p99_9_s)):
        below, up_to = rank(value_s)
        assert below < math.ceil(share * everyone) <= up_to or share * everyone == up_to
    assert found.max_s == pytest.approx(values[-1] * 1e-9)
    assert found.count == everyone
