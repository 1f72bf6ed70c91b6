"""Turns the lines about stalls into stalls with a beginning and an end.

A line says that writes must be delayed or stopped; no line says that this is over. But RocksDB checks again each time
it installs a superversion, and repeats the line while the condition holds (db/column_family.cc,
RecalculateWriteStallConditions). So a stall is over at the first install without such a line:

- A flush_finished or compaction_finished event is made under the same mutex as its install
  (DBImpl::FlushMemTableToOutputFile, DBImpl::BackgroundCompaction) and written after it. If the column family has no
  stall line as recent as the event when the event is read, its condition ended with that job.
- A new memtable is followed by an install right after its line. If no stall line comes within the next `_SILENT_S`, the
  condition had ended earlier (after SetOptions, for instance), and ends there at the latest.
- The close, the end of the LOG, and the next open end the remaining stalls; the LOG does not show the real end
  (`ended`).

The result is how long the condition held. RocksDB's own stall time (the periodic dump) is how long writers waited: less
if writes were delayed and not stopped, or if nobody wrote.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from adocd.probes.log.background import Led
from adocd.probes.log.events import (
    Cause,
    CompactionFinished,
    Condition,
    FlushFinished,
    LoggedStall,
    MemtableSwitched,
)
from adocd.probes.log.steady import JUMP_S

#: Stalls of one kind that are closer than this are reported as one (s).
MERGED_WITHIN_S = 1.0
#: Most stalls reported: beyond that, stalls farther apart are merged too.
_STALLS_MOST = 5000
#: A new memtable's install follows its line at once; this allows for a busy machine (s).
_SILENT_S = 1.0
#: Most column families that stall at once; an undamaged LOG has no more.
_FAMILIES_MOST = 4096


@dataclass(slots=True)
class StallFound:
    """A stall, or several of the same kind with less than a second between them.

    `begin_s` and `end_s` are unix seconds, `stalled_s` the seconds in which the condition held. `lines` is how many
    lines RocksDB wrote about it, `figure` the largest of their figures (immutable memtables, level-0 files or bytes of
    pending compaction, by `cause`), `rate_bytes_per_s` the lowest rate. `led` is what led to it.
    """

    begin_s: float
    end_s: float
    cause: Cause
    condition: Condition
    column_family: str
    led: Led
    stalled_s: float = 0.0
    lines: int = 0
    figure: int | None = None
    limit: int | None = None
    rate_bytes_per_s: int | None = None
    #: Whether the LOG shows the end.
    ended: bool = True

    def say(self, line: LoggedStall) -> None:
        """Add one more line about this stall."""
        self.lines += 1
        self.limit = line.limit if self.limit is None else self.limit
        if line.figure is not None:
            self.figure = max(line.figure, self.figure or 0)
        if line.rate_bytes_per_s is not None:
            self.rate_bytes_per_s = min(line.rate_bytes_per_s, self.rate_bytes_per_s or line.rate_bytes_per_s)


@dataclass(slots=True)
class _Open:
    stall: StallFound
    since_s: float
    last_line_s: float
    #: The time up to which the stall's seconds are counted.
    counted_s: float
    #: When a memtable was switched since the last line.
    switched_s: float | None = None


@dataclass(frozen=True, slots=True)
class OpenStall:
    """A column family's open stall by the LOG; its beginning is in unix seconds."""

    cause: Cause
    condition: Condition
    since_s: float
    figure: int | None
    limit: int | None


