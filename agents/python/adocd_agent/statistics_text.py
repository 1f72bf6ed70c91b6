"""RocksDB's Statistics and property texts, read into numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping

_CUMULATIVE_STALL = re.compile(r"^Cumulative stall: (\d+):(\d+):(\d+)\.(\d+) H:M:S", re.MULTILINE | re.ASCII)

FLUSHES, COMPACTIONS = "rocksdb.db.flush.micros", "rocksdb.compaction.times.micros"
HISTOGRAMS = (FLUSHES, COMPACTIONS)
"""Histograms of finished jobs; how many there were is their COUNT. A trivial move runs no job and is not counted."""

COUNTERS = {
    "writes": "rocksdb.number.keys.written",
    "written_bytes": "rocksdb.bytes.written",
    "wal_bytes": "rocksdb.wal.bytes",
    "stall_micros": "rocksdb.stall.micros",
    "flushes": FLUSHES,
    "flush_written_bytes": "rocksdb.flush.write.bytes",
    "compactions": COMPACTIONS,
    "compaction_read_bytes": "rocksdb.compact.read.bytes",
    "compaction_written_bytes": "rocksdb.compact.write.bytes",
}
"""The contract's counters by the ticker or histogram they come from."""

_STALL_COUNTS = {
    "memtable_stops": "memtable-limit-stops",
    "memtable_slowdowns": "memtable-limit-delays",
    "l0_stops": "l0-file-count-limit-stops",
    "l0_slowdowns": "l0-file-count-limit-delays",
    "pending_bytes_stops": "pending-compaction-bytes-stops",
    "pending_bytes_slowdowns": "pending-compaction-bytes-delays",
}


def tickers(text: str) -> dict[str, int]:
    """Return every ticker of a Statistics text, and of the two histograms above how many jobs they have.

    A ticker's line is "NAME COUNT : N", a histogram's "NAME P50 : ... COUNT : N SUM : S". By hand, for regular
    expressions take twice as long, and the host's threads wait meanwhile.
    """
    found: dict[str, int] = {}
    for line in text.split("\n"):
        name, separator, count = line.partition(" COUNT : ")
        if not separator:
            continue
        if " " not in name:
            found[name] = int(count)
        elif name.startswith(HISTOGRAMS):
            found[name.partition(" ")[0]] = int(count.partition(" ")[0])
    return found


def counters(now: Mapping[str, int], at_open: Mapping[str, int]) -> dict[str, int | None]:
    """Return the contract's counters: what has come since the baseline."""
    return {
        name: max(0, now[source] - at_open.get(source, 0)) if source in now else None
        for name, source in COUNTERS.items()
    }


def stall_counts(text: str | None) -> dict[str, int] | None:
    """Read `rocksdb.cf-write-stall-stats`."""
    pairs = dict(part.strip().split(": ") for part in (text or "").partition("(count): ")[2].split(",") if ": " in part)
    if not all(source in pairs for source in _STALL_COUNTS.values()):
        return None
    return {name: int(pairs[source]) for name, source in _STALL_COUNTS.items()}


def cumulative_stall_micros(text: str | None) -> int | None:
    """Read how long writers waited from `rocksdb.dbstats`, which has it in milliseconds."""
    found = _CUMULATIVE_STALL.search(text or "")
    if found is None:
        return None
    hours, minutes, seconds, millis = (int(part) for part in found.groups())
    return (((hours * 60 + minutes) * 60 + seconds) * 1000 + millis) * 1000
