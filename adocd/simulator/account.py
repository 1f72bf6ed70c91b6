"""A database's account so far: counters, waits by cause, stall events, and the events that agents report."""

from collections import deque
from dataclasses import dataclass, field
from itertools import islice

from adocd.model.snapshot import Condition, Event, Stall
from adocd.simulator.write_controller import CAUSES, Cause

#: Events kept, as many as an agent keeps.
_EVENTS = 4096


@dataclass(slots=True)
class Account:
    """Counters since the open. Bytes are floats while jobs run; reported values are whole.

    An agent counts finished jobs, because it hears only of those. RocksDB's tickers count a compaction's bytes while it
    runs, and a flush's when it has ended (adocd.probes.job_bytes).
    """

    flushes: int = 0
    flush_written_bytes: int = 0
    compactions: int = 0
    compaction_read_bytes: int = 0
    compaction_written_bytes: int = 0
    ticked_read_bytes: float = 0.0
    ticked_written_bytes: float = 0.0
    #: All bytes written to the device: WAL, flushes and compactions.
    device_bytes: float = 0.0
    #: Seconds that clients waited because writes were delayed or stopped, by cause, including the wait in progress.
    waited_s: dict[Cause, float] = field(default_factory=lambda: dict.fromkeys(CAUSES, 0.0))
    #: Seconds in which writes were delayed or stopped, by cause, whether or not clients waited.
    held_s: dict[Cause, float] = field(default_factory=lambda: dict.fromkeys(CAUSES, 0.0))
    #: Seconds in each condition.
    condition_s: dict[Condition, float] = field(default_factory=lambda: {"normal": 0.0, "delayed": 0.0, "stopped": 0.0})
    _stop_waited_s: float = 0.0

    def wait(self, seconds: float, condition: Condition, cause: Cause | None, share: float) -> None:
        """Count time in a condition; clients waited for a share of it."""
        self.condition_s[condition] += seconds
        if cause is not None:
            self.held_s[cause] += seconds
            self.waited_s[cause] += seconds * share
            if condition == "stopped":
                self._stop_waited_s += seconds * share

    def stop_ended(self) -> None:
        """Note that writers go on."""
        self._stop_waited_s = 0.0

    @property
    def stall_micros(self) -> int:
        """Return the value of RocksDB's ticker, which counts a wait in a stop only when it ends (HAZARDS 15)."""
        return int((sum(self.waited_s.values()) - self._stop_waited_s) * 1e6)


@dataclass(slots=True)
class SimulatedEventRing:
    """The newest events, each with its number."""

    last: int = 0
    _ring: deque[Event] = field(default_factory=lambda: deque(maxlen=_EVENTS))

    def emit(self, event: Event) -> None:
        """Record an event and number it."""
        self._ring.append(event)
        self.last = event.sequence

    def after(self, cursor: int | None) -> tuple[tuple[Event, ...], int]:
        """Return the events after a cursor, and how many were lost; no events without a cursor."""
        if cursor is None or cursor >= self.last:
            return (), 0
        known = min(self.last - cursor, len(self._ring))
        newest = list(islice(reversed(self._ring), known))
        return tuple(reversed(newest)), self.last - cursor - known


@dataclass(slots=True)
class ToldStalls:
    """Conditions as stall events show them; a stop by a full memtable is reported only when it is over.

    The blocked writer itself delivers the notice (db_impl_write.cc, PreprocessWrite; HAZARDS 15).
    """

    condition: Condition = "normal"
    since_s: float = 0.0
    _total_s: dict[Condition, float] = field(default_factory=lambda: {"normal": 0.0, "delayed": 0.0, "stopped": 0.0})
    _untold: list[Condition] = field(default_factory=list)

    def change(self, condition: Condition, now_s: float, *, by_writer: bool) -> list[tuple[Condition, Condition]]:
        """Note a change; return the changes reported now, as (previous, condition)."""
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
        """Report it as an agent does, including the stall in progress."""
        total_s = dict(self._total_s)
        total_s[self.condition] += now_s - self.since_s
        return Stall(self.condition, self.since_s, total_s["stopped"], total_s["delayed"])
