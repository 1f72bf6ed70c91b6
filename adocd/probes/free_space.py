"""The free space of the file system that holds a database's files (statvfs(3))."""

import os
from pathlib import Path

from adocd.model.missing import Missing
from adocd.probes.mounts import holder, read_mounts


def free_bytes(where: Path) -> int | None:
    """Return the bytes that an ordinary user may still write where `where` is; None if that cannot be read."""
    try:
        found = os.statvfs(where)
    except OSError:
        return None
    return found.f_bavail * found.f_frsize


def reachable(path: Path, root: Path, pid: int | None) -> Path | None:
    """Return a path that statvfs can be asked about, on the file system that holds `path`; None if there is none.

    `path` is as the process `pid` sees it; without a pid it is below `root`. A daemon may enter neither the root of
    another user's process (proc(5)) nor a directory that only that user may. Then any mount of the same file system
    that this process sees will do: device numbers are the same in every namespace. A project quota, which holds for
    one directory, is not seen there. Raises PermissionError if this process sees no such mount.
    """
    seen = root / "proc" / str(pid) / "root" if pid is not None else root
    try:
        where = seen / path.relative_to("/")
        os.statvfs(where)
    except PermissionError:
        pass
    except (OSError, ValueError):
        return None
    else:
        return where
    theirs, ours = read_mounts(root / "proc", pid), read_mounts(root / "proc")
    mount = None if isinstance(theirs, Missing) else holder(path, theirs)
    if mount is not None and not isinstance(ours, Missing):
        for each in ours:
            where = root / each.point.relative_to("/")
            if each.number == mount.number and free_bytes(where) is not None:
                return where
    raise PermissionError(f"the free space of {path} cannot be read")
