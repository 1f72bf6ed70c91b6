"""Turns the lines about stalls into stalls with a beginning and an end.

A line says that writes must be delayed or stopped; no line says that this is over. But RocksDB checks again each time
it installs a superversion, and repeats the line while the condition holds (db/column_family.cc,
RecalculateWriteStallConditions). So a stall is over at the first install without such a line:

- A flush_finished or compaction_finished event is made under the same mutex as its install
  (DBImpl::FlushMemTableToOutputFile, DBImpl::BackgroundCompaction) and written after it. If the column family has no
  stall line as recent as the event when the event is read, its condition ended with that job.
- A new memtable is followed by an install right after its line. If no stall line comes within the next `_SILENT_S`, the
  condition had ended earlier (after SetOptions, for instance), and ends there at the latest.
- A column family that is dropped holds no writes any more.
- The close, the end of the LOG, and the next open end the remaining stalls; the LOG does not show the real end
  (`ended`).

All of these lines have level INFO. At a higher info_log_level a LOG has the lines about stalls, which are warnings, and
nothing about their ends. Until an open has shown a line of level INFO, a stall therefore reaches only up to its last
line (`ended` is false), and none counts as open now.

The result is how long the condition held. RocksDB's own stall time (the periodic dump) is how long writers waited: less
if writes were delayed and not stopped, or if nobody wrote.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from adocd.probes.log.background import Led
from adocd.probes.log.events import (
    INFO_EVENTS,
    Cause,
    ColumnFamilyDropped,
    CompactionFinished,
    Condition,
    FlushFinished,
    HeaderLine,
    JobEvent,
    LogEvent,
    LoggedStall,
    MemtableSwitched,
    OptionsChanged,
    OptionsListed,
    Shutdown,
)
from adocd.probes.log.opens import Opens
from adocd.probes.log.steady import JUMP_S

#: Stalls of one kind that are closer than this are reported as one (s).
MERGED_WITHIN_S = 1.0
#: Most stalls reported: beyond that, stalls farther apart are merged too.
_STALLS_MOST = 5000
#: A new memtable's install follows its line at once; this allows for a busy machine (s).
_SILENT_S = 1.0
#: Where a LOG has no ends, lines about a stall that are farther apart are about two (s): flushes and compactions, at
#: whose ends RocksDB repeats the line, seldom take longer.
_REPEATED_S = 60.0
#: Most column families that stall at once; an undamaged LOG has no more.
_FAMILIES_MOST = 4096
#: Events that come with the time of another line than the one just read, or that are repeated.
_UNDATED = (HeaderLine, OptionsChanged, OptionsListed)


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

    def move(self, by_s: float) -> None:
        """Correct its times, which were those of a clock that was wrong."""
        self.stall.begin_s += by_s
        self.stall.end_s += by_s
        self.since_s += by_s
        self.last_line_s += by_s
        self.counted_s += by_s
        self.switched_s = None if self.switched_s is None else self.switched_s + by_s


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
        self._opens = Opens()
        self._open: dict[str, _Open] = {}
        self._last: dict[tuple[str, Cause, Condition], StallFound] = {}
        #: The time up to which stalls are counted, in unix seconds.
        self.now_s = 0.0
        #: The time of the newest line, and the one before lines went back, until they reach it again.
        self._newest_s: float | None = None
        self._back_from_s: float | None = None
        #: Whether the current open has shown a line of level INFO, so that the LOG has the ends of stalls.
        self.tells_ends = False
        self.found: list[StallFound] = []
        self.merged_within_s = MERGED_WITHIN_S
        self._sides: Mapping[type[LogEvent], Callable[[Any], None]] = {
            LoggedStall: self._line,
            FlushFinished: self._job,
            CompactionFinished: self._job,
            MemtableSwitched: self._memtable,
            ColumnFamilyDropped: self._dropped,
            Shutdown: lambda e: self._close(e.time_s, ended=True),
        }

    @property
    def open(self) -> Mapping[str, OpenStall]:
        """The open stalls, at most one per column family; none in a LOG that does not tell their ends."""
        if not self.tells_ends:
            return {}
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

    def take(self, event: LogEvent) -> None:
        """Take the next event of the LOG, whatever it is about."""
        if self._opens.take(event) is not None:
            self._opened()
        if isinstance(event, INFO_EVENTS):
            self.tells_ends = True
        if isinstance(event, _UNDATED) or (isinstance(event, JobEvent) and event.damaged):
            return
        self._set_clock(event.time_s)
        if (side := self._sides.get(type(event))) is not None:
            side(event)

    def keep(self, families: Collection[str]) -> None:
        """End the open stalls of all other column families: a LOG that begins late does not name those dropped."""
        for family in [family for family in self._open if family not in families]:
            self._end(family)

    def close(self, time_s: float) -> None:
        """End the open stalls, because the LOG ends here; it does not show the real end."""
        if self._opens.settle() is not None:
            self._opened()
        self._set_clock(time_s)
        self._close(time_s)

    def so_far(self, time_s: float) -> None:
        """Count open stalls up to now; the LOG may go on."""
        self._pass(time_s)
        for now in self._open.values():
            self._count(now, ended=False)

    def _opened(self) -> None:
        if self._newest_s is not None:
            self._close(self._newest_s)
        self.tells_ends = False

    def _close(self, time_s: float, *, ended: bool = False) -> None:
        self._pass(time_s)
        for family in list(self._open):
            self._end(family, ended=ended)

    def _line(self, event: LoggedStall) -> None:
        family = event.column_family
        now = self._open.get(family)
        if now is not None and not self.tells_ends and event.time_s - now.last_line_s > _REPEATED_S:
            self._end(family)
            now = None
        if now is not None and (now.stall.cause, now.stall.condition) == (event.cause, event.condition):
            now.stall.say(event)
            now.last_line_s, now.switched_s = event.time_s, None
            if not self.tells_ends:
                self._pass(event.time_s)
            return
        if len(self._open) >= _FAMILIES_MOST:
            return
        self._pass(event.time_s)
        if now is not None:
            self._end(family)
        stall = self._stall(event)
        stall.say(event)
        stall.ended = True
        self._open[family] = _Open(stall, self.now_s, event.time_s, self.now_s)

    def _job(self, event: FlushFinished | CompactionFinished) -> None:
        family = event.column_family
        if family is None and len(self._open) == 1:  # the LOG begins in the middle of the job
            family = next(iter(self._open))
        now = None if family is None else self._open.get(family)
        if family is None or now is None or now.last_line_s >= event.time_s:
            return
        self._pass(event.time_s if now.switched_s is None else min(now.switched_s, event.time_s))
        self._end(family)

    def _memtable(self, event: MemtableSwitched) -> None:
        """Take a new memtable; if a stall holds, its install is followed by a stall line."""
        now = self._open.get(event.column_family)
        if now is None:
            return
        if now.switched_s is None:
            now.switched_s = event.time_s
        elif event.time_s - now.switched_s > _SILENT_S:
            self._pass(now.switched_s)
            self._end(event.column_family)

    def _dropped(self, event: ColumnFamilyDropped) -> None:
        """Take a drop, after which a column family holds no writes (ColumnFamilyData::SetDropped)."""
        if event.column_family in self._open:
            self._pass(event.time_s)
            self._end(event.column_family)

    def _stall(self, event: LoggedStall) -> StallFound:
        kind = event.column_family, event.cause, event.condition
        last = self._last.get(kind)
        if last is not None and self.now_s - last.end_s < self.merged_within_s:
            return last
        if len(self.found) >= _STALLS_MOST:
            self._merge()
        if len(self._last) >= _FAMILIES_MOST:
            self._last.clear()
        stall = StallFound(self.now_s, self.now_s, event.cause, event.condition, event.column_family, self._led(event))
        self._last[kind] = stall
        self.found.append(stall)
        return stall

    def _end(self, family: str, *, ended: bool = True) -> None:
        self._count(self._open.pop(family), ended=ended and self.tells_ends)

    def _count(self, now: _Open, *, ended: bool) -> None:
        """Count a stall up to now, or up to its last line in a LOG that does not tell its end."""
        until_s = self.now_s if self.tells_ends else max(now.counted_s, min(self.now_s, now.last_line_s))
        now.stall.stalled_s += until_s - now.counted_s
        now.stall.end_s, now.stall.ended = until_s, ended
        now.counted_s = until_s

    def _pass(self, time_s: float) -> None:
        """Advance the time; it never goes back, because lines are out of order by moments."""
        if time_s > self.now_s:
            holding = [now for now in self._open.values() if self.tells_ends or now.last_line_s >= time_s]
            if holding:
                self._held(self.now_s, time_s, frozenset(now.stall.cause for now in holding))
            self.now_s = time_s

    def _set_clock(self, time_s: float) -> None:
        """Follow a wall clock that was set back, and the way back, which takes no time.

        Where summer time ends, lines are an hour early until an EVENT_LOG_v1 line shows the new offset.
        """
        newest_s = time_s if self._newest_s is None else self._newest_s
        step_s = time_s - newest_s
        self._newest_s = max(time_s, newest_s)
        if step_s < -JUMP_S:
            self._close(self.now_s)
            self._back_from_s = max(newest_s, self._back_from_s or newest_s)
            self.now_s = min(self.now_s, time_s)
            self._newest_s = time_s
            self._last.clear()
        elif self._back_from_s is not None and time_s > self._back_from_s - JUMP_S:
            self._back_from_s = None
            if step_s > JUMP_S:
                self.now_s += step_s
                for now in self._open.values():
                    now.move(step_s)

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
