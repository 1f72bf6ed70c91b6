"""What a database has done so far: counters, waiting by cause, stall events, and the events that agents report."""

from collections import deque
from dataclasses import dataclass, field
from itertools import islice

from adocd.model.snapshot import Condition, Event, Stall
from adocd.simulator.write_controller import CAUSES, Cause

#: As many events as an agent keeps.
_EVENTS = 4096


@dataclass(slots=True)
class Account:
    """Cumulative since the open. Bytes are floats while jobs are at it; what is reported is whole.

    An agent counts what it hears of, which is jobs that have ended; RocksDB's tickers count a compaction's bytes while
    it runs, and a flush's when it has ended (adocd.probes.job_bytes).
    """

    flushes: int = 0
    flush_written_bytes: int = 0
    compactions: int = 0
    compaction_read_bytes: int = 0
    compaction_written_bytes: int = 0
    ticked_read_bytes: float = 0.0
    ticked_written_bytes: float = 0.0
    #: All that went to the device: WAL, flushes and compactions.
    device_bytes: float = 0.0
    #: How long clients waited because writes were delayed or stopped, by cause, the wait in progress included.
    waited_s: dict[Cause, float] = field(default_factory=lambda: dict.fromkeys(CAUSES, 0.0))
    #: How long writes were delayed or stopped, by cause, whether or not clients waited.
    held_s: dict[Cause, float] = field(default_factory=lambda: dict.fromkeys(CAUSES, 0.0))
    #: How long writes were in a condition.
    condition_s: dict[Condition, float] = field(default_factory=lambda: {"normal": 0.0, "delayed": 0.0, "stopped": 0.0})
    _stop_waited_s: float = 0.0

    def wait(self, seconds: float, condition: Condition, cause: Cause | None, share: float) -> None:
        """Take note of time in a condition, for a share of which clients waited."""
        self.condition_s[condition] += seconds
        if cause is not None:
            self.held_s[cause] += seconds
            self.waited_s[cause] += seconds * share
            if condition == "stopped":
                self._stop_waited_s += seconds * share

    def stop_ended(self) -> None:
        """Take note that writers go on."""
        self._stop_waited_s = 0.0

    @property
    def stall_micros(self) -> int:
        """Tell what RocksDB's ticker says: a wait in a stop is posted when it ends (HAZARDS 15)."""
        return int((sum(self.waited_s.values()) - self._stop_waited_s) * 1e6)


@dataclass(slots=True)
class SimulatedEventRing:
    """The newest events, each with its number."""

    last: int = 0
    _ring: deque[Event] = field(default_factory=lambda: deque(maxlen=_EVENTS))

    def emit(self, event: Event) -> None:
        """Record an event; its number is ours."""
        self._ring.append(event)
        self.last = event.sequence

    def after(self, cursor: int | None) -> tuple[tuple[Event, ...], int]:
        """Give the events after a cursor, and how many were lost; none without a cursor."""
        if cursor is None or cursor >= self.last:
            return (), 0
        known = min(self.last - cursor, len(self._ring))
        newest = list(islice(reversed(self._ring), known))
        return tuple(reversed(newest)), self.last - cursor - known


@dataclass(slots=True)
class ToldStalls:
    """What stall events tell of conditions; a stop that a full memtable causes is told when it is over.

    The writer that meets it carries the notice (db_impl_write.cc, PreprocessWrite; HAZARDS 15).
    """

    condition: Condition = "normal"
    since_s: float = 0.0
    _total_s: dict[Condition, float] = field(default_factory=lambda: {"normal": 0.0, "delayed": 0.0, "stopped": 0.0})
    _untold: list[Condition] = field(default_factory=list)

    def change(self, condition: Condition, now_s: float, *, by_writer: bool) -> list[tuple[Condition, Condition]]:
        """Take note of a change; returns the changes that are told now, as (previous, condition)."""
        if by_writer and condition == "stopped":
            self._untold.append(condition)
            return []
        told, self._untold = [*self._untold, condition], []
        pairs = []
        for each in told:
            pairs.append((self.condition, each))
            self._total_s[self.condition] += now_s - self.since_s
            self.condition, self.since_s = each, now_s
        return pairs

    def stall(self, now_s: float) -> Stall:
        """Say it as an agent does, the stall in progress included."""
        total_s = dict(self._total_s)
        total_s[self.condition] += now_s - self.since_s
        return Stall(self.condition, self.since_s, total_s["stopped"], total_s["delayed"])
