"""Which block devices hold a path: from its mount down to the disks.

Sources: /proc/PID/mountinfo and the path's own st_dev name the file system's device; sysfs shows what it consists of: a
partition's directory is inside its disk's, dm and md list their members in `slaves`, a loop device names its file in
`loop/backing_file`, btrfs lists its devices in /sys/fs/btrfs, and the paths of NVMe multipath are separate disks
(`nvme0c1n1` below `nvme0n1`). The WAL can be elsewhere (wal_dir), so call this once for each path.
"""

import os
import re
from pathlib import Path

from adocd.model.device import BlockDevice, DeviceKind, Storage
from adocd.model.missing import Missing
from adocd.probes.files import read_text, text_or
from adocd.probes.mounts import Mount, holder, read_mounts, without_links

_IN_MEMORY = {"tmpfs", "ramfs", "devtmpfs"}
_ELSEWHERE = {"nfs", "nfs4", "cifs", "smb3", "ceph", "afs", "lustre", "9p", "virtiofs", "beegfs", "gpfs"}
#: A mapped volume on a RAID on a partition is 4 levels deep; anything deeper than this is a cycle.
_DEEPEST = 12
_DM = re.compile(r"dm-[0-9]+", re.ASCII)
_NVME_HEAD = re.compile(r"nvme([0-9]+)(n[0-9]+)", re.ASCII)
#: The beginning of dm/uuid names what made the volume (lvm2, cryptsetup, multipath-tools, kpartx).
_MAPPED = (
    (re.compile(r"LVM-"), DeviceKind.LVM),
    (re.compile(r"CRYPT-"), DeviceKind.CRYPT),
    (re.compile(r"mpath-"), DeviceKind.MULTIPATH),
    (re.compile(r"part[0-9]+-"), DeviceKind.PARTITION),
)


def storage_of(path: Path, root: Path = Path("/"), pid: int | None = None) -> Storage:
    """Find the devices that hold `path`, an absolute path as the process `pid` (this one, if None) sees it.

    The path need not exist. `root` is the root of a file system with `proc` and `sys`. Never raises: `missing` has one
    sentence for each thing that cannot be resolved. Devices come and go: call again if one is not in /proc/diskstats.
    """
    tracer = _Tracer(root)
    found = tracer.hold(path, pid, 0)
    return Storage(found.path, found.filesystem, found.source, found.devices, tuple(dict.fromkeys(tracer.missing)))


