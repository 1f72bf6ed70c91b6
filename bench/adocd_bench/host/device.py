"""Device profiles, and the block device that holds a directory.

A profile makes a fast disk behave like a slower one by capping its bandwidth: `cap-210` is 210 MB/s. MB is
10^6 bytes here, as disk makers and the ADOC paper count. The paper's devices (adoc-fast23, section 3.1,
table 1) are `cap-210` (SATA HDD) and `cap-490` (SATA SSD); `uncapped` is the disk as it is. `cap-210-wal-outside` caps
what the program does by direct I/O alone: its buffered writes, the write-ahead log's, are outside the cap
(`adocd_bench.host.cap`).

Reads are capped like writes, each at the profile's figure. The table gives one sequential bandwidth for a
device, and compaction reads everything it writes again: with writes alone capped, a merge would read at the
speed of the machine's real disk, which is not a property of the profile. A real disk shares its bandwidth between
both directions; the kernel's throttle has no cap on the sum, so a profile is still kinder than the device it
is named after, and it imitates bandwidth alone, not seeks or latency. The two figures are separate fields, so a
profile with other proportions is one value away. With the demo's workload it changes little: it reads 106 MB/s
on average at cap-210, and four runs of 60 s with and four without the cap on reads made 65 to 72 and 63 to 70
thousand writes/s (two cores, `fixed`).
"""

import os
import re
import time
from dataclasses import dataclass
from pathlib import Path

from adocd.model.missing import Missing
from adocd.probes.diskstats import SECTOR_BYTES, read_devices
from adocd.probes.mounts import Mount, read_mounts
from adocd_bench.errors import BadArgument, CapUnavailable

MB = 1_000_000
DEFAULT_PROFILE = "cap-210"
#: The end of the name of a profile whose cap is for direct I/O alone.
WAL_OUTSIDE = "-wal-outside"
_MAX_CAP_MB_PER_S = 1_000_000

_IN_MEMORY = {"tmpfs", "ramfs", "devtmpfs"}
_WAY_OUT = "choose a directory on a disk with --directory, or use --profile uncapped"


@dataclass(frozen=True)
class DeviceProfile:
    """How fast the device may be.

    Attributes:
        name: what the user types, such as `cap-210`.
        write_bytes_per_s: the cap on writes in bytes per second, None for none.
        read_bytes_per_s: the same for reads.
        wal_outside: whether buffered writes are outside the cap.

    """

    name: str
    write_bytes_per_s: int | None = None
    read_bytes_per_s: int | None = None
    wal_outside: bool = False

    @property
    def capped(self) -> bool:
        """Whether there is anything to cap."""
        return self.write_bytes_per_s is not None or self.read_bytes_per_s is not None

    @property
    def speed(self) -> str:
        """The name without what is outside the cap, such as `cap-210`: two profiles with the same one are as fast."""
        return self.name.removesuffix(WAL_OUTSIDE)


UNCAPPED = DeviceProfile("uncapped")
#: The ADOC paper's SATA HDD and SATA SSD, by their bandwidth; seeks are left out.
SATA_HDD, SATA_SSD = "cap-210", "cap-490"
#: A scaled cap stands for a device if it is within this share of the device's bandwidth.
_STANDS_FOR = 0.03


def parse_profile(name: str) -> DeviceProfile:
    """Make the profile that a name such as `cap-210` (MB/s), `cap-210-wal-outside` or `uncapped` means.

    Raises BadArgument for any other name.
    """
    if name == UNCAPPED.name:
        return UNCAPPED
    match = re.fullmatch(rf"cap-([1-9][0-9]{{0,6}})({WAL_OUTSIDE})?", name)
    if match is None or int(match[1]) > _MAX_CAP_MB_PER_S:
        raise BadArgument(
            f"there is no device profile {name!r}: use cap-N with N in MB/s, such as cap-210, cap-N{WAL_OUTSIDE}, or "
            "uncapped"
        )
    bytes_per_s = int(match[1]) * MB
    return DeviceProfile(name, bytes_per_s, bytes_per_s, wal_outside=match[2] is not None)


