"""From the lines about stalls to stalls, with a beginning and an end.

A line says that writes must be delayed or stopped; no line says that this is over. But RocksDB judges anew each time
it installs a superversion, and writes the line again as long as the condition holds
(db/column_family.cc, RecalculateWriteStallConditions). So a stall is over with the first install without a line:

- A flush_finished or compaction_finished event is made under the mutex that its install holds, too
  (DBImpl::FlushMemTableToOutputFile, DBImpl::BackgroundCompaction), and it is written after both: where the column
  family has no line as young as the event when the event is read, its condition has ended with that job.
- A new memtable comes with an install right after its line; where none of the next `_SILENT_S` has a line about a
  stall, the condition was gone before (after SetOptions, for instance), and ends there at the latest.
- The close, the end of the LOG, and the next open end what is left; there the LOG does not tell the end (`ended`).

What is found is how long the condition held. RocksDB's own stall time (the periodic dump) is how long writers waited
for it: less, where writes were delayed and not stopped, or where nobody wrote.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from adocd.probes.log.background import Led
from adocd.probes.log.events import (
    Cause,
    CompactionFinished,
    Condition,
    FlushFinished,
    MemtableSwitched,
    Stall,
)

#: Stalls of one kind that are closer than this are told as one.
MERGED_WITHIN_S = 1.0
#: So many are told at most: where there are more, those that are farther apart are told as one, too.
_STALLS_MOST = 5000
#: A new memtable's install follows its line at once; a busy machine gets this long.
_SILENT_S = 1.0
#: The wall clock was set back, or this is another database's LOG; lines are out of order by far less.
SET_BACK_S = 60.0
#: Column families that may stall at once; there are not more in a LOG that is whole.
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
    #: The LOG tells the end.
    ended: bool = True

    def say(self, line: Stall) -> None:
        """Take what one more line says."""
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
    #: Until when it is in the stall's seconds.
    counted_s: float
    #: A memtable was switched since the last line.
    switched_s: float | None = None


@dataclass(frozen=True, slots=True)
class OpenStall:
    """What a column family's writes are held for, as far as the LOG tells; since when in unix seconds."""

    cause: Cause
    condition: Condition
    since_s: float
    figure: int | None
    limit: int | None


class Stalls:
    """Finds the stalls; `held` is told, in order, from when until when which causes held."""

    def __init__(
        self,
        led: Callable[[Stall], Led],
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
        """The stalls that are not over yet, by column family; one each at most."""
        return {
            family: OpenStall(now.stall.cause, now.stall.condition, now.since_s, now.stall.figure, now.stall.limit)
            for family, now in self._open.items()
        }

    def take_ended(self) -> list[StallFound]:
        """Return the stalls found that are over, and forget them: for who follows a LOG that has no end."""
        still = {id(now.stall) for now in self._open.values()}
        ended = [stall for stall in self.found if id(stall) not in still]
        self.found = [stall for stall in self.found if id(stall) in still]
        self._last = {kind: stall for kind, stall in self._last.items() if id(stall) in still}
        return ended

    def line(self, event: Stall) -> None:
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
        """Take the end of a flush or compaction, which may be the end of a stall."""
        family = event.column_family
        if family is None and len(self._open) == 1:  # the LOG begins in the middle of the job
            family = next(iter(self._open))
        now = None if family is None else self._open.get(family)
        if family is None or now is None or now.last_line_s >= event.time_s or event.damaged:
            return
        self._pass(event.time_s if now.switched_s is None else min(now.switched_s, event.time_s))
        self._end(family)

    def memtable(self, event: MemtableSwitched) -> None:
        """Take the beginning of a new memtable, whose install would be followed by a line."""
        now = self._open.get(event.column_family)
        if now is None:
            return
        if now.switched_s is None:
            now.switched_s = event.time_s
        elif event.time_s - now.switched_s > _SILENT_S:
            self._pass(now.switched_s)
            self._end(event.column_family)

    def close(self, time_s: float, *, ended: bool = False) -> None:
        """End what is left; `ended` says whether the LOG tells that it is over."""
        self._pass(time_s)
        for family in list(self._open):
            self._end(family, ended=ended)

    def so_far(self, time_s: float) -> None:
        """Let what is found say how long what is not over yet has lasted; the LOG may go on."""
        self._pass(time_s)
        for now in self._open.values():
            now.stall.stalled_s += self._now_s - now.counted_s
            now.stall.end_s, now.stall.ended = self._now_s, False
            now.counted_s = self._now_s

    def _stall(self, event: Stall) -> StallFound:
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
        """Let time pass; lines are out of order by moments, so it never goes back."""
        if time_s > self._now_s:
            if self._open:
                self._held(self._now_s, time_s, frozenset(now.stall.cause for now in self._open.values()))
            self._now_s = time_s

    def _look_back(self, time_s: float) -> None:
        if self._now_s - time_s > SET_BACK_S:
            self.close(self._now_s)
            self._now_s = time_s
            self._last.clear()

    def _merge(self) -> None:
        """Tell as one what is farther apart, until there are half as many."""
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
        if len(self.found) >= _STALLS_MOST:  # thousands of column families: the shortest are not told one by one
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
