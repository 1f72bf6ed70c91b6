"""Names that contain their owner process, so that a later run can remove what a killed one left behind.

A token is `PID-START-N`: the process id and its start time in clock ticks since boot (proc(5), stat field 22),
which together are unique until the next boot, and a number that tells a process's tokens apart.
"""

import itertools
import os
import re
from pathlib import Path

_PROC = Path("/proc")
_numbers = itertools.count(1)


def own_token(proc: Path = _PROC) -> str:
    """Make a token of this process, another one each time."""
    return f"{os.getpid()}-{_start_ticks(proc, os.getpid())}-{next(_numbers)}"


def owner_is_gone(name: str, prefix: str, proc: Path = _PROC) -> bool:
    """Say whether `name` is `prefix` + a token, and the process it names is no longer there."""
    match = re.fullmatch(re.escape(prefix) + r"(\d+)-(\d+)(?:-\d+)?", name)
    if match is None:
        return False
    return _start_ticks(proc, int(match[1])) != int(match[2])


def _start_ticks(proc: Path, pid: int) -> int | None:
    """Read when a process started; None when there is no such process."""
    try:
        stat = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    # The command's name is in parentheses and may hold spaces and parentheses itself.
    return int(stat.rpartition(")")[2].split()[19])
