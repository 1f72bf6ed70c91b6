"""LOGs written by hand, for the diagnosis: a line is RocksDB's, its time is in seconds from the beginning."""

from __future__ import annotations

from typing import Any

from adocd.diagnosis import Diagnosis
from adocd.probes.log import LogParser
from tests.probes.log.lines import AT_S, event, line

#: When the LOGs here begin; whole seconds, so that sums are easy.
BEGIN_S = float(int(AT_S))


def opened(
    version: str = "7.8.3", at_s: float = 0.0, session: str | None = None, *, info: bool = True, **options: object
) -> bytes:
    """Begin a session, or a file of it; options are the column family's, but for those that are the database's.

    With `info` the column family's options have their title, and another line of level INFO follows, as the recovery
    writes it: a file that is not the first has neither.
    """
    of_database = {
        name: options.pop(name)
        for name in (
            "max_background_jobs",
            "max_background_flushes",
            "max_background_compactions",
            "delayed_write_rate",
            "rate_limiter",
        )
        if name in options
    }
    written = [line(f"RocksDB version: {version}", BEGIN_S + at_s)]
    written += [] if session is None else [line(f"DB Session ID:  {session}", BEGIN_S + at_s)]
    written += [line(f"Options.{name}: {value}", BEGIN_S + at_s) for name, value in of_database.items()]
    title = "--------------- Options for column family [default]:"
    written.append(line(title if info else "Options.comparator: leveldb.BytewiseComparator", BEGIN_S + at_s))
    written += [line(f"Options.{name}: {value}", BEGIN_S + at_s) for name, value in options.items()]
    written.append(event('"job": 1, "event": "recovery_finished"', BEGIN_S + at_s) if info else b"")
    return b"".join(written)


def stall(at_s: float, because: str, *, stopped: bool = False, family: str = "default") -> bytes:
    """Write a line about a stall."""
    verb = "Stopping" if stopped else "Stalling"
    return line(f"[WARN] [db/column_family.cc:1001] [{family}] {verb} writes because {because}", BEGIN_S + at_s)


def flushed(at_s: float, l0_files: int = 1, *, job: int = 1, family: str = "default") -> bytes:
    """Write a flush's end."""
    return event(
        f'"cf_name": "{family}", "job": {job}, "event": "flush_finished", "lsm_state": [{l0_files}, 0], '
        '"immutable_memtables": 0',
        BEGIN_S + at_s,
    )


def compacted(at_s: float, l0_files: int = 0, *, job: int = 2, family: str = "default") -> bytes:
    """Write a compaction's end."""
    return event(
        f'"cf_name": "{family}", "job": {job}, "event": "compaction_finished", "output_level": 1, '
        f'"total_output_size": 1000, "lsm_state": [{l0_files}, 1]',
        BEGIN_S + at_s,
    )


def switched(at_s: float, family: str = "default") -> bytes:
    """Write the beginning of a new memtable."""
    return line(
        f"[db/db_impl/db_impl_write.cc:2089] [{family}] New memtable created with log file: #8. "
        "Immutable memtables: 0.",
        BEGIN_S + at_s,
    )


def dumped(at_s: float, cumulative_s: float, interval_s: float, of_s: float) -> bytes:
    """Write the part of a dump that is about stalls."""
    return (
        line("[db/db_impl/db_impl.cc:1105] ------- DUMPING STATS -------", BEGIN_S + at_s)
        + (
            f"\n** DB Stats **\nUptime(secs): {at_s:.1f} total, {of_s:.1f} interval\n"
            f"Cumulative stall: 00:00:{cumulative_s:.3f} H:M:S, 1.0 percent\n"
            f"Interval stall: 00:00:{interval_s:.3f} H:M:S, 1.0 percent\n"
        ).encode()
    )


def diagnosed(*written: bytes) -> dict[str, Any]:
    """Diagnose a LOG."""
    parser, diagnosis = LogParser(), Diagnosis()
    for found in (*parser.feed(b"".join(written)), *parser.finish()):
        diagnosis.add(found)
    diagnosis.end()
    return diagnosis.summary(lines=parser.lines, unread=parser.unread, stepped_back=parser.stepped_back)
