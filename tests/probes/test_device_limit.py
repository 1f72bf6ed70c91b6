"""A plateau with a rising queue is a limit; a device that does more with more requests is not at one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.model.device import DeviceLimit, DiskActivity, IoActivity
from adocd.probes.device_limit import MEMORY_S, PLATEAU_READINGS, LimitDetector

MB = 1e6


def reading(
    second: float, queue: float, bytes_per_s: float, size: float = 100_000.0, read_share: float = 0.0
) -> DiskActivity:
    def kind(share: float) -> IoActivity:
        amount = bytes_per_s * share
        return IoActivity(amount / size, 0.0, amount, None, size)

    return DiskActivity(
        device="vda",
        monotonic_s=second,
        interval_s=1.0,
        reads=kind(read_share),
        writes=kind(1 - read_share),
        discards=None,
        busy_fraction=1.0,
        mean_queue=queue,
        in_flight=round(queue),
        flushes_per_s=None,
        s_per_flush=None,
    )


def follow(points: Iterable[tuple[float, float]], size: float = 100_000.0) -> list[DeviceLimit | None]:
    """Feed queues and throughputs, one a second."""
    detector = LimitDetector()
    return [detector.step(reading(second, queue, amount, size)) for second, (queue, amount) in enumerate(points)]


def test_a_rising_queue_that_gets_no_more_done() -> None:
    # Below the limit 25 MB/s a request; the quota is 100 MB/s.
    found = follow([(1, 25 * MB), (2, 50 * MB), (4, 99 * MB), (4, 98 * MB), *((8 + n, 100 * MB) for n in range(5))])
    assert found[:6] == [None] * 6
    limit = found[-1]
    assert limit is not None
    assert (limit.device, limit.since_s, limit.bytes_per_s, limit.by) == ("vda", 1.0, 100 * MB, "either")
    assert (limit.mean_queue, limit.sufficient_queue) == (10.0, 4)
    assert limit.why == (
        "vda gives no more than 100 MB/s (1000 operations/s): 10 requests are under way, and 4 got as much done"
    )


def test_a_busy_device_with_a_steady_load_is_not_called_limited() -> None:
    assert follow([(8, 400 * MB)] * 30) == [None] * 30


def test_one_request_at_a_time_is_not_called_limited() -> None:
    assert follow([(0.5, 50 * MB)] * 5 + [(0.99, 50 * MB)] * 20) == [None] * 25


def test_a_burst_allowance_that_runs_out() -> None:
    found = follow([(3, 250 * MB)] * 10 + [(16, 120 * MB)] * 6)
    assert found[:14] == [None] * 14
    limit = found[-1]
    assert limit is not None
    assert (limit.bytes_per_s, limit.sufficient_queue) == (120 * MB, 3)


def test_once_seen_it_holds_while_the_queue_stays_and_ends_with_it() -> None:
    start = [(2.0, 100 * MB), (2.0, 100 * MB), *[(10.0, 100 * MB)] * 5]
    found = follow([*start, *[(10.0, 98 * MB)] * 200, (1.0, 90 * MB), (10.0, 40 * MB)])
    assert None not in found[7:-2]
    assert found[-2:] == [None, None]
    limit = found[-3]
    assert limit is not None
    assert limit.since_s == -1.0  # the plateau's first reading, though it is long forgotten
    assert len(found) > MEMORY_S


def test_relief_ends_it() -> None:
    found = follow([(2.0, 100 * MB)] * 2 + [(10.0, 100 * MB)] * 5 + [(10.0, 300 * MB)])
    assert found[-2] is not None
    assert found[-1] is None


def test_other_requests_do_not_compare() -> None:
    """Large writes with a short queue say nothing of small ones with a long queue, nor reads of writes."""
    for size, share in ((4096.0, 0.0), (100_000.0, 1.0)):
        detector = LimitDetector()
        for second in range(5):
            assert detector.step(reading(second, 3, 100 * MB)) is None
        for second in range(5, 15):
            assert detector.step(reading(second, 12, 90 * MB, size, share)) is None


@pytest.mark.parametrize("by", ["bytes", "operations"])
def test_sizes_tell_a_quota_of_bytes_from_one_of_operations(by: str) -> None:
    detector = LimitDetector()
    limit = None
    for second in range(9):
        size = 100_000.0 if second < 3 else 130_000.0
        amount = 100 * MB if by == "bytes" else 1000 * size
        limit = detector.step(reading(second, 2.0 if second < 3 else 10.0, amount, size))
    assert limit is not None
    assert limit.by == by
    assert ("operations/s" in limit.why) == (by == "operations")


@pytest.mark.parametrize("gap", ["missing", "late", "backwards", "another device"])
def test_a_gap_starts_anew(gap: str) -> None:
    detector = LimitDetector()
    for second in range(7):
        limit = detector.step(reading(second, 2.0 if second < 2 else 10.0, 100 * MB))
    assert limit is not None
    following = reading(7, 10.0, 100 * MB)
    if gap == "missing":
        assert detector.step(None) is None
    elif gap == "late":
        following = replace(following, monotonic_s=60.0)
    elif gap == "backwards":
        following = replace(following, monotonic_s=2.0)
    else:
        following = replace(following, device="vdb")
    assert detector.step(following) is None


@given(
    limit_mb=st.floats(10, 5000),
    latency_s=st.floats(0.0001, 0.02),
    queues=st.lists(st.floats(0.1, 64), min_size=3, max_size=12),
    noise=st.lists(st.floats(0.97, 1.03), min_size=80, max_size=80),
)
def test_never_below_the_knee_of_a_device(
    limit_mb: float, latency_s: float, queues: list[float], noise: list[float]
) -> None:
    """A device that does `queue / latency` up to its limit, each load for six seconds: no false alarm below it."""
    size = 100_000.0
    knee = limit_mb * MB / size * latency_s
    detector = LimitDetector()
    second, below = 0, True
    for queue in queues:
        for _ in range(PLATEAU_READINGS + 1):
            below = below and queue < knee
            amount = min(queue / latency_s * size, limit_mb * MB) * noise[second % len(noise)]
            found = detector.step(reading(second, queue, amount, size))
            second += 1
            assert found is None or not below


@given(limit_mb=st.floats(10, 5000), short=st.floats(1, 20), factor=st.floats(1.6, 10), noise=st.floats(0, 0.03))
def test_always_beyond_the_knee(limit_mb: float, short: float, factor: float, noise: float) -> None:
    amounts = [limit_mb * MB * (1 + noise * (-1) ** n) for n in range(10)]
    long = max(2.0, short * factor) * 1.02
    found = follow([(short if n < 5 else long, amount) for n, amount in enumerate(amounts)])
    assert found[-1] is not None


@given(
    st.lists(
        st.builds(
            reading,
            st.floats(0, 50),
            st.floats(0, 1e6),
            st.sampled_from([0.0, 1.0, 1e9]),
            st.floats(1, 1e6),
            st.floats(0, 1),
        ),
        max_size=40,
    )
)
def test_any_readings_are_taken(readings: list[DiskActivity]) -> None:
    detector = LimitDetector()
    for activity in readings:
        detector.step(activity)
