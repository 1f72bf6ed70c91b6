"""What a fake database measures: counters, properties, events and the stall condition, set by the test."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

Json = Any
RING_EVENTS = 1024
"""How many events the fake keeps; what falls out is counted in lost_events."""

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

    `counters` values may be None (a counter this agent cannot read), `tickers` may be None (no Statistics).
    """

    def __init__(self, clock: Callable[[], float], column_families: Iterable[str]) -> None:
        self._clock = clock
        self._lock = threading.RLock()
        self.counters: dict[str, int | None] = dict.fromkeys(COUNTERS, 0)
        self.tickers: dict[str, int] | None = {"rocksdb.number.keys.written": 0, "rocksdb.bytes.written": 0}
        self.properties: dict[str, int] = {
            "rocksdb.is-write-stopped": 0,
            "rocksdb.actual-delayed-write-rate": 0,
            "rocksdb.num-running-flushes": 0,
            "rocksdb.num-running-compactions": 0,
            "rocksdb.background-errors": 0,
        }
        self.column_families: dict[str, dict[str, int]] = {}
        self.stall_counts: dict[str, dict[str, int] | None] = {}
        for name in column_families:
            self.add_column_family(name)
        self._condition = "normal"
        self._since_s = clock()
        self._cumulative_s = {"normal": 0.0, "delayed": 0.0, "stopped": 0.0}
        self._events: deque[Json] = deque(maxlen=RING_EVENTS)
        self._last_event = 0

    def add_column_family(self, name: str) -> None:
        """Begin a column family with nothing in it."""
        self.column_families[name] = _family_properties()
        self.stall_counts[name] = dict.fromkeys(STALL_COUNTS, 0)

    def drop_column_family(self, name: str) -> None:
        """Forget a column family."""
        self.column_families.pop(name, None)
        self.stall_counts.pop(name, None)

    def add(self, counter: str, amount: int) -> None:
        """Advance a counter, unless this agent cannot read it."""
        with self._lock:
            value = self.counters[counter]
            if value is not None:
                self.counters[counter] = value + amount

    def emit(self, kind: str, **members: Json) -> None:
        """Append an event to the ring."""
        with self._lock:
            self._last_event += 1
            event = {"sequence": self._last_event, "monotonic_s": self._clock(), "kind": kind}
            self._events.append(event | members)

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
            self.emit("flush_begin", column_family=column_family, job=1)
            self.emit("flush_end", column_family=column_family, job=1, bytes=size, elapsed_s=elapsed_s)

    def compact(self, column_family: str = "default", elapsed_s: float = 0.01) -> None:
        """Move everything to the last level."""
        with self._lock:
            properties = self.column_families[column_family]
            size = properties["rocksdb.live-sst-files-size"]
            properties["rocksdb.num-files-at-level0"] = 0
            properties["rocksdb.num-files-at-level6"] = 1
            self.add("compactions", 1)
            self.add("compaction_read_bytes", size)
            self.add("compaction_written_bytes", size)
            levels = {"base_level": 0, "output_level": 6}
            self.emit("compaction_begin", column_family=column_family, job=2, **levels)
            volumes = {"read_bytes": size, "written_bytes": size, "elapsed_s": elapsed_s}
            self.emit("compaction_end", column_family=column_family, job=2, **levels, **volumes)

    def stall(self, condition: str, column_family: str = "default", delayed_rate_bytes_per_s: int = 0) -> None:
        """Writers are now subject to `condition` (normal, delayed, stopped)."""
        with self._lock:
            now = self._clock()
            previous = self._condition
            self._cumulative_s[previous] += now - self._since_s
            self._condition, self._since_s = condition, now
            self.properties["rocksdb.is-write-stopped"] = int(condition == "stopped")
            self.properties["rocksdb.actual-delayed-write-rate"] = delayed_rate_bytes_per_s
            self.emit("stall", column_family=column_family, condition=condition, previous=previous)

    def stall_json(self) -> Json:
        """Write it as the contract's Stall, with the stall in progress included."""
        with self._lock:
            total = dict(self._cumulative_s)
            total[self._condition] += self._clock() - self._since_s
            return {
                "condition": self._condition,
                "since_monotonic_s": self._since_s,
                "stopped_s": total["stopped"],
                "delayed_s": total["delayed"],
            }

    def families_json(self) -> Json:
        """Write it as the contract's column_families of a snapshot."""
        with self._lock:
            families: dict[str, Json] = {}
            for name, values in self.column_families.items():
                counts = self.stall_counts.get(name)
                families[name] = {
                    "properties": dict(values),
                    "stall_counts": None if counts is None else dict(counts),
                }
            return families

    def events_json(self, after: int | None) -> Json:
        """Return the events after a cursor, the newest one's number, and how many the ring no longer has."""
        with self._lock:
            if after is None:
                return {"events": [], "last_event": self._last_event, "lost_events": 0}
            found = [dict(event) for event in self._events if event["sequence"] > after]
            expected = max(0, self._last_event - after)
            return {"events": found, "last_event": self._last_event, "lost_events": expected - len(found)}
