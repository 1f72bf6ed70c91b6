"""The free space of the file system that holds a database's files (statvfs(3))."""

import os
from pathlib import Path


def free_bytes(path: Path, root: Path, pid: int | None) -> int | None:
    """Return the bytes that an ordinary user may still write where `path` is; None if that cannot be read.

    `path` is as the process `pid` sees it; without a pid it is below `root`.
    """
    seen = root / "proc" / str(pid) / "root" if pid is not None else root
    try:
        found = os.statvfs(seen / path.relative_to("/"))
    except (OSError, ValueError):
        return None
    return found.f_bavail * found.f_frsize
