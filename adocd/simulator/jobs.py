"""Flush and compaction jobs: how many may run, and how they share the device."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from adocd.simulator.device import Device
from adocd.simulator.levels import BASE_LEVEL, Compaction
from adocd.simulator.limiter import RateLimiter
from adocd.simulator.options import DatabaseOptions, FamilyOptions


@dataclass(slots=True, eq=False)
class Job:
    """A job that runs; it writes `left_bytes` more, at most `most_bytes_per_s` and now `bytes_per_s`.

    `options` are the column family's when it began: RocksDB before 9.11 puts them in force when it ends
    (facebook/rocksdb#13294, HAZARDS 2).
    """

    number: int
    began_s: float
    left_bytes: float
    most_bytes_per_s: float
    options: FamilyOptions
    #: None for a flush.
    compaction: Compaction | None
    #: Of a flush: the memtables' size.
    memtable_bytes: int = 0
    bytes_per_s: float = 0.0


@dataclass(frozen=True, slots=True)
class JobLimits:
    """How many jobs may run at once."""

    flushes: int
    compactions: int


def job_limits(options: DatabaseOptions, *, speedup: bool) -> JobLimits:
    """Divide background jobs (DBImpl::GetBGJobLimits); without pressure one compaction at a time runs."""
    if options.max_background_flushes == -1 and options.max_background_compactions == -1:
        flushes = max(1, options.max_background_jobs // 4)
        compactions = max(1, options.max_background_jobs - flushes)
    else:
        flushes = max(1, options.max_background_flushes)
        compactions = max(1, options.max_background_compactions)
    return JobLimits(flushes, compactions if speedup else 1)


def flush_rate(device: Device) -> float:
    """Say what one flush can write, in bytes/s."""
    return device.flush_thread_bytes_per_s


def compaction_rate(compaction: Compaction, device: Device, options: DatabaseOptions) -> float:
    """Say what one compaction can write, in bytes/s; subcompactions divide those from level 0 to level 1 alone."""
    into_base = compaction.input_level == 0 and compaction.output_level == BASE_LEVEL
    threads = max(1, options.max_subcompactions) if into_base else 1
    shrinks = compaction.output_bytes / compaction.input_bytes
    return device.compaction_thread_bytes_per_s * threads * shrinks


def fair_shares(wanted: Sequence[float], available: float | None) -> list[float]:
    """Share what is available equally; what one does not want goes to the others. None is without a limit."""
    if available is None or sum(wanted) <= available:
        return list(wanted)
    shares = [0.0] * len(wanted)
    left, waiting = max(0.0, available), len(wanted)
    for index in sorted(range(len(wanted)), key=wanted.__getitem__):
        shares[index] = min(wanted[index], left / waiting)
        left -= shares[index]
        waiting -= 1
    return shares


@dataclass(frozen=True, slots=True)
class Flow:
    """What flows now: into memtables, from the page cache to the WAL, and whether the limiter keeps somebody waiting.

    All in bytes/s. What each job writes stands in the job. `dirties` is what comes into the page cache for the device.
    """

    writes: float
    wal: float
    dirties: float
    limiter_is_short: bool


def share_device(
    admitted: float,
    dirty_bytes: float,
    flushes: Sequence[Job],
    compactions: Sequence[Job],
    device: Device,
    limiter: RateLimiter | None,
) -> Flow:
    """Divide the device between the WAL and the jobs; the device knows no priorities, the limiter does.

    `admitted` is what clients write unless the device holds them up, which it does only when so much of the WAL waits
    in the page cache as may wait there.
    """
    jobs = [*flushes, *compactions]
    dirties = admitted * device.wal_share
    wal_wants = math.inf if dirty_bytes > 0 and device.bytes_per_s is not None else dirties
    shares = fair_shares([wal_wants, *(job.most_bytes_per_s for job in jobs)], device.bytes_per_s)
    wal, shares = shares[0], shares[1:]
    flush, compaction = sum(shares[: len(flushes)]), sum(shares[len(flushes) :])
    is_short = limiter is not None and limiter.is_short(flush, compaction)
    if limiter is not None and is_short:
        granted = limiter.share(flush, compaction)
        shares = fair_shares(shares[: len(flushes)], granted[0]) + fair_shares(shares[len(flushes) :], granted[1])
        if device.bytes_per_s is not None:
            wal = min(wal_wants, device.bytes_per_s - sum(shares))
    for job, share in zip(jobs, shares, strict=True):
        job.bytes_per_s = share
    if dirty_bytes >= device.page_cache_bytes and wal < dirties:
        return Flow(wal / device.wal_share, wal, wal, is_short)
    return Flow(admitted, wal, dirties, is_short)