class _Tracer:
    """Goes from a path to its disks, and notes what it could not resolve."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sys = root / "sys"
        self.missing: list[str] = []

    def hold(self, path: Path, pid: int | None, depth: int) -> Storage:
        base = self._root if pid is None else self._root / f"proc/{pid}/root"
        real = without_links(path, base)
        mounts = read_mounts(self._root / "proc", pid)
        if isinstance(mounts, Missing):
            self.missing.append(f"what is mounted cannot be read ({mounts.why})")
            mounts = []
        mount = holder(real, mounts)
        number = self._st_dev(base, real) or (mount.number if mount is not None else "")
        devices = self._devices(real, mount, number, depth)
        if mount is None:
            if not devices:
                self.missing.append(f"{path} is on no mount that can be seen")
            return Storage(str(real), "", "", devices, ())
        return Storage(str(real), mount.filesystem, mount.source, devices, ())

    def _st_dev(self, base: Path, path: Path) -> str | None:
        """Ask the kernel for the device of the path itself; None if it is not a block device, as with btrfs or overlay.

        Not used with a tree copied from another machine: its files are on this machine's disk.
        """
        if self._root != Path("/"):
            return None
        try:
            device = os.stat(base / str(path).lstrip("/")).st_dev
        except (OSError, ValueError):
            return None
        return f"{os.major(device)}:{os.minor(device)}" if os.major(device) else None

    def _devices(self, path: Path, mount: Mount | None, number: str, depth: int) -> tuple[BlockDevice, ...]:
        if depth >= _DEEPEST:
            self.missing.append(f"{path} is on devices that lead back to themselves")
            return ()
        node = self._node(number)
        if node is not None:
            return (self._device(node, depth),)
        if number and not number.startswith("0:"):
            return self._by_number(path, number)
        return () if mount is None else self._without_number(path, mount, depth)

    def _without_number(self, path: Path, mount: Mount, depth: int) -> tuple[BlockDevice, ...]:
        """Find what is below a file system whose number (major 0) is not that of a device."""
        if mount.filesystem == "overlay":
            return self._overlay(path, mount, depth)
        if mount.filesystem == "btrfs" and (members := self._btrfs(mount, depth)):
            return members
        if mount.source.startswith("/dev/") and (node := self._named(mount.source)) is not None:
            return (self._device(node, depth),)
        self.missing.append(_why_none(path, mount))
        return ()

    def _node(self, number: str) -> Path | None:
        if not re.fullmatch(r"[0-9]+:[0-9]+", number, re.ASCII):
            return None
        return _existing(self._sys / "dev/block" / number)

    def _named(self, source: str) -> Path | None:
        """Find a device by its path; follows links such as /dev/mapper/x.

        Where /dev has no such link, as in a container or under PrivateDevices= of systemd, a mapped volume is known by
        the name that device-mapper has for it.
        """
        name = without_links(Path(source), self._root).name
        volumes = self._sys / "class/block"
        if node := _existing(volumes / name):
            return node
        mapped = (each for each in _entries(volumes, _DM) if text_or(each / "dm/name") == name)
        return next((node for each in mapped if (node := _existing(each))), None)

    def _by_number(self, path: Path, number: str) -> tuple[BlockDevice, ...]:
        """Name a device that sysfs does not show; /proc/diskstats has device numbers too."""
        for line in text_or(self._root / "proc/diskstats").split("\n"):
            fields = line.split()
            if len(fields) > 2 and f"{fields[0]}:{fields[1]}" == number:
                self.missing.append(f"what {fields[2]}, which holds {path}, is made of cannot be read in /sys")
                return (BlockDevice(fields[2], number, DeviceKind.UNKNOWN),)
        self.missing.append(f"{path} is on device {number}, which neither /sys nor /proc/diskstats knows")
        return ()

    def _device(self, node: Path, depth: int) -> BlockDevice:
        name, number = node.name, text_or(node / "dev")
        if depth >= _DEEPEST:
            self.missing.append(f"{name} is made of devices that lead back to themselves")
            return BlockDevice(name, number, DeviceKind.UNKNOWN)
        if os.path.exists(node / "partition"):
            return BlockDevice(name, number, DeviceKind.PARTITION, (self._device(node.parent, depth + 1),))
        if os.path.isdir(node / "loop"):
            return self._loop(node, number, depth)
        below = tuple(self._device(slave, depth + 1) for slave in self._slaves(node))
        kind, detail = _mapped(node)
        if kind is not None:
            if not below:
                self.missing.append(f"what {name} ({detail}) is made of cannot be read in /sys")
            return BlockDevice(name, number, kind, below, detail)
        if head := _NVME_HEAD.fullmatch(name):
            # In older kernels the head of NVMe multipath stays at zero in /proc/diskstats, so take its paths.
            paths = _entries(self._sys / "block", re.compile(f"nvme{head[1]}c[0-9]+{head[2]}", re.ASCII))
            below = tuple(BlockDevice(path.name, text_or(path / "dev"), DeviceKind.PATH) for path in paths)
            return BlockDevice(name, number, DeviceKind.MULTIPATH if below else DeviceKind.DISK, below)
        return BlockDevice(name, number, DeviceKind.DISK, below)

    def _slaves(self, node: Path) -> list[Path]:
        found = []
        for link in _entries(node / "slaves", re.compile(r".+")):
            slave = _existing(link) or _existing(self._sys / "class/block" / link.name)
            if slave is None:
                self.missing.append(f"{link.name}, a part of {node.name}, is not in /sys")
            else:
                found.append(slave)
        return found

    def _loop(self, node: Path, number: str, depth: int) -> BlockDevice:
        backing = read_text(node / "loop/backing_file")
        if isinstance(backing, Missing) or not backing.startswith("/"):
            self.missing.append(f"the file behind {node.name} cannot be read in /sys")
            return BlockDevice(node.name, number, DeviceKind.LOOP)
        file = backing.removesuffix("\n").removesuffix(" (deleted)")
        below = self.hold(Path(file), None, depth + 1).devices
        return BlockDevice(node.name, number, DeviceKind.LOOP, below, f"loop, {file}")

    def _btrfs(self, mount: Mount, depth: int) -> tuple[BlockDevice, ...]:
        """Find all devices of a btrfs; the mount names only one of them."""
        source = self._named(mount.source)
        for filesystem in _entries(self._sys / "fs/btrfs", re.compile(r"[0-9a-f-]{36}")):
            links = _entries(filesystem / "devices", re.compile(r".+"))
            nodes = [_existing(self._sys / "class/block" / link.name) for link in links]
            if source is not None and source in nodes:
                return tuple(self._device(node, depth) for node in nodes if node is not None)
        return ()

    def _overlay(self, path: Path, mount: Mount, depth: int) -> tuple[BlockDevice, ...]:
        """Continue in the overlay's upper directory, which is on the host and invisible in a container."""
        upper = mount.option("upperdir")
        if upper is None:
            self.missing.append(f"{path} is on an overlay that cannot be written to: nothing says which disk holds it")
        elif not upper.startswith("/") or not os.path.isdir(self._root / upper.lstrip("/")):
            self.missing.append(
                f"{path} is on a container's overlay, whose disk cannot be seen from here: run adocd on the host, or "
                "keep the database on a volume"
            )
        else:
            return self.hold(Path(upper), None, depth + 1).devices
        return ()


