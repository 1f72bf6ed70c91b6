"""Flush and compaction jobs: how many may run, and how they share the device."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from adocd.simulator.device import Device
from adocd.simulator.levels import BASE_LEVEL, Compaction
from adocd.simulator.limiter import REQUEST_BYTES, LimiterDemand, Priority, RateLimiter
from adocd.simulator.options import DatabaseOptions, FamilyOptions
from adocd.simulator.shares import fair_shares


@dataclass(slots=True, eq=False)
class SimulatedJob:
    """A running job; it still has `left_bytes` to write, at most at `most_bytes_per_s` and now at `bytes_per_s`.

    `options` are the column family's at its start: RocksDB before 9.11 puts them back in force when the job ends
    (facebook/rocksdb#13294, HAZARDS 2).
    """

    number: int
    began_s: float
    left_bytes: float
    most_bytes_per_s: float
    options: FamilyOptions
    #: None for a flush.
    compaction: Compaction | None
    #: The rate limiter priority of the file that it writes.
    priority: Priority
    #: Bytes read from the device for each byte written.
    reads: float = 0.0
    #: For a flush, the memtables' size.
    memtable_bytes: int = 0
    #: Its threads; each has a share of the device and of the limiter, and opens its own files.
    threads: float = 1.0
    #: The size of the files that it writes at once, and the bytes left when it opens the next ones; 0 if it does not.
    file_bytes: float = 0.0
    opens_at_bytes: float = 0.0
    bytes_per_s: float = 0.0

    def open_file(self, priority: Priority) -> None:
        """Open the next output file, which gets its own priority."""
        self.priority = priority
        self.opens_at_bytes = max(0.0, self.opens_at_bytes - self.file_bytes)


@dataclass(frozen=True, slots=True)
class JobOptions:
    """The options at the start of a job."""

    family: FamilyOptions
    database: DatabaseOptions


@dataclass(frozen=True, slots=True)
class JobLimits:
    """The most flushes and compactions that may run at once."""

    flushes: int
    compactions: int


def job_limits(options: DatabaseOptions, *, speedup: bool) -> JobLimits:
    """Divide background jobs (DBImpl::GetBGJobLimits); without pressure only one compaction runs at a time."""
    if options.max_background_flushes == -1 and options.max_background_compactions == -1:
        flushes = max(1, options.max_background_jobs // 4)
        compactions = max(1, options.max_background_jobs - flushes)
    else:
        flushes = max(1, options.max_background_flushes)
        compactions = max(1, options.max_background_compactions)
    return JobLimits(flushes, compactions if speedup else 1)


def flush_job(
    number: int, now_s: float, sizes: tuple[int, int], priority: Priority, options: FamilyOptions, device: Device
) -> SimulatedJob:
    """Start a flush; `sizes` are the memtables' bytes and the bytes to write."""
    memtables, written = sizes
    rate = device.flush_thread_bytes_per_s
    return SimulatedJob(number, now_s, written, rate, options, None, priority, memtable_bytes=memtables)


def compaction_job(
    number: int, now_s: float, compaction: Compaction, priority: Priority, opened_as: JobOptions, device: Device
) -> SimulatedJob:
    """Start a compaction."""
    family, threads = opened_as.family, subcompactions(compaction, opened_as)
    shrinks = compaction.output_bytes / compaction.input_bytes
    rate = device.compaction_thread_bytes_per_s * threads * shrinks
    reads = (1 - device.cached_share) / shrinks
    job = SimulatedJob(
        number, now_s, compaction.output_bytes, rate, family, compaction, priority, reads=reads, threads=threads
    )
    if compaction.output_level > 0:  # otherwise it makes one file of any size
        job.file_bytes = max(REQUEST_BYTES, family.target_file_size_base) * threads
        job.opens_at_bytes = max(0.0, job.left_bytes - job.file_bytes)
    return job


def subcompactions(compaction: Compaction, opened_as: JobOptions) -> float:
    """Return the effective number of threads of a compaction, at least 1: only L0-L1 compactions are divided.

    RocksDB divides them into max_subcompactions ranges of equal size, but of at least a file's size. The compaction
    ends with its largest range, so the smaller last one counts as a fraction
    (CompactionJob::GenSubcompactionBoundaries).
    """
    if compaction.input_level != 0 or compaction.output_level != BASE_LEVEL:
        return 1.0
    most = max(1, opened_as.database.max_subcompactions)
    range_bytes = max(compaction.input_bytes / most, opened_as.family.target_file_size_base)
    return max(1.0, compaction.input_bytes / range_bytes)


@dataclass(frozen=True, slots=True)
class Flow:
    """The current flows: into memtables, from the page cache to the WAL, and whether a job waits for the limiter.

    All in bytes/s. Each job has its own rate. `dirties` is the flow into the page cache that the device has to write.
    """

    writes: float
    wal: float
    dirties: float
    limiter_is_short: bool


def share_device(
    admitted: float,
    dirty_bytes: float,
    flushes: Sequence[SimulatedJob],
    compactions: Sequence[SimulatedJob],
    device: Device,
    limiter: RateLimiter | None,
) -> Flow:
    """Divide the device between the WAL and the jobs; the limiter has priorities, the device has none.

    `admitted` is the rate of clients unless the device holds them up, which it does only when the WAL bytes waiting in
    the page cache have reached their limit.
    """
    jobs = [*flushes, *compactions]
    dirties = admitted * device.wal_share
    wal_wants = math.inf if dirty_bytes > 0 and device.is_limited else dirties
    wal, rates = _by_device(wal_wants, jobs, device)
    is_short = limiter is not None and limiter.is_short(sum(rates))
    if limiter is not None and is_short:
        rates = limiter.share(
            [LimiterDemand(job.priority, rate, job.threads) for job, rate in zip(jobs, rates, strict=True)]
        )
    if device.cores is not None:
        admitted, rates = _by_cores(admitted, rates, jobs, device)
        dirties = admitted * device.wal_share
        wal_wants = min(wal_wants, dirties) if dirty_bytes <= 0 else wal_wants
    if is_short or device.cores is not None:
        wal = min(wal_wants, _left(rates, jobs, device))
    for job, rate in zip(jobs, rates, strict=True):
        job.bytes_per_s = rate
    if dirty_bytes >= device.page_cache_bytes and wal < dirties:
        return Flow(wal / device.wal_share, wal, wal, is_short)
    return Flow(admitted, wal, dirties, is_short)


def _by_cores(
    admitted: float, rates: Sequence[float], jobs: Sequence[SimulatedJob], device: Device
) -> tuple[float, list[float]]:
    """Limit the rates of clients and of each job by the processors, in bytes/s.

    A thread at its highest rate keeps one core busy, and proportionally less below. If the cores do not suffice, all
    threads get equal shares.
    """
    fulls = [device.client_thread_bytes_per_s, *(job.most_bytes_per_s / job.threads for job in jobs)]
    asked = [admitted, *rates]
    wanted = [rate / full for rate, full in zip(asked, fulls, strict=True)]
    cores = fair_shares(wanted, device.cores, [1.0, *(job.threads for job in jobs)])
    client, *jobs_rates = (full * core for full, core in zip(fulls, cores, strict=True))
    return min(admitted, client), [min(rate, most) for rate, most in zip(rates, jobs_rates, strict=True)]


def _by_device(wal_wants: float, jobs: Sequence[SimulatedJob], device: Device) -> tuple[float, list[float]]:
    """Limit the rates of the WAL and of each job by the device, in bytes/s.

    Each thread has an equal share of the device's read rate, write rate and mixed rate: their requests take turns, and
    a compaction writes no faster than it reads.
    """
    rates, threads = [job.most_bytes_per_s for job in jobs], [job.threads for job in jobs]
    reading, both = device.read_bytes_per_s, device.mixed_bytes_per_s
    if reading is not None and (both is None or reading < both):
        wanted = [rate * job.reads for rate, job in zip(rates, jobs, strict=True)]
        shares = fair_shares(wanted, reading, threads)
        rates = [share / job.reads if job.reads else rate for rate, share, job in zip(rates, shares, jobs, strict=True)]
    wal, threads = wal_wants, [1.0, *threads]
    if device.bytes_per_s is not None and (both is None or device.bytes_per_s < both):
        wal, *rates = fair_shares([wal, *rates], device.bytes_per_s, threads)
    if both is not None:
        wanted = [rate * (1 + job.reads) for rate, job in zip(rates, jobs, strict=True)]
        wal, *shares = fair_shares([wal, *wanted], both, threads)
        rates = [share / (1 + job.reads) for share, job in zip(shares, jobs, strict=True)]
    return wal, rates


def _left(rates: Sequence[float], jobs: Sequence[SimulatedJob], device: Device) -> float:
    """Return the device's write rate left over by the jobs, in bytes/s."""
    left = math.inf
    if device.bytes_per_s is not None:
        left = device.bytes_per_s - sum(rates)
    if device.mixed_bytes_per_s is not None:
        used = sum(rate * (1 + job.reads) for rate, job in zip(rates, jobs, strict=True))
        left = min(left, device.mixed_bytes_per_s - used)
    return left
