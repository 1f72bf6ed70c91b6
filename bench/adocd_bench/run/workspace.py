"""Chooses the directory for a run's database, on a real disk with enough room, and removes it afterwards."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from adocd_bench.errors import BadArgument, CapUnavailable, NotEnoughSpace
from adocd_bench.host import loop
from adocd_bench.host.device import REAL_ROOTS, DeviceProfile, Roots, block_device_of
from adocd_bench.host.owner import locked, own_token, taken_over
from adocd_bench.host.unbroken import unbroken

PREFIX = "adocd-demo-"
#: The file in a workspace that its process holds the lock of.
LOCK = "lock"
_GB = 1_000_000_000
# Upper bounds, so that a run never fills a disk. One thread of db_bench writes up to 0.16 GB/s for as long as nothing
# holds it up, and over several minutes at most half of that. The largest compaction needs room for all of it twice:
# where it had not, RocksDB cancelled it for want of headroom, again and again, and the drain never ended. The base is
# for the file system, and its scaled part for the WAL, memtables and what RocksDB keeps free. A device of the run's own
# takes no more than its cap.
_FIRST_GB_PER_S, _FIRST_S = 0.16, 100
_LATER_GB_PER_S = 0.08
_TIMES = 2.2
_BASE_GB, _SCALED_BASE_GB = 1.0, 3.0


def needed_bytes(seconds: int, profile: DeviceProfile, scale: int = 1, offered_bytes: int | None = None) -> int:
    """Estimate the disk space, in bytes, that a run of this length needs at most; sizes are divided by `scale`.

    `offered_bytes` is what clients write at most if it arrives by itself; None for a closed loop.
    """
    first_s = min(seconds, _FIRST_S) if profile.capped else seconds
    gb = _FIRST_GB_PER_S * first_s + _LATER_GB_PER_S * (seconds - first_s)
    if profile.write_bytes_per_s is not None and not profile.wal_outside:
        gb = min(gb, profile.write_bytes_per_s / _GB * seconds)
    if offered_bytes is not None:
        gb = min(gb, offered_bytes / _GB)
    return round((_BASE_GB + _SCALED_BASE_GB / scale + _TIMES * gb) * _GB)


def choose_parent(requested: Path | None, room_bytes: int, roots: Roots = REAL_ROOTS) -> Path:
    """Choose the directory in which to create the database's directory.

    Without a request, it is the first of /tmp, /var/tmp and the current directory that is on a disk and has enough
    room. If none of them is on a disk (in a container), it is the first that has enough room.

    Raises BadArgument for a directory that cannot be used, NotEnoughSpace for one that is too full.
    """
    if requested is not None:
        if not requested.is_dir() or not os.access(requested, os.W_OK | os.X_OK):
            raise BadArgument(f"{requested} is not a directory that can be written to: name another --directory")
        _check_room(requested, room_bytes)
        return requested.resolve()
    usable = [path for path in (Path("/tmp"), Path("/var/tmp"), Path.cwd()) if os.access(path, os.W_OK)]  # noqa: S108
    on_disk = [path for path in usable if _is_on_disk(path, roots)]
    candidates = on_disk or usable
    roomy = [path for path in candidates if shutil.disk_usage(path).free >= room_bytes]
    if roomy:
        return roomy[0]
    if not candidates:
        raise BadArgument("neither /tmp, /var/tmp nor the current directory can be written to: use --directory")
    _check_room(max(candidates, key=lambda path: shutil.disk_usage(path).free), room_bytes)
    raise AssertionError("unreachable: the roomiest candidate is too full")  # pragma: no cover


@contextlib.contextmanager
def workspace(parent: Path, roots: Roots = REAL_ROOTS) -> Iterator[Path]:
    """Make a directory for this process's databases, and remove it afterwards; remove those of dead runs first.

    Its lock is held as long as it is there: under its name, by which others find it, it is never without.
    """
    remove_leftovers(parent, roots)
    directory = parent / f"{PREFIX}{own_token(roots.proc)}"
    unfinished = parent / f".{directory.name}"
    unfinished.mkdir(mode=0o700)
    try:
        (unfinished / LOCK).touch()
        with locked(unfinished / LOCK):
            unfinished.rename(directory)
            try:
                yield directory
            finally:
                with unbroken():
                    shutil.rmtree(directory, ignore_errors=True)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


@contextlib.contextmanager
def run_directory() -> Iterator[Path]:
    """Make a private run directory. Its path is short, because a socket's path has at most 107 bytes."""
    directory = Path(tempfile.mkdtemp(prefix="adocd-", dir="/tmp"))
    try:
        yield directory
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def remove_leftovers(parent: Path, roots: Roots = REAL_ROOTS) -> None:
    """Remove the directories that runs of our user left behind when they were killed, with their loop devices.

    Those with a loop device are found wherever they are, others below `parent`. One whose program still runs stays.
    """
    below = (path.parent.resolve() / path.name for path in parent.glob(f"{PREFIX}*"))
    for directory in {*below, *(image.parent for image in loop.images(roots))}:
        mine = not directory.is_symlink() and directory.is_dir() and directory.stat().st_uid == os.geteuid()
        if not mine:
            continue
        with taken_over(directory.name, PREFIX, directory / LOCK, roots.proc) as is_ours:
            if is_ours and loop.take_down(directory / loop.IMAGE, roots):
                shutil.rmtree(directory, ignore_errors=True)


def _is_on_disk(path: Path, roots: Roots) -> bool:
    try:
        block_device_of(path, roots)
    except CapUnavailable:
        return False
    return True


def _check_room(directory: Path, room_bytes: int) -> None:
    free_bytes = shutil.disk_usage(directory).free
    if free_bytes < room_bytes:
        raise NotEnoughSpace(
            f"{directory} has {free_bytes / _GB:.1f} GB free and the run may need {room_bytes / _GB:.1f} GB: "
            "shorten it with --seconds, or choose another place with --directory"
        )
