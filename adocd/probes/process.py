"""Activity of a process, from /proc/PID (proc(5)): CPU, memory, I/O, and its threads by name and state.

RocksDB names the threads of its pools `rocksdb:low` (compactions), `rocksdb:high` (flushes), `rocksdb:bottom` and
`rocksdb:user`; older versions append a number (util/threadpool_imp.cc, StartBGThreads).

psutil is not used: it has neither names nor states of threads, reports the main thread's context switches as the whole
process's, reads swap from smaps, which holds the lock that the database's own page faults need, and its root
(PROCFS_PATH) is one global for all threads. The tests compare with it where the two overlap.

A reading opens two files per thread: 1.9 ms of CPU time with 60 threads.
"""

import os
import re
from pathlib import Path
from typing import Final

from adocd.model.missing import Missing
from adocd.model.process import ProcessActivity, ProcessIo, ProcessReading, ThreadCounters, ThreadGroup
from adocd.probes.files import natural, read_text

#: Most threads read: otherwise a server with ten thousand connections would cost half a second per reading.
#: Those with the lowest ids are read, because the pools' threads are among a process's first.
MOST_THREADS: Final = 1024
_POOL = re.compile(r"rocksdb:(low|high|bottom|user)[0-9]*", re.ASCII)
_SWITCHES = re.compile(r"^(voluntary|nonvoluntary)_ctxt_switches:[ \t]*([0-9]+)$", re.ASCII | re.MULTILINE)
_KIB = 1024
#: Indexes of the fields of /proc/PID/stat after the name, from 0 (proc_pid_stat(5) counts the state as 3).
_STATE, _USER, _SYSTEM, _START = 0, 11, 12, 19


def read_process(pid: int, monotonic_s: float, root: Path = Path("/")) -> ProcessReading | Missing:
    """Read a process; the time is the caller's monotonic clock, `root` the root of a file system with `proc`.

    Never raises. Another user's process shows everything except its I/O (proc(5): that needs ptrace permission).
    """
    directory = root / f"proc/{pid}"
    text = read_text(directory / "stat")
    if isinstance(text, Missing):
        return Missing(f"process {pid} cannot be read: it has ended, or is hidden from here ({text.why})")
    own = _stat(text)
    if own is None:
        return Missing(f"process {pid} cannot be read: {directory / 'stat'} has not the fields that proc(5) names")
    missing: list[str] = []
    status = _fields(directory / "status", missing, f"the memory of process {pid}")
    io = _fields(directory / "io", missing, f"the I/O of process {pid}")
    _, fields = own
    return ProcessReading(
        monotonic_s=monotonic_s,
        pid=pid,
        start_ticks=fields[_START],
        user_ticks=fields[_USER],
        system_ticks=fields[_SYSTEM],
        rss_bytes=_kib(status, "VmRSS"),
        anon_bytes=_kib(status, "RssAnon"),
        swap_bytes=_kib(status, "VmSwap"),
        io=_io(io),
        threads=_threads(directory / "task", missing),
        missing=tuple(missing),
    )


def process_activity(
    before: ProcessReading, after: ProcessReading, ticks_per_s: int | None = None
) -> ProcessActivity | Missing:
    """Compute from two readings what the process did between them; Missing if another process has the pid now.

    `ticks_per_s` is the kernel's USER_HZ, 100 on nearly every machine.
    """
    interval_s = after.monotonic_s - before.monotonic_s
    if (before.pid, before.start_ticks) != (after.pid, after.start_ticks):
        return Missing(f"process {before.pid} has ended: its number is another process's now")
    if not interval_s > 0:
        return Missing(f"process {after.pid} was read twice at the same time, which measures nothing")
    ticks = ticks_per_s or os.sysconf("SC_CLK_TCK")
    groups: dict[str, list[int]] = {}
    for tid, thread in after.threads.items():
        pool = _POOL.fullmatch(thread.name)
        groups.setdefault(pool[1] if pool else "", []).append(tid)
    found = {name: _group(tids, before, after, ticks * interval_s) for name, tids in groups.items()}
    others = found.pop("", ThreadGroup(0, 0, 0, 0.0))
    voluntary, involuntary = _switches(before, after)
    read = written = cancelled = None
    if before.io is not None and after.io is not None:
        read = _grew(before.io.read_bytes, after.io.read_bytes) / interval_s
        written = _grew(before.io.written_bytes, after.io.written_bytes) / interval_s
        cancelled = _grew(before.io.cancelled_bytes, after.io.cancelled_bytes) / interval_s
    return ProcessActivity(
        monotonic_s=after.monotonic_s,
        interval_s=interval_s,
        pid=after.pid,
        user_cores=_grew(before.user_ticks, after.user_ticks) / ticks / interval_s,
        system_cores=_grew(before.system_ticks, after.system_ticks) / ticks / interval_s,
        rss_bytes=after.rss_bytes,
        anon_bytes=after.anon_bytes,
        swap_bytes=after.swap_bytes,
        read_bytes_per_s=read,
        written_bytes_per_s=written,
        cancelled_bytes_per_s=cancelled,
        pools=found,
        others=others,
        voluntary_switches_per_s=None if voluntary is None else voluntary / interval_s,
        involuntary_switches_per_s=None if involuntary is None else involuntary / interval_s,
        missing=after.missing,
    )


