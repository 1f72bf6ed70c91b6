"""Block devices: which ones hold a path, their activity in an interval, and when one is at its limit."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class DeviceKind(StrEnum):
    """The kind of a block device, as far as it affects the meaning of its counters."""

    DISK = "disk"
    PARTITION = "partition"
    CRYPT = "dm-crypt"
    LVM = "LVM volume"
    MULTIPATH = "multipath"
    PATH = "path"
    DEVICE_MAPPER = "device mapper"
    MD = "md RAID"
    LOOP = "loop"
    UNKNOWN = "block device"


@dataclass(frozen=True, slots=True)
class BlockDevice:
    """One device, and the devices that it is made of.

    Attributes:
        name: the kernel's name, as in /sys/block and /proc/diskstats.
        number: `major:minor`; empty for a path of NVMe multipath, which has none.
        kind: its kind.
        below: a partition's disk, the members of a RAID or a mapped volume, the devices that hold a loop's file.
        detail: the RAID's level, or a loop's backing file.

    """

    name: str
    number: str
    kind: DeviceKind
    below: tuple["BlockDevice", ...] = ()
    detail: str = ""

    def walk(self) -> Iterator["BlockDevice"]:
        """Yield this device and all below it, from the top down."""
        yield self
        for device in self.below:
            yield from device.walk()

    def __str__(self) -> str:
        """Format it as an operator would: `dm-0 (dm-crypt) on sda3 (partition) on sda (disk)`."""
        own = f"{self.name} ({self.detail or self.kind})"
        return f"{own} on {' and '.join(str(device) for device in self.below)}" if self.below else own


@dataclass(frozen=True, slots=True)
class Storage:
    """The storage that holds a path.

    Attributes:
        path: the requested path, with its links resolved.
        filesystem: its type, such as `ext4`; empty if no mount was found.
        source: what was mounted, as mountinfo names it.
        devices: the devices that hold the file system; empty if unknown, several with btrfs.
        missing: what could not be resolved, one sentence each.

    """

    path: str
    filesystem: str
    source: str
    devices: tuple[BlockDevice, ...]
    missing: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All devices with meaningful counters, from the top down, each once."""
        return _once(device.name for top in self.devices for device in top.walk())

    @property
    def disks(self) -> tuple[str, ...]:
        """The devices at the bottom, each once; a hardware or cloud limit shows there."""
        return _once(device.name for top in self.devices for device in top.walk() if not device.below)


@dataclass(frozen=True, slots=True)
class IoCounters:
    """Cumulative counters of one kind of request: reads, writes or discards. A sector is 512 bytes on every disk."""

    operations: int
    merged: int
    sectors: int
    ms: int


@dataclass(frozen=True, slots=True)
class DiskCounters:
    """One line of /proc/diskstats.

    Attributes:
        number: `major:minor`.
        in_flight: requests in progress at this moment (field 9).
        io_ms: milliseconds with at least one request (field 10).
        weighted_ms: milliseconds summed over requests (field 11).
        discards: None before Linux 4.18.
        flushes: cache flushes that ended, None before Linux 5.5; always 0 for a partition.
        flush_ms: milliseconds that these flushes took.

    """

    number: str
    reads: IoCounters
    writes: IoCounters
    in_flight: int
    io_ms: int
    weighted_ms: int
    discards: IoCounters | None = None
    flushes: int | None = None
    flush_ms: int | None = None


@dataclass(frozen=True, slots=True)
class DiskReading:
    """Counters of several devices at one time of the caller's monotonic clock, and the unreadable devices."""

    monotonic_s: float
    devices: dict[str, DiskCounters]
    missing: dict[str, str]


@dataclass(frozen=True, slots=True)
class IoActivity:
    """One kind of request over an interval.

    `s_per_operation` is the mean time from start to end, including the wait in the queue, of the requests that ended
    in the interval; None if none did. `bytes_per_operation` likewise.
    """

    operations_per_s: float
    merged_per_s: float
    bytes_per_s: float
    s_per_operation: float | None
    bytes_per_operation: float | None


@dataclass(frozen=True, slots=True)
class DiskActivity:
    """One device's activity between two readings.

    Attributes:
        monotonic_s: when the interval ended, by the caller's clock.
        interval_s: its measured length.
        busy_fraction: share of the interval with at least one request, 0 to 1. NVMe, RAID and cloud volumes serve many
            requests at once, so 1 does not mean saturation; Linux 5.0 to 5.6 undercounts requests over 2 jiffies.
        mean_queue: mean number of requests in progress, waiting or served. Since Linux 5.0 a request adds its whole
            time when it ends, so one that hangs shows only in `in_flight`.
        in_flight: requests in progress at the end of the interval.
        flushes_per_s: cache flushes; None if the kernel does not count them.
        s_per_flush: mean time of the flushes that ended; None if none did.

    """

    device: str
    monotonic_s: float
    interval_s: float
    reads: IoActivity
    writes: IoActivity
    discards: IoActivity | None
    busy_fraction: float
    mean_queue: float
    in_flight: int
    flushes_per_s: float | None
    s_per_flush: float | None

    @property
    def bytes_per_s(self) -> float:
        """Bytes read and written per second."""
        return self.reads.bytes_per_s + self.writes.bytes_per_s

    @property
    def operations_per_s(self) -> float:
        """Reads and writes per second as the device receives them, that is after merging."""
        return self.reads.operations_per_s + self.writes.operations_per_s


@dataclass(frozen=True, slots=True)
class DeviceLimit:
    """The most that a device delivers, or the quota of a cloud behind it or of the process's cgroup in front of it.

    Attributes:
        since_s: when the plateau began, or the cgroup's quota was first used up, by the caller's monotonic clock.
        bytes_per_s: bytes read and written, the plateau's mean; for a cgroup's quota those of the last interval.
        operations_per_s: likewise, reads and writes.
        by: which of the two is limited; `either` if all requests were of similar size, so that it cannot be told.
        mean_queue: likewise, the mean queue.
        sufficient_queue: the longest queue that reached this throughput before; requests beyond it only wait. A
            cgroup's quota holds requests back before the device counts them: there it is `mean_queue`.
        why: the limit in one sentence.

    """

    device: str
    since_s: float
    bytes_per_s: float
    operations_per_s: float
    by: Literal["bytes", "operations", "either"]
    mean_queue: float
    sufficient_queue: float
    why: str


def _once(names: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
