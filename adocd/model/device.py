"""Block devices: which ones a path is kept on, what they did in an interval, and when one is at its limit."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class DeviceKind(StrEnum):
    """What a block device is, as far as it says what its counters mean."""

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
    """One device with those that it is made of.

    Attributes:
        name: the kernel's name, as in /sys/block and /proc/diskstats.
        number: `major:minor`; empty for a path of NVMe multipath, which has none.
        kind: what it is.
        below: a partition's disk, the members of a RAID or a mapped volume, the devices of a loop's file.
        detail: the RAID's level, or a loop's backing file.

    """

    name: str
    number: str
    kind: DeviceKind
    below: tuple["BlockDevice", ...] = ()
    detail: str = ""

    def walk(self) -> Iterator["BlockDevice"]:
        """Go through this device and all below it, from the top down."""
        yield self
        for device in self.below:
            yield from device.walk()

    def __str__(self) -> str:
        """Say it as an operator would: `dm-0 (dm-crypt) on sda3 (partition) on sda (disk)`."""
        own = f"{self.name} ({self.detail or self.kind})"
        return f"{own} on {' and '.join(str(device) for device in self.below)}" if self.below else own


@dataclass(frozen=True, slots=True)
class Storage:
    """What a path is kept on.

    Attributes:
        path: the path that was asked for, with its links followed.
        filesystem: its type, such as `ext4`; empty where no mount was found.
        source: what was mounted, as mountinfo names it.
        devices: the devices on which the file system lies; empty where none can be told, several with btrfs.
        missing: what could not be resolved, a sentence each.

    """

    path: str
    filesystem: str
    source: str
    devices: tuple[BlockDevice, ...]
    missing: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """All devices whose counters tell something, from the top down, each once."""
        return _once(device.name for top in self.devices for device in top.walk())

    @property
    def disks(self) -> tuple[str, ...]:
        """The devices at the bottom, each once: that is where a hardware or a cloud limit shows."""
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
        in_flight: requests that the device has at this moment (field 9).
        io_ms: milliseconds with at least one request (field 10).
        weighted_ms: milliseconds summed over requests (field 11).
        discards: None before Linux 4.18.
        flushes: cache flushes that ended, None before Linux 5.5; always 0 for a partition.
        flush_ms: milliseconds they took.

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
    """Counters of several devices at one time of the caller's monotonic clock, and which could not be read."""

    monotonic_s: float
    devices: dict[str, DiskCounters]
    missing: dict[str, str]


@dataclass(frozen=True, slots=True)
class IoActivity:
    """One kind of request over an interval.

    `s_per_operation` is the mean time from the request's start to its end, waiting in the queue included, of those
    that ended in the interval; None where none did. `bytes_per_operation` likewise.
    """

    operations_per_s: float
    merged_per_s: float
    bytes_per_s: float
    s_per_operation: float | None
    bytes_per_operation: float | None


@dataclass(frozen=True, slots=True)
class DiskActivity:
    """What one device did between two readings.

    Attributes:
        monotonic_s: when the interval ended, by the caller's clock.
        interval_s: how long it was, as measured.
        busy_fraction: share of the interval with at least one request, 0 to 1. With NVMe, RAID and cloud volumes,
            which serve many at once, 1 does not mean that there is no more to get; Linux 5.0 to 5.6 counts too little
            of requests that are longer than 2 jiffies.
        mean_queue: requests under way, waiting or served, on average. Since Linux 5.0 a request adds its whole time
            when it ends, so one that hangs shows in `in_flight` alone.
        in_flight: requests under way at the end of the interval.
        flushes_per_s: cache flushes; None where the kernel does not count them.
        s_per_flush: mean time of those that ended; None where none did.

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
        """Read and written bytes per second."""
        return self.reads.bytes_per_s + self.writes.bytes_per_s

    @property
    def operations_per_s(self) -> float:
        """Reads and writes per second, as the device got them: after merging."""
        return self.reads.operations_per_s + self.writes.operations_per_s


@dataclass(frozen=True, slots=True)
class DeviceLimit:
    """A device, or the quota of the cloud behind it, gives no more than this.

    Attributes:
        since_s: when the plateau began, by the caller's monotonic clock.
        bytes_per_s: read and written together, the plateau's mean.
        operations_per_s: reads and writes, the plateau's mean.
        by: which of the two is limited; `either` where requests were all about as large, so that nothing tells.
        mean_queue: the plateau's mean queue.
        sufficient_queue: the longest queue with which as much was done before: what is beyond it only waits.
        why: the same as a sentence.

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
