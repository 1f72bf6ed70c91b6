"""The figures of a simulated database: steady writes, flushes, compactions, and occasional stalls. Pure."""

from collections import deque
from dataclasses import dataclass

from adocd.model.knob import MIB

#: Most events kept, as in an agent's ring.
_EVENTS_KEPT = 256
_COMPACTION_S = 2.0
_VALUE_BYTES = 1000
_BELOW_BYTES = 50 * MIB


@dataclass(frozen=True, slots=True)
class FleetLoad:
    """Write load and stalls; seconds and bytes per second.

    A spell of `stall_s` comes every `stall_every_s`; 0 is never. They alternate between full memtables (writes are
    stopped) and a full level 0 (writes are delayed). `phase_s` shifts one database against another.
    """

    write_bytes_per_s: int = 2_000_000
    stall_every_s: float = 0.0
    stall_s: float = 4.0
    phase_s: float = 0.0


class FleetFigures:
    """One simulated database's figures, cumulative since `opened_s`; times are CLOCK_MONOTONIC."""

    def __init__(self, load: FleetLoad, opened_s: float) -> None:
        self._load = load
        self._opened_s = self._now_s = opened_s
        self.written_bytes = self.flushed_bytes = self.compacted_bytes = 0
        self.flushes = self.compactions = self.memtable_stops = self.l0_slowdowns = 0
        self.condition = "normal"
        self.since_s = opened_s
        self.held_s = {"stopped": 0.0, "delayed": 0.0}
        self._l0_files = 0
        self._compaction_ends_s: float | None = None
        self._memtable_bytes = 0
        #: JSON texts, the first with the sequence number `last_event - len(events) + 1`.
        self.events: deque[str] = deque(maxlen=_EVENTS_KEPT)
        self.last_event = 0

    def advance(self, now_s: float, write_buffer_bytes: int, l0_trigger: int) -> list[str]:
        """Let time pass until now; the kinds of events that came, in their order."""
        elapsed_s, self._now_s = max(0.0, now_s - self._now_s), now_s
        kinds: list[str] = []
        if self.condition != "normal":
            self.held_s[self.condition] += elapsed_s
        self._turn(self._condition_at(now_s), now_s, kinds)
        if self.condition != "stopped":
            self._write(round(self._load.write_bytes_per_s * elapsed_s), write_buffer_bytes, now_s, kinds)
        if self._compaction_ends_s is None and self._l0_files >= l0_trigger:
            self._compaction_ends_s = now_s + _COMPACTION_S
            self._tell(now_s, "compaction_begin", f'"column_family":"default","job":{self._job}', kinds)
        elif self._compaction_ends_s is not None and now_s >= self._compaction_ends_s:
            self._compact(write_buffer_bytes, now_s, kinds)
        return kinds

    @property
    def writes(self) -> int:
        """How many keys were written."""
        return self.written_bytes // _VALUE_BYTES

    @property
    def memtable_bytes(self) -> int:
        """How full the active memtable is."""
        return self._memtable_bytes + 2048

    @property
    def immutable_memtables(self) -> int:
        """Return the number of immutable memtables that wait for their flush."""
        return 2 if self.condition == "stopped" else 0

    def l0_files(self, slowdown_trigger: int) -> int:
        """Return the number of level-0 files; at least the slowdown trigger while level 0 delays writes."""
        return max(self._l0_files, slowdown_trigger + 2) if self.condition == "delayed" else self._l0_files

    @property
    def level_bytes(self) -> int:
        """How much is below level 0."""
        return _BELOW_BYTES + self.compacted_bytes

    @property
    def is_compacting(self) -> bool:
        """Whether a compaction runs."""
        return self._compaction_ends_s is not None

    @property
    def _job(self) -> int:
        return self.flushes + self.compactions + 1

    def _condition_at(self, now_s: float) -> str:
        load = self._load
        if load.stall_every_s <= 0:
            return "normal"
        spell, into_s = divmod(now_s - self._opened_s + load.phase_s, load.stall_every_s)
        if into_s < load.stall_every_s - load.stall_s:
            return "normal"
        return "stopped" if int(spell) % 2 == 0 else "delayed"

    def _turn(self, condition: str, now_s: float, kinds: list[str]) -> None:
        if condition == self.condition:
            return
        self.memtable_stops += condition == "stopped"
        self.l0_slowdowns += condition == "delayed"
        words = f'"column_family":"default","condition":"{condition}","previous":"{self.condition}"'
        self.condition, self.since_s = condition, now_s
        self._tell(now_s, "stall", words, kinds)

    def _write(self, size_bytes: int, write_buffer_bytes: int, now_s: float, kinds: list[str]) -> None:
        self.written_bytes += size_bytes
        self._memtable_bytes += size_bytes
        if self._memtable_bytes < write_buffer_bytes:
            return
        words = f'"column_family":"default","job":{self._job}'
        self._tell(now_s, "flush_begin", words, kinds)
        words += f',"bytes":{self._memtable_bytes},"elapsed_s":0.05'
        self._tell(now_s, "flush_end", words, kinds)
        self.flushes += 1
        self.flushed_bytes += self._memtable_bytes
        self._l0_files += 1
        self._memtable_bytes = 0

    def _compact(self, write_buffer_bytes: int, now_s: float, kinds: list[str]) -> None:
        size = self._l0_files * write_buffer_bytes
        words = f'"column_family":"default","job":{self._job},"base_level":0,"output_level":1'
        words += f',"read_bytes":{size},"written_bytes":{size},"elapsed_s":{_COMPACTION_S}'
        self._tell(now_s, "compaction_end", words, kinds)
        self.compactions += 1
        self.compacted_bytes += size
        self._l0_files, self._compaction_ends_s = 0, None

    def tell(self, now_s: float, kind: str, members: str = "") -> None:
        """Put an event into the ring; `members` are what its kind has beside the usual, as JSON."""
        self.last_event += 1
        more = f",{members}" if members else ""
        self.events.append(f'{{"sequence":{self.last_event},"monotonic_s":{now_s:.6f},"kind":"{kind}"{more}}}')

    def _tell(self, now_s: float, kind: str, members: str, kinds: list[str]) -> None:
        self.tell(now_s, kind, members)
        kinds.append(kind)
