"""The rate limiter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.simulator.limiter import RateLimiter

from .scenes import MIB, database

RATES = st.floats(0, 1e9)


@pytest.mark.parametrize(
    ("flush", "compaction", "granted"),
    [
        (30, 60, (30, 60)),  # room for both
        (30, 100, (30, 70)),  # flushes first
        (100, 100, (90, 10)),  # but one refill in ten is the compactions'
        (100, 5, (95, 5)),  # of which they take what they need
        (200, 0, (100, 0)),
    ],
)
def test_flushes_come_first(flush: float, compaction: float, granted: tuple[float, float]) -> None:
    assert RateLimiter(100).share(flush, compaction) == granted


@given(st.integers(1, 10**9), RATES, RATES)
def test_never_more_than_the_rate_nor_than_is_wanted(rate: int, flush: float, compaction: float) -> None:
    limiter = RateLimiter(rate)
    got = limiter.share(flush, compaction)
    assert sum(got) <= min(rate, flush + compaction) * (1 + 1e-9)
    assert 0 <= got[0] <= flush
    assert 0 <= got[1] <= compaction
    assert limiter.is_short(flush, compaction) or got == (flush, compaction)


def test_one_drain_a_period_while_somebody_waits() -> None:
    limiter = RateLimiter(MIB)
    limiter.drain(2.5)
    limiter.drain(0.55)
    assert limiter.drains == 30


def test_a_limiter_that_is_too_low_drains_and_one_that_is_not_does_not() -> None:
    """Below what flushes and compactions want it runs dry ten times a second, above it never."""
    low, high = database(limiter=10 * MIB), database(limiter=1000 * MIB)
    for each in (low, high):
        each.advance(100.0)
    assert low.limiter is not None
    assert high.limiter is not None
    assert low.limiter.drains > 900
    assert high.limiter.drains == 0
    jobs = low.account.flush_written_bytes + low.account.ticked_written_bytes
    assert jobs <= 10 * MIB * 100 * 1.001
    assert low.written_bytes < high.written_bytes
