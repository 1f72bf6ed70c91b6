"""What a fake database measures: counters, properties, events and the stall condition, set by the test."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterable
from typing import Any

from adocd_agent.events import EventRing

Json = Any
COUNTERS = (
    "writes",
    "written_bytes",
    "wal_bytes",
    "stall_micros",
    "flushes",
    "flush_written_bytes",
    "compactions",
    "compaction_read_bytes",
    "compaction_written_bytes",
)
STALL_COUNTS = (
    "memtable_stops",
    "memtable_slowdowns",
    "l0_stops",
    "l0_slowdowns",
    "pending_bytes_stops",
    "pending_bytes_slowdowns",
)


def _family_properties() -> dict[str, int]:
    levels = {f"rocksdb.num-files-at-level{level}": 0 for level in range(7)}
    return levels | {
        "rocksdb.num-immutable-mem-table": 0,
        "rocksdb.mem-table-flush-pending": 0,
        "rocksdb.compaction-pending": 0,
        "rocksdb.cur-size-active-mem-table": 2048,
        "rocksdb.cur-size-all-mem-tables": 2048,
        "rocksdb.estimate-pending-compaction-bytes": 0,
        "rocksdb.base-level": 6,
        "rocksdb.live-sst-files-size": 0,
    }


class Measurements:
    """The measured state of one session. The dictionaries are public: a test assigns what it needs.

    `counters` values may be None (a counter this agent cannot read), so may `tickers` and `histograms` (no Statistics)
    and a family's `level_bytes`.
    """

    def __init__(self, events: EventRing, column_families: Iterable[str]) -> None:
        self._events = events
        self._lock = threading.RLock()
        self.counters: dict[str, int | None] = dict.fromkeys(COUNTERS, 0)
        self.tickers: dict[str, int] | None = {"rocksdb.number.keys.written": 0, "rocksdb.bytes.written": 0}
        self.histograms: dict[str, dict[str, int]] | None = {}
        #: None where the agent does not time writes.
        self.write_latency: Json = {"one_in": 32, "slow_s": 0.02, "values_ns": [], "counts": []}
        self.properties: dict[str, int] = {
            "rocksdb.is-write-stopped": 0,
            "rocksdb.actual-delayed-write-rate": 0,
            "rocksdb.num-running-flushes": 0,
            "rocksdb.num-running-compactions": 0,
            "rocksdb.background-errors": 0,
        }
        self.column_families: dict[str, dict[str, int]] = {}
        self.stall_counts: dict[str, dict[str, int] | None] = {}
        self.level_bytes: dict[str, list[int] | None] = {}
        #: RocksDB's ids, which it never uses twice; None where an agent cannot read them.
        self.ids: dict[str, int | None] = {}
        self._next_id = itertools.count()
        for name in column_families:
            self.add_column_family(name)
        self._condition = "normal"
        self._since_s = time.monotonic()
        self._cumulative_s = {"normal": 0.0, "delayed": 0.0, "stopped": 0.0}

    def add_column_family(self, name: str) -> None:
        """Begin a column family with nothing in it."""
        self.column_families[name] = _family_properties()
        self.stall_counts[name] = dict.fromkeys(STALL_COUNTS, 0)
        self.level_bytes[name] = [0] * 7
        self.ids[name] = next(self._next_id)

    def drop_column_family(self, name: str) -> None:
        """Forget a column family."""
        self.column_families.pop(name, None)
        self.stall_counts.pop(name, None)
        self.level_bytes.pop(name, None)

    def add(self, counter: str, amount: int) -> None:
        """Advance a counter, unless this agent cannot read it."""
        with self._lock:
            value = self.counters[counter]
            if value is not None:
                self.counters[counter] = value + amount

    def write(self, keys: int, value_bytes: int, column_family: str = "default") -> None:
        """Let the host write: counters and the active memtable grow."""
        size = keys * value_bytes
        with self._lock:
            self.add("writes", keys)
            self.add("written_bytes", size)
            self.add("wal_bytes", size)
            if self.tickers is not None:
                self.tickers["rocksdb.number.keys.written"] += keys
                self.tickers["rocksdb.bytes.written"] += size
            if self.write_latency is not None:
                self.took(4100, keys)
            properties = self.column_families[column_family]
            properties["rocksdb.cur-size-active-mem-table"] += size
            properties["rocksdb.cur-size-all-mem-tables"] += size

    def flush(self, column_family: str = "default", elapsed_s: float = 0.01) -> None:
        """Turn the active memtable into a file of level 0."""
        with self._lock:
            properties = self.column_families[column_family]
            size = properties["rocksdb.cur-size-active-mem-table"]
            properties["rocksdb.cur-size-active-mem-table"] = 2048
            properties["rocksdb.cur-size-all-mem-tables"] = 2048
            properties["rocksdb.num-files-at-level0"] += 1
            properties["rocksdb.live-sst-files-size"] += size
            self.add("flushes", 1)
            self.add("flush_written_bytes", size)
            if (levels := self.level_bytes[column_family]) is not None:
                self.level_bytes[column_family] = [levels[0] + size, *levels[1:]]
            self._record("rocksdb.db.flush.micros", int(elapsed_s * 1e6))
            self._events.emit("flush_begin", column_family=column_family, job=1)
            self._events.emit("flush_end", column_family=column_family, job=1, bytes=size, elapsed_s=elapsed_s)

    def compact(self, column_family: str = "default", elapsed_s: float = 0.01) -> None:
        """Move everything to the last level."""
        with self._lock:
            properties = self.column_families[column_family]
            size = properties["rocksdb.live-sst-files-size"]
            properties["rocksdb.num-files-at-level0"] = 0
            properties["rocksdb.num-files-at-level6"] = 1
            if self.level_bytes[column_family] is not None:
                self.level_bytes[column_family] = [0] * 6 + [size]
            self._record("rocksdb.compaction.times.micros", int(elapsed_s * 1e6))
            self.add("compactions", 1)
            self.add("compaction_read_bytes", size)
            self.add("compaction_written_bytes", size)
            levels = {"base_level": 0, "output_level": 6}
            self._events.emit("compaction_begin", column_family=column_family, job=2, **levels)
            volumes = {"read_bytes": size, "written_bytes": size, "elapsed_s": elapsed_s}
            self._events.emit("compaction_end", column_family=column_family, job=2, **levels, **volumes)

    def _record(self, histogram: str, value: int) -> None:
        if self.histograms is not None:
            before = self.histograms.get(histogram, {"count": 0, "sum": 0})
            self.histograms[histogram] = {"count": before["count"] + 1, "sum": before["sum"] + value}

    def stall(self, condition: str, column_family: str = "default", delayed_rate_bytes_per_s: int = 0) -> None:
        """Writers are now subject to `condition` (normal, delayed, stopped)."""
        with self._lock:
            now = time.monotonic()
            previous = self._condition
            self._cumulative_s[previous] += now - self._since_s
            self._condition, self._since_s = condition, now
            self.properties["rocksdb.is-write-stopped"] = int(condition == "stopped")
            self.properties["rocksdb.actual-delayed-write-rate"] = delayed_rate_bytes_per_s
            self._events.emit("stall", column_family=column_family, condition=condition, previous=previous)

    def stall_json(self) -> Json:
        """Write it as the contract's Stall, with the stall in progress included."""
        with self._lock:
            total = dict(self._cumulative_s)
            total[self._condition] += time.monotonic() - self._since_s
            return {
                "condition": self._condition,
                "since_monotonic_s": self._since_s,
                "stopped_s": total["stopped"],
                "delayed_s": total["delayed"],
            }

    def took(self, ns: int, writes: int = 1) -> None:
        """Let writes have taken that long, the middle of a bucket."""
        with self._lock:
            known = dict(zip(self.write_latency["values_ns"], self.write_latency["counts"], strict=True))
            known[ns] = known.get(ns, 0) + writes
            values = sorted(known)
            self.write_latency |= {"values_ns": values, "counts": [known[value] for value in values]}

    def latency_json(self) -> Json:
        """Write it as the contract's WriteLatency."""
        with self._lock:
            return None if self.write_latency is None else dict(self.write_latency)

    def families_json(self) -> Json:
        """Write it as the contract's column_families of a snapshot."""
        with self._lock:
            families: dict[str, Json] = {}
            for name, values in self.column_families.items():
                counts = self.stall_counts.get(name)
                families[name] = {
                    "properties": dict(values),
                    "stall_counts": None if counts is None else dict(counts),
                    "level_bytes": self.level_bytes.get(name),
                    "id": self.ids.get(name),
                }
            return families

    def as_json(self) -> Json:
        """Write what a snapshot has of it."""
        return {
            "stall": self.stall_json(),
            "counters": dict(self.counters),
            "properties": dict(self.properties),
            "tickers": None if self.tickers is None else dict(self.tickers),
            "histograms": None if self.histograms is None else dict(self.histograms),
            "write_latency": self.latency_json(),
            "column_families": self.families_json(),
        }
