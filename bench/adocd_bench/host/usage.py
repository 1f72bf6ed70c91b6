"""Resource usage of a process so far, from /proc/PID (proc(5))."""

import os
from dataclasses import dataclass
from pathlib import Path

from adocd.probes.files import natural, text_or

_KIB = 1024
#: Fields of /proc/PID/stat behind the name, from 0 (proc_pid_stat(5) counts the state as 3).
_USER, _SYSTEM = 11, 12


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds, peak resident memory, and bytes written.

    `written_bytes` count when a page becomes dirty, without those that were deleted before they reached the disk; 0
    where they are hidden from here.
    """

    cpu_s: float
    peak_rss_bytes: int
    written_bytes: int


def usage_of(pid: int, proc: Path = Path("/proc")) -> Usage | None:
    """Read it; None where the process has ended, or has no memory any more."""
    directory = proc / str(pid)
    cpu_s = cpu_s_of(directory)
    peak = natural(_members(directory / "status").get("VmHWM", "").removesuffix("kB").strip())
    if cpu_s is None or peak is None:
        return None
    io = _members(directory / "io")
    written = (natural(io.get("write_bytes", "")) or 0) - (natural(io.get("cancelled_write_bytes", "")) or 0)
    return Usage(cpu_s, peak * _KIB, max(0, written))


def cpu_s_of(directory: Path) -> float | None:
    """Read what a process, or a thread, has used, from its directory in /proc; None where it has ended."""
    # The program's name is in parentheses and may hold any character.
    fields = text_or(directory / "stat").rpartition(")")[2].split()
    if len(fields) <= _SYSTEM:
        return None
    return ((natural(fields[_USER]) or 0) + (natural(fields[_SYSTEM]) or 0)) / os.sysconf("SC_CLK_TCK")


def _members(file: Path) -> dict[str, str]:
    pairs = (line.partition(":") for line in text_or(file).splitlines())
    return {name: value.strip() for name, _, value in pairs}
