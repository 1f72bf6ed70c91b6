"""How many jobs run, and how they share the device."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.simulator.device import MB, BadProfile, Device, device
from adocd.simulator.jobs import Flow, JobLimits, JobOptions, compaction_job, flush_job, job_limits, share_device
from adocd.simulator.levels import Compaction
from adocd.simulator.limiter import RateLimiter
from adocd.simulator.memtables import Memtables
from adocd.simulator.options import DatabaseOptions, FamilyOptions
from adocd.simulator.shares import fair_shares

from .scenes import MIB


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


def l0_to_base(input_bytes: int) -> Compaction:
    return Compaction(0, 1, [], input_bytes, 0, input_bytes, span=1.0)


@pytest.mark.parametrize(
    ("input_mib", "most", "threads"),
    [
        (1024, 1, 1.0),
        (1024, 4, 4.0),
        (1024, 40, 16.0),  # no range is smaller than a file of 64 MiB
        (160, 4, 2.5),  # two ranges of a file each, and half of one
        (64, 4, 1.0),
        (10, 4, 1.0),
    ],
)
def test_subcompactions_are_never_smaller_than_a_file(input_mib: int, most: int, threads: float) -> None:
    opened = JobOptions(FamilyOptions(), DatabaseOptions(max_subcompactions=most))
    machine = device("cap-100")
    job = compaction_job(1, 0.0, l0_to_base(input_mib * MIB), "low", opened, machine)
    assert job.threads == threads
    assert job.most_bytes_per_s == machine.compaction_thread_bytes_per_s * threads
    deeper = Compaction(1, 2, [], input_mib * MIB, 0, input_mib * MIB, span=0.1)
    assert compaction_job(1, 0.0, deeper, "low", opened, machine).threads == 1.0


def test_each_subcompaction_has_a_share_of_its_own() -> None:
    """Three threads of a compaction and one of a flush are four for the device, and for the limiter."""
    opened = JobOptions(FamilyOptions(), DatabaseOptions(max_subcompactions=3))
    machine = replace(device("cap-100"), cached_share=1.0)
    flush = flush_job(1, 0.0, (64 * MIB, 64 * MIB), "user", opened.family, machine)
    compaction = compaction_job(2, 0.0, l0_to_base(1024 * MIB), "user", opened, machine)
    for limiter, all_of_it in ((None, 100 * MB), (RateLimiter(8 * MB), 8 * MB)):
        share_device(0.0, 0.0, [flush], [compaction], machine, limiter)
        assert (flush.bytes_per_s, compaction.bytes_per_s) == pytest.approx((all_of_it / 4, all_of_it * 3 / 4))


@pytest.mark.parametrize(
    ("machine", "alone", "beside_a_flush"),
    [
        # One disk: half of what a compaction does there is reading, and a flush has as much of the disk as it has.
        (device("cap-100"), 50.0, (50.0, 25.0)),
        # A cgroup's caps: each way by itself.
        (replace(device("cap-100"), mixed_bytes_per_s=None), 100.0, (50.0, 50.0)),
        (replace(device("cap-100"), mixed_bytes_per_s=150 * MB), 75.0, (50.0, 50.0)),
        (replace(device("cap-100"), mixed_bytes_per_s=None, read_bytes_per_s=20 * MB), 20.0, (80.0, 20.0)),
        # Reads that never reach the device.
        (replace(device("cap-100"), cached_share=1.0), 100.0, (50.0, 50.0)),
        (replace(device("cap-100"), cached_share=0.5), 200 / 3, (50.0, 100 / 3)),
        (device("uncapped"), 140.0, (200.0, 140.0)),
    ],
)
def test_what_a_compaction_reads_the_device_does_not_write(
    machine: Device, alone: float, beside_a_flush: tuple[float, float]
) -> None:
    opened = JobOptions(FamilyOptions(), DatabaseOptions())
    compaction = compaction_job(1, 0.0, l0_to_base(1024 * MIB), "low", opened, machine)
    share_device(0.0, 0.0, [], [compaction], machine, None)
    assert compaction.bytes_per_s == pytest.approx(alone * MB)
    flush = flush_job(2, 0.0, (64 * MIB, 64 * MIB), "high", opened.family, machine)
    share_device(0.0, 0.0, [flush], [compaction], machine, None)
    assert (flush.bytes_per_s, compaction.bytes_per_s) == pytest.approx(tuple(each * MB for each in beside_a_flush))


def test_what_merging_drops_is_read_all_the_same() -> None:
    """Two bytes read for one written: of 90 MB/s a third is written."""
    machine = device("cap-90")
    half = Compaction(0, 1, [], 500 * MIB, 500 * MIB, 500 * MIB, span=1.0)
    job = compaction_job(1, 0.0, half, "low", JobOptions(FamilyOptions(), DatabaseOptions()), machine)
    share_device(0.0, 0.0, [], [job], machine, None)
    assert job.bytes_per_s == pytest.approx(30 * MB)


def test_the_wal_has_what_a_limiter_keeps_from_reads_and_writes() -> None:
    """A compaction that may write 10 MB/s reads 10: a page cache full of WAL has the other 80 of the disk."""
    machine = device("cap-100")
    job = compaction_job(1, 0.0, l0_to_base(1024 * MIB), "low", JobOptions(FamilyOptions(), DatabaseOptions()), machine)
    flow = share_device(60 * MB, 500.0 * MB, [], [job], machine, RateLimiter(10 * MB))
    assert (job.bytes_per_s, flow.wal) == pytest.approx((10 * MB, 80 * MB))
    assert flow.limiter_is_short


@pytest.mark.parametrize(
    ("cores", "client", "flush", "compactions"),
    [
        (None, 100, 200, 420),
        (5.0, 100, 200, 420),  # a client, a flush and three threads of a compaction
        (2.5, 50, 100, 210),
        (1.0, 20, 40, 84),
    ],
)
def test_threads_share_the_cores(cores: float | None, client: float, flush: float, compactions: float) -> None:
    machine = replace(device("uncapped"), cores=cores)
    opened = JobOptions(FamilyOptions(), DatabaseOptions(max_subcompactions=3))
    flushing = flush_job(1, 0.0, (64 * MIB, 64 * MIB), "high", opened.family, machine)
    compacting = compaction_job(2, 0.0, l0_to_base(1024 * MIB), "low", opened, machine)
    flow = share_device(100.0 * MB, 0.0, [flushing], [compacting], machine, None)
    got = (flow.writes, flushing.bytes_per_s, compacting.bytes_per_s)
    assert got == pytest.approx((client * MB, flush * MB, compactions * MB))


def test_who_waits_for_the_device_leaves_the_cores_to_others() -> None:
    """At a tenth of what it could do a flush needs a tenth of a core."""
    machine = replace(device("cap-20"), cores=1.0, wal_share=0.0)
    flushing = flush_job(1, 0.0, (64 * MIB, 64 * MIB), "high", FamilyOptions(), machine)
    flow = share_device(100.0 * MB, 0.0, [flushing], [], machine, None)
    assert (flow.writes, flushing.bytes_per_s) == pytest.approx((90 * MB, 20 * MB))
