"""Which process a directory belongs to, so that a later run can remove what a killed one left behind.

A name is a prefix and a token, `PID-START-N`: the process id and its start time in clock ticks since boot (proc(5),
stat field 22), which together are unique until the next boot, and a number that tells a process's tokens apart.

The name alone does not say that a process is gone: one of another PID namespace, as in a container, is not in our
/proc. So the owner also holds a lock (flock(2)), which the kernel takes away with its last descriptor, however it ends.
"""

import contextlib
import fcntl
import itertools
import os
import re
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_numbers = itertools.count(1)


def own_token(proc: Path = _PROC) -> str:
    """Make a token of this process, another one each time."""
    return f"{os.getpid()}-{_start_ticks(proc, os.getpid())}-{next(_numbers)}"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock of a file or a directory, waiting for it if need be. Raises OSError."""
    with _opened(path) as descriptor:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def taken_over(name: str, prefix: str, lock: Path, proc: Path = _PROC) -> Iterator[bool]:
    """Say whether `name` is `prefix` + a token whose owner is gone; hold its lock meanwhile, so that nobody else acts.

    It is gone if this /proc has no such process, and nobody holds the lock. What an older adocd made has no lock.
    """
    match = re.fullmatch(re.escape(prefix) + r"(\d+)-(\d+)(?:-\d+)?", name)
    if match is None or _start_ticks(proc, int(match[1])) == int(match[2]):
        yield False
        return
    with contextlib.ExitStack() as stack:
        free = True
        with contextlib.suppress(FileNotFoundError):
            free = _takes(stack.enter_context(_opened(lock)))
        yield free


def _takes(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    # A network file system locks only what is open for writing, which a directory cannot be.
    mode = os.O_RDONLY if path.is_dir() else os.O_RDWR
    descriptor = os.open(path, mode | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _start_ticks(proc: Path, pid: int) -> int | None:
    """Read when a process started; None when there is no such process."""
    try:
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name is in parentheses and may hold spaces and parentheses itself.
    return int(stat.rpartition(")")[2].split()[19])
