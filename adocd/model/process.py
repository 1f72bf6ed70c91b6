"""A database's process: CPU, memory, I/O, threads, and what its cgroup allows it and makes it wait for."""

from dataclasses import dataclass
from typing import Literal

Resource = Literal["cpu", "io", "memory"]
#: Resources whose pressure the kernel measures, in the order in which they are shown.
RESOURCES: tuple[Resource, ...] = ("cpu", "io", "memory")


@dataclass(frozen=True, slots=True)
class ThreadCounters:
    """One thread at one moment.

    Attributes:
        name: as its program set it, at most 15 bytes, such as `rocksdb:low`.
        state: R runs or could run, S sleeps, D waits for a disk (or another thing that a signal cannot interrupt).
        start_ticks: when it began, in clock ticks since boot; tells two threads with one id apart.
        cpu_ticks: user and system time, in clock ticks.
        voluntary_switches: how often it gave the CPU away to wait; None where that cannot be read.
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

    Written bytes count when a page of the cache becomes dirty, not when it reaches the disk; `cancelled_bytes` were
    dirty and then deleted or cut off before they were written.
    """

    read_bytes: int
    written_bytes: int
    cancelled_bytes: int


@dataclass(frozen=True, slots=True)
class ProcessReading:
    """A process at one time of the caller's monotonic clock.

    Attributes:
        start_ticks: when it began, in clock ticks since boot: another value is another process with the same pid.
        user_ticks: CPU time in the program, of all threads, those that ended included, in clock ticks.
        system_ticks: the same in the kernel.
        rss_bytes: memory in RAM; None where the process has none left (a zombie) or it cannot be read.
        anon_bytes: the part of it that is no file's, which is where memtables and the block cache are.
        swap_bytes: memory that is in swap.
        io: None where it may not be read.
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
    """The threads of one of RocksDB's pools, or all others.

    Attributes:
        threads: how many there are.
        running: how many run or could run at the moment of the later reading.
        waiting_for_disk: how many are in an uninterruptible wait (state D) at that moment; a wait for the device, for
            a full writeback queue or a throttled cgroup alike.
        cpu_cores: CPU seconds that they used in each second of the interval, by threads that were there at both ends.

    """

    threads: int
    running: int
    waiting_for_disk: int
    cpu_cores: float


@dataclass(frozen=True, slots=True)
class ProcessActivity:
    """What a process did between two readings.

    Attributes:
        user_cores: CPU seconds used in the program in each second of the interval: 1.5 is one and a half cores.
        system_cores: the same in the kernel.
        written_bytes_per_s: bytes that became dirty; see `ProcessIo`.
        pools: RocksDB's thread pools by name (`low`, `high`, `bottom`, `user`), those that have threads.
        others: all other threads.
        voluntary_switches_per_s: of the threads that were there at both ends; None where they cannot be read.

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
    """How long tasks were stalled for want of one resource (PSI), cumulative and as the kernel's own mean.

    Attributes:
        some_us: microseconds in which at least one task was stalled.
        some_10s_fraction: its share of the last 10 s, 0 to 1.
        full_us: microseconds in which all tasks that were not idle were; None where the kernel does not say (CPU
            before Linux 5.13; of the machine as a whole it is always 0 since).
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
        machine: of all tasks, by resource; a resource that cannot be read is not in it.
        group: of those in the process's cgroup (v2).
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
    """Shares of an interval, 0 to 1, in which some, and in which all, tasks were stalled for want of a resource."""

    some_fraction: float
    full_fraction: float | None


@dataclass(frozen=True, slots=True)
class PressureActivity:
    """Pressure between two readings, over the measured interval.

    Attributes:
        throttled_cores: CPU seconds in each second for which the cgroup's quota made tasks wait.

    """

    monotonic_s: float
    interval_s: float
    machine: dict[Resource, Stalled]
    group: dict[Resource, Stalled]
    throttled_cores: float | None
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IoLimit:
    """What a cgroup allows on one device; None is no limit."""

    read_bytes_per_s: int | None = None
    write_bytes_per_s: int | None = None
    reads_per_s: int | None = None
    writes_per_s: int | None = None


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """What the process's cgroups allow it, the narrowest of its own and those above; None is no limit.

    Attributes:
        cpu_cores: CPU seconds in each second.
        memory_bytes: beyond it the kernel kills.
        memory_high_bytes: beyond it the kernel slows the process down and reclaims (cgroup v2's memory.high).
        io: by the device's `major:minor`; only whole disks and mapped volumes can be limited.
        missing: what could not be read, a sentence each.

    """

    cpu_cores: float | None
    memory_bytes: int | None
    memory_high_bytes: int | None
    io: dict[str, IoLimit]
    missing: tuple[str, ...]
