"""The rate limiter."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.simulator.database import SimulatedDatabase
from adocd.simulator.jobs import SimulatedJob
from adocd.simulator.limiter import LimiterDemand, Priority, RateLimiter

from .scenes import MIB, database, until

PRIORITIES: tuple[Priority, ...] = ("user", "high", "low")
RATES = st.floats(0, 1e9)


@pytest.mark.parametrize(
    ("user", "high", "low", "granted"),
    [
        (0, 3, 6, (0, 3, 6)),  # room for all
        (0, 3, 10, (0, 3, 7)),  # flushes before compactions
        (0, 10, 10, (0, 9, 1)),  # but one refill in ten is the compactions'
        (0, 10, 0.5, (0, 9.5, 0.5)),  # of which they take what they need
        (0, 20, 0, (0, 10, 0)),
        (6, 10, 10, (6, 3.6, 0.4)),  # whoever opened its file in a delay is before all, and no refill is kept from it
        (20, 10, 10, (10, 0, 0)),
    ],
)
def test_who_comes_first_where_a_refill_is_one_request(
    user: float, high: float, low: float, granted: tuple[float, float, float]
) -> None:
    given = zip(PRIORITIES, (user, high, low), strict=True)
    shares = RateLimiter(10 * MIB).share([LimiterDemand(priority, wanted * MIB) for priority, wanted in given])
    assert shares == pytest.approx([share * MIB for share in granted])


def test_where_a_refill_is_many_requests_most_of_it_is_for_whoever_asks_first() -> None:
    """One request of 1 MiB a thread waits at each refill; the other 80 MiB/s go as fast as each can take them."""
    shares = RateLimiter(100 * MIB).share([LimiterDemand("high", 210 * MIB), LimiterDemand("low", 110 * MIB)])
    assert shares == pytest.approx([10 * MIB + 80 * MIB * 2 / 3, 10 * MIB + 80 * MIB / 3])


def test_threads_of_one_priority_wait_by_turns() -> None:
    """Each has a request of its own: three threads of a compaction, one of a flush."""
    shares = RateLimiter(4 * MIB).share([LimiterDemand("user", 100 * MIB), LimiterDemand("user", 100 * MIB, threads=3)])
    assert shares == pytest.approx([MIB, 3 * MIB])


@given(st.integers(1, 10**9), st.lists(st.tuples(st.sampled_from(PRIORITIES), RATES, st.floats(1, 8)), max_size=9))
def test_never_more_than_the_rate_nor_than_is_wanted(rate: int, given: list[tuple[Priority, float, float]]) -> None:
    limiter, wants = RateLimiter(rate), [LimiterDemand(*each) for each in given]
    wanted = sum(each.bytes_per_s for each in wants)
    got = limiter.share(wants)
    assert sum(got) == pytest.approx(min(rate, wanted), rel=1e-6, abs=1)
    assert all(0 <= share <= each.bytes_per_s * (1 + 1e-9) for share, each in zip(got, wants, strict=True))
    assert limiter.is_short(wanted) or got == pytest.approx([each.bytes_per_s for each in wants], abs=1)


def rates(found: SimulatedDatabase) -> tuple[float, float]:
    return tuple(sum(job.bytes_per_s for job in jobs) for jobs in (found.flushes, found.compactions))  # type: ignore[return-value]


def opened_in(condition: str, jobs: Sequence[SimulatedJob], otherwise: Priority) -> bool:
    return bool(jobs) and all(job.priority == (otherwise if condition == "normal" else "user") for job in jobs)


def test_in_a_delay_or_a_stop_flushes_are_not_before_compactions() -> None:
    """HAZARDS 22: both open their files as IO_USER then; without a stall a flush is IO_HIGH and comes first."""
    found = database("uncapped", limiter=10 * MIB)
    until(found, lambda: bool(found.flushes) and found.controller.condition == "normal" and bool(found.compactions))
    assert opened_in("normal", found.flushes, "high")
    assert rates(found) == pytest.approx((9 * MIB, MIB))
    until(
        found,
        lambda: (
            found.controller.condition != "normal"
            and opened_in("stall", found.flushes, "high")
            and opened_in("stall", found.compactions, "low")
        ),
    )
    assert len(found.flushes) == len(found.compactions) == 1
    assert rates(found) == pytest.approx((5 * MIB, 5 * MIB))


def test_a_file_keeps_the_priority_that_it_was_opened_with() -> None:
    """A flush makes one file; a compaction asks again with each (CompactionJob::OpenCompactionOutputFile)."""
    found = database("uncapped", limiter=20 * MIB, level0_slowdown_writes_trigger=5)
    until(found, lambda: bool(found.compactions) and found.compactions[0].priority == "low")
    job = found.compactions[0]
    until(found, lambda: found.controller.condition != "normal")
    assert job in found.compactions
    file = job.opens_at_bytes
    assert job.priority == "low"
    assert 0 < job.left_bytes - file <= 64 * MIB, "within its file"
    until(found, lambda: job.priority == "user")
    assert job.opens_at_bytes == file - 64 * MIB
    assert job.left_bytes == pytest.approx(file, abs=20 * MIB * 0.011)

    flushing = database("uncapped", limiter=5 * MIB)
    until(flushing, lambda: flushing.controller.condition == "stopped")
    (flush,) = flushing.flushes
    assert flush.priority == "high", "it began before the second memtable was full"


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
