"""A database's process: CPU, memory, I/O, threads, and its cgroup's limits and pressure."""

from dataclasses import dataclass
from typing import Literal

Resource = Literal["cpu", "io", "memory"]
#: Resources for which the kernel measures pressure, in display order.
RESOURCES: tuple[Resource, ...] = ("cpu", "io", "memory")


@dataclass(frozen=True, slots=True)
class ThreadCounters:
    """One thread at one moment.

    Attributes:
        name: as its program set it, at most 15 bytes, such as `rocksdb:low`.
        state: R is running or runnable, S sleeps, D waits for a disk (or anything else that a signal cannot interrupt).
        start_ticks: when it started, in clock ticks since boot; distinguishes two threads with the same id.
        cpu_ticks: user and system time, in clock ticks.
        voluntary_switches: how often it gave up the CPU to wait; None if that cannot be read.
        involuntary_switches: how often the CPU was taken from it.

    """

    name: str
    state: str
    start_ticks: int
    cpu_ticks: int
    voluntary_switches: int | None
    involuntary_switches: int | None


@dataclass(frozen=True, slots=True)
class ProcessIo:
    """Cumulative bytes of /proc/PID/io: what the process caused to be read from and written to storage.

    Written bytes count when a page in the cache becomes dirty, not when it reaches the disk; `cancelled_bytes` were
    dirtied and then deleted or truncated before they were written.
    """

    read_bytes: int
    written_bytes: int
    cancelled_bytes: int


@dataclass(frozen=True, slots=True)
class ProcessReading:
    """A process at one time of the caller's monotonic clock.

    Attributes:
        start_ticks: when it started, in clock ticks since boot; another value means another process with the same pid.
        user_ticks: user CPU time of all threads, including ended ones, in clock ticks.
        system_ticks: the same for system time.
        rss_bytes: memory in RAM; None if the process has none left (a zombie) or it cannot be read.
        anon_bytes: the anonymous part of it, which holds memtables and the block cache.
        swap_bytes: memory in swap.
        io: None if it may not be read.
        threads: by thread id.
        missing: what could not be read, a sentence each.

    """

    monotonic_s: float
    pid: int
    start_ticks: int
    user_ticks: int
    system_ticks: int
    rss_bytes: int | None
    anon_bytes: int | None
    swap_bytes: int | None
    io: ProcessIo | None
    threads: dict[int, ThreadCounters]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ThreadGroup:
    """The threads of one RocksDB pool, or all other threads.

    Attributes:
        threads: number of threads.
        running: number running or runnable at the later reading.
        waiting_for_disk: number in an uninterruptible wait (state D) at that time, whether for the device, a full
            writeback queue or a throttled cgroup.
        cpu_cores: CPU seconds used per second of the interval, by threads that existed at both ends.

    """

    threads: int
    running: int
    waiting_for_disk: int
    cpu_cores: float


@dataclass(frozen=True, slots=True)
class ProcessActivity:
    """A process's activity between two readings.

    Attributes:
        user_cores: user CPU seconds per second of the interval: 1.5 is one and a half cores.
        system_cores: the same for system time.
        written_bytes_per_s: bytes that became dirty; see `ProcessIo`.
        pools: RocksDB's thread pools that have threads, by name (`low`, `high`, `bottom`, `user`).
        others: all other threads.
        voluntary_switches_per_s: of the threads that existed at both ends; None if they cannot be read.

    """

    monotonic_s: float
    interval_s: float
    pid: int
    user_cores: float
    system_cores: float
    rss_bytes: int | None
    anon_bytes: int | None
    swap_bytes: int | None
    read_bytes_per_s: float | None
    written_bytes_per_s: float | None
    cancelled_bytes_per_s: float | None
    pools: dict[str, ThreadGroup]
    others: ThreadGroup
    voluntary_switches_per_s: float | None
    involuntary_switches_per_s: float | None
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pressure:
    """How long tasks were stalled for lack of one resource (PSI), cumulative and as the kernel's own mean.

    Attributes:
        some_us: microseconds in which at least one task was stalled.
        some_10s_fraction: its share of the last 10 s, 0 to 1.
        full_us: microseconds in which all non-idle tasks were stalled; None if the kernel does not report it (CPU
            before Linux 5.13; since then always 0 for the whole machine).
        full_10s_fraction: its share of the last 10 s.

    """

    some_us: int
    some_10s_fraction: float
    full_us: int | None
    full_10s_fraction: float | None


@dataclass(frozen=True, slots=True)
class PressureReading:
    """Pressure at one time of the caller's monotonic clock.

    Attributes:
        machine: for all tasks, by resource, without resources that cannot be read.
        group: for the tasks in the process's cgroup (v2).
        throttled_us: how long the cgroup's tasks waited because its CPU quota was used up, summed over CPUs; None
            without a quota.
        missing: what could not be read, a sentence each.

    """

    monotonic_s: float
    machine: dict[Resource, Pressure]
    group: dict[Resource, Pressure]
    throttled_us: int | None
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stalled:
    """Shares of an interval, 0 to 1, in which some, and in which all, tasks were stalled for lack of a resource."""

    some_fraction: float
    full_fraction: float | None


@dataclass(frozen=True, slots=True)
class PressureActivity:
    """Pressure between two readings, over the measured interval.

    Attributes:
        throttled_cores: CPU seconds per second for which the cgroup's quota made tasks wait.

    """

    monotonic_s: float
    interval_s: float
    machine: dict[Resource, Stalled]
    group: dict[Resource, Stalled]
    throttled_cores: float | None
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IoLimit:
    """A cgroup's limits on one device; None means no limit."""

    read_bytes_per_s: int | None = None
    write_bytes_per_s: int | None = None
    reads_per_s: int | None = None
    writes_per_s: int | None = None


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """The limits of the process's cgroups, the lowest of its own and its ancestors'; None means no limit.

    Attributes:
        cpu_cores: CPU seconds per second.
        memory_bytes: above it the kernel kills the process.
        memory_high_bytes: above it the kernel throttles the process and reclaims memory (cgroup v2's memory.high).
        io: by the device's `major:minor`; only whole disks and mapped volumes can be limited.
        missing: what could not be read, a sentence each.

    """

    cpu_cores: float | None
    memory_bytes: int | None
    memory_high_bytes: int | None
    io: dict[str, IoLimit]
    missing: tuple[str, ...]

    @property
    def has_none(self) -> bool:
        """Whether there is no limit, as far as could be read."""
        return self.cpu_cores is self.memory_bytes is self.memory_high_bytes is None and not self.io
