"""RocksDB's Statistics and property texts, read into numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_CUMULATIVE_STALL = re.compile(r"^Cumulative stall: (\d+):(\d+):(\d+)\.(\d+) H:M:S", re.MULTILINE | re.ASCII)
_LEVEL, _OTHER_HEADING = "--- level ", "---"

FLUSHES, COMPACTIONS = "rocksdb.db.flush.micros", "rocksdb.compaction.times.micros"
"""Histograms of finished jobs; their COUNT is the number of jobs. A trivial move runs no job and is not counted."""

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


class Statistics(NamedTuple):
    """The counts of a Statistics object, by RocksDB's names.

    A histogram has the number of its values and their sum in its own unit; empty ones are included.
    """

    tickers: dict[str, int]
    histograms: dict[str, tuple[int, int]]

    def cumulative(self, name: str) -> int | None:
        """Return a ticker, or how many values a histogram has; None where there is no such name."""
        histogram = self.histograms.get(name)
        return self.tickers.get(name) if histogram is None else histogram[0]


def statistics(text: str) -> Statistics:
    """Read a Statistics text.

    A ticker's line is "NAME COUNT : N", a histogram's "NAME P50 : ... COUNT : N SUM : S". Parsed by hand, because
    regular expressions take twice as long, and the host's threads wait meanwhile.
    """
    read = Statistics({}, {})
    for line in text.split("\n"):
        name, separator, count = line.partition(" COUNT : ")
        if not separator:
            continue
        name, _, percentiles = name.partition(" ")
        if percentiles:
            count, _, total = count.partition(" SUM : ")
            read.histograms[name] = (int(count), int(total))
        else:
            read.tickers[name] = int(count)
    return read


def totals(read: Statistics) -> dict[str, int | None]:
    """Return the totals behind the contract's counters, since the Statistics object was made."""
    return {name: read.cumulative(source) for name, source in COUNTERS.items()}


def counters(now: Mapping[str, int | None], at_open: Mapping[str, int | None]) -> dict[str, int | None]:
    """Return the contract's counters: the increase of the totals since the baseline."""
    return {name: None if total is None else max(0, total - (at_open.get(name) or 0)) for name, total in now.items()}


def stall_counts(text: str | None) -> dict[str, int] | None:
    """Read `rocksdb.cf-write-stall-stats`."""
    pairs = dict(part.strip().split(": ") for part in (text or "").partition("(count): ")[2].split(",") if ": " in part)
    if not all(source in pairs for source in _STALL_COUNTS.values()):
        return None
    return {name: int(pairs[source]) for name, source in _STALL_COUNTS.items()}


def level_bytes(text: str | None) -> list[int] | None:
    """Add up the sizes of each level's table files in `rocksdb.sstables`, which are exact there alone.

    A level's line is "--- level N --- version# V ---", a file's " NUMBER:SIZE[...", its keys in hexadecimal
    (db/version_set.cc, Version::DebugString). Blob files may follow under a heading of their own. None for anything
    else, so that a RocksDB with another format costs the sizes and not the column family.
    """
    sizes: list[int] = []
    try:
        for line in (text or "").split("\n"):
            if line.startswith(_LEVEL):
                sizes.append(0)
            elif line.startswith(_OTHER_HEADING):
                break
            elif line:
                sizes[-1] += int(line[line.index(":") + 1 : line.index("[")])
    except (IndexError, ValueError):
        return None
    return sizes or None


def cumulative_stall_micros(text: str | None) -> int | None:
    """Read how long writers waited from `rocksdb.dbstats`, which has it in milliseconds."""
    found = _CUMULATIVE_STALL.search(text or "")
    if found is None:
        return None
    hours, minutes, seconds, millis = (int(part) for part in found.groups())
    return (((hours * 60 + minutes) * 60 + seconds) * 1000 + millis) * 1000
