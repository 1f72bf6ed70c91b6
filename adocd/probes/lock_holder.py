"""Who has a database open: the process that holds its LOCK file (proc_locks(5), proc_pid_fd(5)).

RocksDB locks the whole LOCK file by fcntl(2) while the database is open for writing, and keeps the file open
(env/fs_posix.cc, LockFile). This module never opens the file: in the process that holds the lock, closing it would
release the lock. The kernel hides locks of other PID namespaces, and file descriptors of other users.
"""

import os
import pwd
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from adocd.model.missing import Missing
from adocd.probes.files import read_text, text_or


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A process that has a database open."""

    pid: int
    #: Field 22 of /proc/PID/stat: tells it from a later process with the same pid.
    start_ticks: str
    program: str
    user: str
    #: The file descriptor that shows it, if the kernel's list of locks does not.
    descriptor: str | None = None


def lock_holder(lock: Path, proc: Path = Path("/proc"), *, search: bool = True) -> LockHolder | None:
    """Find the process that holds `lock`; None if no visible process does.

    `search` also looks through the open files of all processes, of which a large machine has many.
    """
    try:
        status = lock.stat()
    except OSError:
        return None
    if (pid := _by_locks(status, proc)) is not None:
        return _describe(pid, proc, None)
    found = _by_descriptors(status, proc) if search else None
    return None if found is None else _describe(found[0], proc, found[1])


def still_holds(holder: LockHolder, lock: Path, proc: Path = Path("/proc")) -> bool:
    """Whether that process still holds the file; looks at no other process."""
    try:
        status = lock.stat()
    except OSError:
        return False
    if _start_ticks(holder.pid, proc) != holder.start_ticks:
        return False
    if holder.descriptor is None:
        return _by_locks(status, proc) == holder.pid
    return _is_open_as(status, proc / str(holder.pid) / "fd" / holder.descriptor)


def open_files(holder: LockHolder, proc: Path = Path("/proc")) -> list[Path]:
    """Return the files that the process has open, as it names them; none if they are hidden from here."""
    found = []
    with suppress(OSError):  # it has ended, or belongs to another user
        for descriptor in (proc / str(holder.pid) / "fd").iterdir():
            with suppress(OSError):  # it was closed meanwhile
                found.append(Path(os.readlink(descriptor)))
    return found


def _by_locks(status: os.stat_result, proc: Path) -> int | None:
    """Look the file up in /proc/locks: `1: POSIX  ADVISORY  WRITE 9916 fe:00:9986063 0 EOF`."""
    text = read_text(proc / "locks")
    if isinstance(text, Missing):
        return None
    device = status.st_dev
    wanted = f"{os.major(device):02x}:{os.minor(device):02x}:{status.st_ino}"
    for line in text.splitlines():
        fields = line.split()
        # A waiter has an arrow after the number.
        if len(fields) == 8 and fields[1] == "POSIX" and fields[5] == wanted and fields[4].isdecimal():
            return int(fields[4]) or None
    return None


def _by_descriptors(status: os.stat_result, proc: Path) -> tuple[int, str] | None:
    """Find who has the file open, for file systems whose device has another name in /proc/locks (btrfs, overlayfs)."""
    try:
        pids = sorted(int(entry.name) for entry in proc.iterdir() if entry.name.isdecimal())
    except OSError:
        return None
    for pid in pids:
        try:
            descriptors = list((proc / str(pid) / "fd").iterdir())
        except OSError:  # it has ended, or belongs to another user
            continue
        for descriptor in descriptors:
            if _is_open_as(status, descriptor):
                return pid, descriptor.name
    return None


def _is_open_as(status: os.stat_result, descriptor: Path) -> bool:
    try:
        # Compare the name first: stat on the target of some descriptors may hang.
        if os.path.basename(os.readlink(descriptor)) != "LOCK":
            return False
        found = descriptor.stat()
    except OSError:
        return False
    return (found.st_dev, found.st_ino) == (status.st_dev, status.st_ino)


def _describe(pid: int, proc: Path, descriptor: str | None) -> LockHolder | None:
    process = proc / str(pid)
    start_ticks = _start_ticks(pid, proc)
    if start_ticks is None:
        return None
    try:
        user = _user(process.stat().st_uid)
    except OSError:
        return None
    try:
        program = os.path.basename(os.readlink(process / "exe"))
    except OSError:
        program = text_or(process / "comm", "unknown")
    return LockHolder(pid, start_ticks, program, user, descriptor)


def _start_ticks(pid: int, proc: Path) -> str | None:
    text = read_text(proc / str(pid) / "stat")
    fields = [] if isinstance(text, Missing) else text.rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 else None


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)