def stands_for(profile: DeviceProfile, scale: int) -> str:
    """Name the profile that this one is a scaled copy of (`cap-13` at a scale of 16: `cap-210`); else its own speed."""
    if profile.write_bytes_per_s is not None:
        for device in (SATA_HDD, SATA_SSD):
            whole = parse_profile(device).write_bytes_per_s or 0
            if abs(profile.write_bytes_per_s * scale / whole - 1) <= _STANDS_FOR:
                return device
    return profile.speed


@dataclass(frozen=True)
class Roots:
    """Roots of /proc, /sys and cgroup; tests use committed trees instead."""

    proc: Path = Path("/proc")
    sysfs: Path = Path("/sys")
    cgroup: Path = Path("/sys/fs/cgroup")


REAL_ROOTS = Roots()


@dataclass(frozen=True)
class WholeDisk:
    """A whole disk (or device-mapper or loop device): its kernel name and `major:minor`."""

    name: str
    number: str


def block_device_of(directory: Path, roots: Roots = REAL_ROOTS) -> WholeDisk:
    """Find the device whose bandwidth a file in `directory` uses; the directory need not exist yet.

    A partition is resolved to its disk, because the kernel throttles whole disks only. A device-mapper volume
    (LVM, LUKS) is throttled as the volume it is: that is where the program's own requests are counted, and it
    may span several disks.

    Raises CapUnavailable when no block device lies below: in memory, overlay, network, several devices.
    """
    mount = _mount_of(directory, roots)
    if mount.filesystem in _IN_MEMORY:
        raise CapUnavailable(f"{directory} is in memory ({mount.filesystem}), there is no device to cap: {_WAY_OUT}")
    if mount.filesystem == "overlay":
        raise CapUnavailable(
            f"{directory} is on a container's overlay, which hides its disk: choose a directory on a mounted "
            "volume with --directory, or use --profile uncapped"
        )
    node = _node_of(mount, roots)
    if node is None:
        raise CapUnavailable(
            f"{directory} is on {mount.filesystem} ({mount.source}), which is no single local disk: {_WAY_OUT}"
        )
    disk = node.parent if (node / "partition").exists() else node
    return WholeDisk(disk.name, (disk / "dev").read_text().strip())


def written_bytes_of(name: str) -> int | None:
    """Read what was ever written to a device, by its kernel name; None if the kernel does not count it."""
    counters = read_devices((name,), time.monotonic()).devices.get(name)
    return None if counters is None else counters.writes.sectors * SECTOR_BYTES


def _node_of(mount: Mount, roots: Roots) -> Path | None:
    """Find the sysfs directory of the mount's device.

    btrfs shows a number with major 0 that no device has; there the source names the device, the first one of
    several. Everything else without a device has no node.
    """
    candidates = [roots.sysfs / "dev" / "block" / mount.number]
    if mount.source.startswith("/dev/"):
        candidates.append(roots.sysfs / "class" / "block" / Path(os.path.realpath(mount.source)).name)
    for candidate in candidates:
        node = candidate.resolve()
        if (node / "dev").is_file():
            return node
    return None


def _mount_of(directory: Path, roots: Roots) -> Mount:
    """Find the mount that holds the directory: the longest mount point above it, the latest if several."""
    path = Path(os.path.realpath(directory))
    mounts = read_mounts(roots.proc)
    holders = [] if isinstance(mounts, Missing) else [m for m in mounts if path.is_relative_to(m.point)]
    if not holders:
        raise CapUnavailable(f"{roots.proc}/self/mountinfo does not say what {directory} is on: {_WAY_OUT}")
    longest = max(len(mount.point.parts) for mount in holders)
    return [mount for mount in holders if len(mount.point.parts) == longest][-1]