class Stalls:
    """Finds the stalls; calls `held`, in order of time, with each span and the causes that held in it."""

    def __init__(
        self,
        led: Callable[[LoggedStall], Led],
        held: Callable[[float, float, frozenset[Cause]], None],
    ) -> None:
        self._led, self._held = led, held
        self._open: dict[str, _Open] = {}
        self._last: dict[tuple[str, Cause, Condition], StallFound] = {}
        self._now_s = 0.0
        self.found: list[StallFound] = []
        self.merged_within_s = MERGED_WITHIN_S

    @property
    def open(self) -> Mapping[str, OpenStall]:
        """The open stalls, at most one per column family."""
        return {
            family: OpenStall(now.stall.cause, now.stall.condition, now.since_s, now.stall.figure, now.stall.limit)
            for family, now in self._open.items()
        }

    def take_ended(self) -> list[StallFound]:
        """Return the finished stalls and forget them, for callers that follow a LOG being written."""
        still = {id(now.stall) for now in self._open.values()}
        ended = [stall for stall in self.found if id(stall) not in still]
        self.found = [stall for stall in self.found if id(stall) in still]
        self._last = {kind: stall for kind, stall in self._last.items() if id(stall) in still}
        return ended

    def line(self, event: LoggedStall) -> None:
        """Take a line about a stall."""
        self._look_back(event.time_s)
        now = self._open.get(event.column_family)
        if now is not None and (now.stall.cause, now.stall.condition) == (event.cause, event.condition):
            now.stall.say(event)
            now.last_line_s, now.switched_s = event.time_s, None
            return
        if len(self._open) >= _FAMILIES_MOST:
            return
        self._pass(event.time_s)
        if now is not None:
            self._end(event.column_family)
        stall = self._stall(event)
        stall.say(event)
        stall.ended = True
        self._open[event.column_family] = _Open(stall, self._now_s, event.time_s, self._now_s)

    def job(self, event: FlushFinished | CompactionFinished) -> None:
        """Take the end of a flush or compaction, which may end a stall."""
        family = event.column_family
        if family is None and len(self._open) == 1:  # the LOG begins in the middle of the job
            family = next(iter(self._open))
        now = None if family is None else self._open.get(family)
        if family is None or now is None or now.last_line_s >= event.time_s or event.damaged:
            return
        self._pass(event.time_s if now.switched_s is None else min(now.switched_s, event.time_s))
        self._end(family)

    def memtable(self, event: MemtableSwitched) -> None:
        """Take a new memtable; if a stall holds, its install is followed by a stall line."""
        now = self._open.get(event.column_family)
        if now is None:
            return
        if now.switched_s is None:
            now.switched_s = event.time_s
        elif event.time_s - now.switched_s > _SILENT_S:
            self._pass(now.switched_s)
            self._end(event.column_family)

    def close(self, time_s: float, *, ended: bool = False) -> None:
        """End the open stalls; `ended` says whether the LOG shows that they are over."""
        self._pass(time_s)
        for family in list(self._open):
            self._end(family, ended=ended)

    def so_far(self, time_s: float) -> None:
        """Count open stalls up to now; the LOG may go on."""
        self._pass(time_s)
        for now in self._open.values():
            now.stall.stalled_s += self._now_s - now.counted_s
            now.stall.end_s, now.stall.ended = self._now_s, False
            now.counted_s = self._now_s

    def _stall(self, event: LoggedStall) -> StallFound:
        kind = event.column_family, event.cause, event.condition
        last = self._last.get(kind)
        if last is not None and self._now_s - last.end_s < self.merged_within_s:
            return last
        if len(self.found) >= _STALLS_MOST:
            self._merge()
        if len(self._last) >= _FAMILIES_MOST:
            self._last.clear()
        stall = StallFound(
            self._now_s, self._now_s, event.cause, event.condition, event.column_family, self._led(event)
        )
        self._last[kind] = stall
        self.found.append(stall)
        return stall

    def _end(self, family: str, *, ended: bool = True) -> None:
        now = self._open.pop(family)
        now.stall.stalled_s += self._now_s - now.counted_s
        now.stall.end_s, now.stall.ended = self._now_s, ended

    def _pass(self, time_s: float) -> None:
        """Advance the time; it never goes back, because lines are out of order by moments."""
        if time_s > self._now_s:
            if self._open:
                self._held(self._now_s, time_s, frozenset(now.stall.cause for now in self._open.values()))
            self._now_s = time_s

    def _look_back(self, time_s: float) -> None:
        if self._now_s - time_s > JUMP_S:
            self.close(self._now_s)
            self._now_s = time_s
            self._last.clear()

    def _merge(self) -> None:
        """Merge stalls that are farther and farther apart, until half as many are left."""
        still = {id(now.stall) for now in self._open.values()}
        while len(self.found) > _STALLS_MOST // 2 and self.merged_within_s < 1e9:
            self.merged_within_s *= 2
            kept: list[StallFound] = []
            last: dict[tuple[str, Cause, Condition], StallFound] = {}
            for stall in self.found:
                kind = stall.column_family, stall.cause, stall.condition
                earlier = last.get(kind)
                if (
                    earlier is None
                    or id(stall) in still
                    or not 0 <= stall.begin_s - earlier.end_s < self.merged_within_s
                ):
                    kept.append(stall)
                    last[kind] = stall
                else:
                    _join(earlier, stall)
            self.found, self._last = kept, last
        if len(self.found) >= _STALLS_MOST:  # thousands of column families: drop the shortest stalls
            self.found = sorted(self.found, key=lambda s: s.stalled_s)[_STALLS_MOST // 2 :]
            self.found.sort(key=lambda s: s.begin_s)


def _join(one: StallFound, other: StallFound) -> None:
    one.end_s = max(one.end_s, other.end_s)
    one.stalled_s += other.stalled_s
    one.lines += other.lines
    one.ended = other.ended
    if other.figure is not None:
        one.figure = max(other.figure, one.figure or 0)
    if other.rate_bytes_per_s is not None:
        one.rate_bytes_per_s = min(other.rate_bytes_per_s, one.rate_bytes_per_s or other.rate_bytes_per_s)
