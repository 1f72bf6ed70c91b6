"""A disk of its own for a run: a loop device over a preallocated file, with direct I/O beneath, and ext4 on it.

Nobody else writes to it, so its cap can be for all writers, the kernel's writeback threads included, and what it counts
in /proc/diskstats is what the run wrote. Direct I/O beneath keeps its writes out of the page cache of the disk below.

The file is `disk.img` in a workspace, the directory `disk` beside it is where the file system is mounted. Everything is
found again by the file's path: no name of a device has to be kept, whenever a run ends or is killed.
"""

import contextlib
import errno
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from adocd.model.missing import Missing
from adocd.probes.files import text_or
from adocd.probes.mounts import read_mounts
from adocd_bench.errors import CapUnavailable, NotEnoughSpace
from adocd_bench.host.device import MB, Roots, WholeDisk, written_bytes_of
from adocd_bench.host.owner import locked
from adocd_bench.host.unbroken import unbroken

IMAGE, MOUNT_POINT = "disk.img", "disk"
#: The files of cgroup v1's top group in which a device's caps are.
V1_LIMITS = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")
_DEVICES = Path("/dev")
_CONTROL = _DEVICES / "loop-control"
#: Where the system administrator's programs are, for a root whose PATH lacks them.
_SBIN = f"{os.defpath}:/usr/local/sbin:/usr/sbin:/sbin"
_WAY_OUT = "use --profile uncapped"
_BUSY_FOR_S, _DETACHED_WITHIN_S, _POLL_S = 10.0, 2.0, 0.05
#: Nothing of the file system is initialised later, in the background of a run. Databases have few files.
_FORMAT = ["-q", "-m", "0", "-N", "16384", "-J", "size=64", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"]


@dataclass(frozen=True, slots=True)
class LoopDisk:
    """A loop device, the directory where its file system is mounted, and what had been written to it before."""

    device: WholeDisk
    directory: Path
    begun_bytes: int = 0


@contextlib.contextmanager
def loop_disk(workspace: Path, size_bytes: int, roots: Roots) -> Iterator[LoopDisk]:
    """Make one in `workspace`, a directory that this process owns, and take it down afterwards.

    Raises CapUnavailable, with one sentence, if it cannot be made, and NotEnoughSpace if it has no room.
    """
    if not _CONTROL.exists():
        raise CapUnavailable(
            "there are no loop devices here (/dev/loop-control is missing), as in most containers: load the kernel's "
            f"module loop, run on the host, or {_WAY_OUT}"
        )
    if not os.access(_CONTROL, os.R_OK | os.W_OK):
        raise CapUnavailable(f"capping the device needs root ({_CONTROL}): run as root, or {_WAY_OUT}")
    # The kernel names the file by its path without links.
    image, point = workspace.resolve() / IMAGE, workspace.resolve() / MOUNT_POINT
    try:
        _preallocate(image, size_bytes)
        with locked(_CONTROL):  # a number that is free has no caps left
            _run("losetup", "--find", "--direct-io=on", str(image))
            (device,) = attached(image, roots)
        begun_bytes = written_bytes_of(device.name) or 0
        if text_or(roots.sysfs / "block" / device.name / "loop/dio").strip() != "1":
            raise CapUnavailable(
                f"the file system of {workspace} has no direct I/O for a loop device: choose another --directory, or "
                f"{_WAY_OUT}"
            )
        _run("mkfs.ext4", *_FORMAT, f"/dev/{device.name}")
        point.mkdir()
        _run("mount", "-t", "ext4", "-o", "nosuid,nodev", f"/dev/{device.name}", str(point))
        yield LoopDisk(device, point, begun_bytes)
    finally:
        with unbroken():
            _leave(image, roots)


def attached(image: Path, roots: Roots) -> list[WholeDisk]:
    """Find the loop devices over this file."""
    found = []
    for entry in sorted((roots.sysfs / "block").glob("loop*/loop/backing_file")):
        if text_or(entry).rstrip("\n") == str(image):
            device = entry.parent.parent
            found.append(WholeDisk(device.name, text_or(device / "dev").strip()))
    return found


def images(roots: Roots) -> list[Path]:
    """List the files named `disk.img` that loop devices are over, whoever's they are."""
    files = (text_or(entry).rstrip("\n") for entry in (roots.sysfs / "block").glob("loop*/loop/backing_file"))
    return sorted({Path(file) for file in files if file.endswith(f"/{IMAGE}")})


def take_down(image: Path, roots: Roots) -> bool:
    """Unmount and detach what is over this file, and remove it; False while a program still has files open there.

    Touches nothing but the devices over this file, and of their mounts only the one beside it. A device that somebody
    still uses keeps its caps.
    """
    point = image.parent / MOUNT_POINT
    for device in attached(image, roots):
        if point in _mounted(device, roots) and not _done("umount", str(point)):
            return False
        if _mounted(device, roots):
            return False
        if not _detached(device, image, roots):
            return False
    image.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        point.rmdir()
    return True


def _leave(image: Path, roots: Roots) -> None:
    """Take it down; of a program that keeps it busy, the kernel removes it when that program ends."""
    deadline_s = time.monotonic() + _BUSY_FOR_S
    while not take_down(image, roots):
        if time.monotonic() > deadline_s:
            _done("umount", "--lazy", str(image.parent / MOUNT_POINT))
            if not take_down(image, roots):
                _abandon(image, roots)
            return
        time.sleep(_POLL_S)


def _abandon(image: Path, roots: Roots) -> None:
    """Leave a busy device to the kernel, uncapped: without its file nobody finds it again to remove the caps."""
    for device in attached(image, roots):
        _uncap(device, roots)
        _done("losetup", "--detach", f"/dev/{device.name}")
    image.unlink(missing_ok=True)


def _detached(device: WholeDisk, image: Path, roots: Roots) -> bool:
    """Detach it and then remove its caps, before its number is somebody else's; False while somebody has it open.

    It may be mounted in another mount namespace, where we do not see it; detaching it would leave it to the kernel.
    """
    with locked(_CONTROL):
        if _is_in_use(device):
            return False
        _done("losetup", "--detach", f"/dev/{device.name}")
        deadline_s = time.monotonic() + _DETACHED_WITHIN_S
        while device in attached(image, roots):  # whoever has just looked at it keeps it for a moment
            if time.monotonic() > deadline_s:
                return False
            time.sleep(_POLL_S)
        _uncap(device, roots)
    return True


def _is_in_use(device: WholeDisk) -> bool:
    """Say whether it is mounted anywhere, or opened for its opener alone: the kernel lets nobody else do that."""
    try:
        os.close(os.open(_DEVICES / device.name, os.O_RDONLY | os.O_EXCL | os.O_CLOEXEC))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False


def _uncap(device: WholeDisk, roots: Roots) -> None:
    """Remove the caps of the top group on cgroup v1: the device's number will be somebody else's."""
    for name in V1_LIMITS:
        file = roots.cgroup / "blkio" / name
        if file.exists():
            file.write_text(f"{device.number} 0")


def _mounted(device: WholeDisk, roots: Roots) -> list[Path]:
    mounts = read_mounts(roots.proc)
    return [] if isinstance(mounts, Missing) else [mount.point for mount in mounts if mount.number == device.number]


def _preallocate(image: Path, size_bytes: int) -> None:
    free_bytes = shutil.disk_usage(image.parent).free
    if free_bytes < size_bytes:
        raise NotEnoughSpace(
            f"{image.parent.parent} has {free_bytes / (1000 * MB):.1f} GB free and the capped device needs "
            f"{size_bytes / (1000 * MB):.1f} GB: shorten the run with --seconds, or choose another place with "
            "--directory"
        )
    _run("fallocate", "--length", str(size_bytes), str(image))


def _run(program: str, *arguments: str) -> None:
    """Run a system program; raises CapUnavailable with what to install, or with its own last line."""
    found = shutil.which(program) or shutil.which(program, path=_SBIN)
    if found is None:
        package = "e2fsprogs" if program == "mkfs.ext4" else "util-linux"
        raise CapUnavailable(
            f"{program}, which the capped device needs, is not installed: install {package}, or {_WAY_OUT}"
        )
    # A session of its own: Ctrl-C is for us, and we decide what is taken down.
    done = subprocess.run([found, *arguments], capture_output=True, text=True, check=False, start_new_session=True)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        raise CapUnavailable(f"the capped device cannot be made ({lines[0].strip().rstrip('.')}): {_WAY_OUT}")


def _done(program: str, *arguments: str) -> bool:
    """Run a system program; say whether it succeeded."""
    try:
        _run(program, *arguments)
    except CapUnavailable:
        return False
    return True
