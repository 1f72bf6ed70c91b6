"""A file system that is full: a small tmpfs in the mount namespace of the host program, gone when that ends."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

SIZE_MIB = 64
_MOUNT = f'mount -t tmpfs -o size={SIZE_MIB}m tmpfs "$0"'


def can_mount(directory: Path) -> bool:
    """Tell whether this process may: root may, where no container forbids it."""
    tried = subprocess.run(["unshare", "--mount", "sh", "-c", _MOUNT, directory], capture_output=True, check=False)
    return tried.returncode == 0


def on_small_disk(directory: Path) -> list[str | Path]:
    """Return what to put before a program's command, for it alone to find a small file system at `directory`."""
    return ["unshare", "--mount", "sh", "-c", f'{_MOUNT} && exec "$@"', directory]


def seen_by(pid: int, path: Path) -> Path:
    """Return the way to a file of that program's file system."""
    return Path(f"/proc/{pid}/root{path}")


def fill(directory: Path) -> None:
    """Fill the file system to its last page."""
    with (directory / "ballast").open("wb", buffering=0) as ballast:
        for portion in (1 << 20, 1 << 12):
            try:
                while ballast.write(bytes(portion)):
                    pass
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise


def make_room(directory: Path) -> None:
    """Take the ballast out again."""
    (directory / "ballast").unlink()


class NoOptionsFile:
    """Where nothing can be mounted: the names that the next OPTIONS files would have are taken, by directories."""

    def __init__(self, database: Path) -> None:
        self._names = [database / f"OPTIONS-{number:06}.dbtmp" for number in range(1, 100)]

    def block(self) -> None:
        """Let RocksDB fail to create them."""
        for name in self._names:
            name.mkdir()

    def unblock(self) -> None:
        """Let it create them again."""
        for name in self._names:
            name.rmdir()