def _mapped(node: Path) -> tuple[DeviceKind | None, str]:
    """Return the kind of RAID or mapped volume, with its level or name; None for any other device."""
    if os.path.isdir(node / "md"):
        return DeviceKind.MD, text_or(node / "md/level", "md RAID")
    if os.path.isdir(node / "dm"):
        uuid = text_or(node / "dm/uuid")
        kind = next((kind for prefix, kind in _MAPPED if prefix.match(uuid)), DeviceKind.DEVICE_MAPPER)
        return kind, f"{kind} {text_or(node / 'dm/name')}".rstrip()
    return None, ""


def _why_none(path: Path, mount: Mount) -> str:
    kind = mount.filesystem
    if kind in _IN_MEMORY:
        return f"{path} is in memory ({kind}): no device holds it"
    if kind in _ELSEWHERE:
        return f"{path} is on another machine ({kind}, {mount.source}), whose device cannot be seen from here"
    if kind == "zfs":
        return f"{path} is on a ZFS pool ({mount.source}), which does not say in /sys which disks it uses"
    if kind.startswith("fuse"):
        return f"{path} is on {kind} ({mount.source}): a program decides where it is kept"
    return f"{path} is on {kind} ({mount.source}), which names no block device"


def _existing(path: Path) -> Path | None:
    """Follow a link in sysfs; None unless it ends at a device. os.path answers where pathlib raises (no permission)."""
    try:
        node = Path(os.path.realpath(path))
    except ValueError:  # a zero byte in a name read from another file
        return None
    return node if os.path.isfile(node / "dev") else None


def _entries(directory: Path, pattern: re.Pattern[str]) -> list[Path]:
    try:
        return sorted(directory / name for name in os.listdir(directory) if pattern.fullmatch(name))
    except (OSError, ValueError):
        return []
