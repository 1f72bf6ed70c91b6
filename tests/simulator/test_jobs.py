"""How many jobs run, and how they share the device."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.simulator.device import MB, BadProfile, device
from adocd.simulator.jobs import Flow, JobLimits, fair_shares, job_limits, share_device
from adocd.simulator.memtables import Memtables
from adocd.simulator.options import DatabaseOptions


@pytest.mark.parametrize(
    ("jobs", "flushes", "compactions", "limits"),
    [
        (1, -1, -1, (1, 1)),
        (2, -1, -1, (1, 1)),
        (4, -1, -1, (1, 3)),
        (8, -1, -1, (2, 6)),
        (20, -1, -1, (5, 15)),
        (20, 4, 2, (4, 2)),  # the old options make max_background_jobs dead
        (20, -1, 6, (1, 6)),
        (20, 4, -1, (4, 1)),
    ],
)
def test_job_limits(jobs: int, flushes: int, compactions: int, limits: tuple[int, int]) -> None:
    options = DatabaseOptions(
        max_background_jobs=jobs, max_background_flushes=flushes, max_background_compactions=compactions
    )
    assert job_limits(options, speedup=True) == JobLimits(*limits)
    assert job_limits(options, speedup=False) == JobLimits(limits[0], 1)


@pytest.mark.parametrize(
    ("wanted", "available", "shares"),
    [
        ([10, 20], None, [10, 20]),
        ([10, 20], 100, [10, 20]),
        ([100, 100], 100, [50, 50]),
        ([10, 100, 100], 100, [10, 45, 45]),
        ([float("inf"), 30, 5], 60, [27.5, 27.5, 5]),
    ],
)
def test_fair_shares(wanted: list[float], available: float | None, shares: list[float]) -> None:
    assert sorted(fair_shares(wanted, available)) == sorted(shares)


@given(st.lists(st.floats(1, 1e9), max_size=30), st.floats(1, 1e9))
def test_shares_use_all_there_is_and_no_more(wanted: list[float], available: float) -> None:
    shares = fair_shares(wanted, available)
    assert sum(shares) == pytest.approx(min(sum(wanted), available))
    assert all(0 <= share <= want for share, want in zip(shares, wanted, strict=True))
    short = [share for share, want in zip(shares, wanted, strict=True) if share < want * (1 - 1e-9)]
    assert not short or min(short) >= max(shares) * (1 - 1e-9), "who gets less than it wants gets as much as anybody"


@pytest.mark.parametrize(
    ("wal_share", "dirty_bytes", "flow"),
    [
        (1.0, 0.0, Flow(60 * MB, 60 * MB, 60 * MB, limiter_is_short=False)),
        (0.5, 0.0, Flow(60 * MB, 30 * MB, 30 * MB, limiter_is_short=False)),
        (0.0, 0.0, Flow(60 * MB, 0.0, 0.0, limiter_is_short=False)),
        # What waits in the page cache takes all there is, and once that is full clients write as it goes.
        (1.0, 5.0 * MB, Flow(60 * MB, 40 * MB, 60 * MB, limiter_is_short=False)),
        (1.0, 1000.0 * MB, Flow(40 * MB, 40 * MB, 40 * MB, limiter_is_short=False)),
        (0.8, 1000.0 * MB, Flow(50 * MB, 40 * MB, 40 * MB, limiter_is_short=False)),
        # At half of its bytes the WAL needs less than the device has, so a full cache holds nobody up.
        (0.5, 1000.0 * MB, Flow(60 * MB, 40 * MB, 30 * MB, limiter_is_short=False)),
    ],
)
def test_what_of_the_wal_the_device_writes(wal_share: float, dirty_bytes: float, flow: Flow) -> None:
    machine = replace(device("cap-40" if dirty_bytes else "cap-100"), wal_share=wal_share)
    assert share_device(60 * MB, dirty_bytes, (), (), machine, None) == flow


def test_flushes_become_files_in_the_order_of_their_memtables() -> None:
    found = Memtables()
    for job in (7, 8):
        found.active_bytes = 100.0
        found.switch()
        assert found.take(job) == 100
    assert found.finish(8) == []
    assert found.unflushed == 2
    assert found.finish(7) == [7, 8]
    assert found.unflushed == 0


def test_a_flush_takes_all_that_wait() -> None:
    found = Memtables()
    for size in (100.0, 50.0):
        found.active_bytes = size
        found.switch()
    assert (found.waiting, found.take(1), found.waiting) == (2, 150, 0)
    assert found.finish(1) == [1]


def test_profiles() -> None:
    assert device("cap-210").bytes_per_s == 210 * MB
    assert device("uncapped").bytes_per_s is None


@pytest.mark.parametrize("name", ["", "cap", "cap-0", "cap-1.5", "cap-9999999", "hdd"])
def test_a_profile_that_there_is_not(name: str) -> None:
    with pytest.raises(BadProfile, match="use cap-N with N in MB/s"):
        device(name)
