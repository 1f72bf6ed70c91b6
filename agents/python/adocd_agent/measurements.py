"""Measurements of a database that rocksdict opened: counters, properties, stall condition."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from adocd_agent.level_sizes import LevelSizes
from adocd_agent.stall_watch import StallTimes, WaitCounters
from adocd_agent.statistics_text import COUNTERS, counters, cumulative_stall_micros, stall_counts, statistics, totals

Json = Any
DEFAULT = "default"
STOPPED, DELAYED_RATE = "rocksdb.is-write-stopped", "rocksdb.actual-delayed-write-rate"
DATABASE_PROPERTIES = (
    STOPPED,
    DELAYED_RATE,
    "rocksdb.num-running-flushes",
    "rocksdb.num-running-compactions",
    "rocksdb.background-errors",
)
LEVEL_FILES = tuple(f"rocksdb.num-files-at-level{level}" for level in range(7))
FAMILY_PROPERTIES = (
    "rocksdb.num-immutable-mem-table",
    "rocksdb.mem-table-flush-pending",
    "rocksdb.compaction-pending",
    "rocksdb.cur-size-active-mem-table",
    "rocksdb.cur-size-all-mem-tables",
    "rocksdb.estimate-pending-compaction-bytes",
    "rocksdb.base-level",
    "rocksdb.live-sst-files-size",
    *LEVEL_FILES,
)


class Measurements:
    """Reads one database through the host's handles and keeps none; call `look` and `measure` on the same thread."""

    def __init__(self, db: Any, options: Any) -> None:
        self._options = options
        text = self._statistics_text()
        self.statistics = "none" if text is None else "all"
        # A Statistics object can be older than this open; counters start at 0 when the database is opened.
        self._at_open = {} if text is None else totals(statistics(text))
        self._levels: dict[str, LevelSizes] = {}
        self._sequence_at_open: int = db.latest_sequence_number()
        self._watch = StallTimes(time.monotonic(), self._waited(db))

    def look(self, db: Any) -> None:
        """Look at the stall condition; some 2 µs."""
        stopped = bool(db.property_int_value(STOPPED))
        delayed = bool(db.property_int_value(DELAYED_RATE))
        now_s = time.monotonic()
        self._watch.look(now_s, stopped=stopped, delayed=delayed, waited=lambda: self._waited(db))

    def measure(self, db: Any, families: Mapping[str, Any]) -> dict[str, Json]:
        """Return stall, counters, properties, tickers, histograms, write_latency and column_families."""
        self.look(db)
        text = self._statistics_text()
        found = None if text is None else statistics(text)
        self._levels = {name: self._levels.get(name) or LevelSizes() for name in families}
        return {
            "stall": self._watch.as_json(),
            "counters": (
                self._counters_without_statistics(db) if found is None else counters(totals(found), self._at_open)
            ),
            "properties": _properties(db, DATABASE_PROPERTIES),
            "tickers": None if found is None else found.tickers,
            "histograms": None if found is None else _with_values(found.histograms),
            "write_latency": None,  # rocksdict has no place for a clock of ours; Statistics has the mean
            "column_families": {
                name: family
                for name, handle in families.items()
                if (family := _family(handle, self._levels[name])) is not None
            },
        }

    def _statistics_text(self) -> str | None:
        text = None if self._options is None else self._options.get_statistics()
        return text if text else None

    def _counters_without_statistics(self, db: Any) -> dict[str, int | None]:
        """Return the two counters that RocksDB has without a Statistics object.

        Every key written takes a sequence number (db.h). Only rocksdb.dbstats has the time that writers waited, in
        milliseconds; reading it restarts the "Interval" figures that RocksDB writes into its LOG.
        """
        return {
            **dict.fromkeys(COUNTERS, None),
            "writes": db.latest_sequence_number() - self._sequence_at_open,
            "stall_micros": cumulative_stall_micros(db.property_value("rocksdb.dbstats")),
        }

    def _waited(self, db: Any) -> WaitCounters:
        text = self._statistics_text()
        if text is None:
            micros = cumulative_stall_micros(db.property_value("rocksdb.dbstats"))
        else:
            micros = statistics(text).cumulative(COUNTERS["stall_micros"])
        counts = stall_counts(db.property_value("rocksdb.cf-write-stall-stats")) or {}
        return WaitCounters(micros, sum(count for name, count in counts.items() if name.endswith("_stops")))


def property_value(handle: Any, name: str) -> int | None:
    """Return an integer property of a handle's column family, None when it cannot be read."""
    try:
        value = handle.property_int_value(name)
    except Exception:  # rocksdict raises Exception itself: no number, no such name, closed
        return None
    return None if value is None else int(value)


def _properties(handle: Any, names: tuple[str, ...]) -> dict[str, int]:
    values = ((name, handle.property_int_value(name)) for name in names)
    return {name: value for name, value in values if value is not None}


def _with_values(histograms: Mapping[str, tuple[int, int]]) -> dict[str, Json]:
    return {name: {"count": count, "sum": total} for name, (count, total) in histograms.items() if count}


def _family(handle: Any, levels: LevelSizes) -> dict[str, Json] | None:
    """Return a snapshot's ColumnFamily; None where the host has closed this handle."""
    try:
        properties = _properties(handle, FAMILY_PROPERTIES)
        return {
            "properties": properties,
            "stall_counts": stall_counts(handle.property_value("rocksdb.cf-write-stall-stats")),
            "level_bytes": levels.read(handle, sum(properties.get(name, 0) for name in LEVEL_FILES)),
        }
    except Exception:  # rocksdict raises Exception itself
        return None