def _stat(text: str) -> tuple[tuple[str, str], dict[int, int]] | None:
    """Parse name, state and the three numbers by field; a name may contain spaces and parentheses."""
    before, closing, after = text.rpartition(")")
    _, opening, name = before.partition("(")
    fields = after.split()
    if not closing or not opening or len(fields) <= _START:
        return None
    # Converting all 50 fields to numbers took a third of a reading.
    numbers = {index: natural(fields[index]) for index in (_USER, _SYSTEM, _START)}
    known = {index: number for index, number in numbers.items() if number is not None}
    return ((name, fields[_STATE]), known) if len(known) == len(numbers) else None


def _threads(tasks: Path, missing: list[str]) -> dict[int, ThreadCounters]:
    try:
        ids = sorted(tid for name in os.listdir(tasks) if (tid := natural(name)) is not None)
    except OSError as error:
        missing.append(f"the threads cannot be read ({tasks}: {error.strerror})")
        return {}
    if len(ids) > MOST_THREADS:
        missing.append(f"of {len(ids)} threads the {MOST_THREADS} with the lowest ids were read")
    threads = {}
    for tid in ids[:MOST_THREADS]:
        text = read_text(f"{tasks}/{tid}/stat")
        own = None if isinstance(text, Missing) else _stat(text)
        if own is None:  # threads end at any time, so this needs no sentence
            continue
        (name, state), fields = own
        switches = _thread_switches(f"{tasks}/{tid}/status")
        threads[tid] = ThreadCounters(
            name=name,
            state=state,
            start_ticks=fields[_START],
            cpu_ticks=fields[_USER] + fields[_SYSTEM],
            voluntary_switches=switches.get("voluntary"),
            involuntary_switches=switches.get("nonvoluntary"),
        )
    return threads


def _thread_switches(path: str) -> dict[str, int]:
    """Read a thread's counters `voluntary` and `nonvoluntary`, if the file has them."""
    text = read_text(path)
    # They are the last lines: searching the fifty lines before them took 8 of 30 us per thread.
    found = [] if isinstance(text, Missing) else _SWITCHES.findall(text, max(0, text.find("voluntary_ctxt") - 3))
    return {kind: number for kind, digits in found if (number := natural(digits)) is not None}


def _group(tids: list[int], before: ProcessReading, after: ProcessReading, ticks: float) -> ThreadGroup:
    states = [after.threads[tid].state for tid in tids]
    pairs = _both(tids, before, after)
    used = sum(_grew(then.cpu_ticks, now.cpu_ticks) for then, now in pairs)
    return ThreadGroup(len(tids), states.count("R"), states.count("D"), used / ticks)


def _both(
    tids: list[int], before: ProcessReading, after: ProcessReading
) -> list[tuple[ThreadCounters, ThreadCounters]]:
    """Pair the threads that exist in both readings; a reused thread id has another start time."""
    pairs = [(then, after.threads[tid]) for tid in tids if (then := before.threads.get(tid)) is not None]
    return [(then, now) for then, now in pairs if then.start_ticks == now.start_ticks]


def _switches(before: ProcessReading, after: ProcessReading) -> tuple[int | None, int | None]:
    pairs = _both(list(after.threads), before, after)
    voluntary = [
        _grew(then.voluntary_switches, now.voluntary_switches)
        for then, now in pairs
        if then.voluntary_switches is not None and now.voluntary_switches is not None
    ]
    involuntary = [
        _grew(then.involuntary_switches, now.involuntary_switches)
        for then, now in pairs
        if then.involuntary_switches is not None and now.involuntary_switches is not None
    ]
    return sum(voluntary) if voluntary else None, sum(involuntary) if involuntary else None


def _fields(path: Path, missing: list[str], what: str) -> dict[str, str]:
    text = read_text(path)
    if isinstance(text, Missing):
        missing.append(f"{what} cannot be read ({text.why})")
        return {}
    pairs = [line.partition(":") for line in text.split("\n")]
    return {name: value.strip() for name, colon, value in pairs if colon}


def _kib(status: dict[str, str], name: str) -> int | None:
    number = natural(status.get(name, "").removesuffix(" kB").strip())
    return None if number is None else number * _KIB


def _io(fields: dict[str, str]) -> ProcessIo | None:
    read, written, cancelled = (
        natural(fields.get(name, "")) for name in ("read_bytes", "write_bytes", "cancelled_write_bytes")
    )
    return None if read is None or written is None else ProcessIo(read, written, cancelled or 0)


def _grew(then: int, now: int) -> int:
    return max(0, now - then)
