"""The whole diagnosis: it processes a LOG's events one by one and keeps none, so its memory is bounded."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from adocd.diagnosis.advice import advise
from adocd.diagnosis.around import Around, Surrounded
from adocd.diagnosis.held import HeldWriters, held_by_stalls
from adocd.diagnosis.stall_options import BY_CAUSE, Knobs
from adocd.diagnosis.stalls.seen import StallSeen
from adocd.diagnosis.timeline import Timeline
from adocd.diagnosis.waited import Waited
from adocd.model.snapshot import OptionValues
from adocd.model.stall import CAUSES
from adocd.probes.log.background import BackgroundHistory, Led
from adocd.probes.log.dump_events import ColumnFamilyStats, DbStats
from adocd.probes.log.events import (
    Cause,
    CompactionFinished,
    CompactionPressure,
    CompactionStarted,
    FlushFinished,
    HeaderLine,
    LevelSummary,
    LogEvent,
    LoggedStall,
    OptionsChanged,
    OptionsListed,
)
from adocd.probes.log.opens import Opened, Opens
from adocd.probes.log.parser import SteppedBack
from adocd.probes.log.stalls import StallFound, Stalls
from adocd.probes.log.steady import SteadyTime

_LONGEST = 3
_BY_ROCKSDB = "by_rocksdb"
_ANY = "any"
#: Disks and process are measured about once a second, so for a shorter stall the time around it is used.
_AROUND_LEAST_S = 2.0


class Diagnosis:
    """Takes events in the order of the LOG; call `end`, then `summary`."""

    def __init__(self) -> None:
        self.events: Counter[str] = Counter()
        self.begin_s: float | None = None
        self.end_s: float | None = None
        self.rocksdb_version: str | None = None
        self._steady = SteadyTime()
        self._knobs = Knobs()
        #: The options in force now, where an agent tells them.
        self._in_force: OptionValues | None = None
        self._opens = Opens()
        #: The current open: when it began, and when the LOG shows the first change of an option.
        self._opened_s: float | None = None
        self._changed_s: float | None = None
        self._background = BackgroundHistory()
        self._held = Timeline()
        self._stalls = Stalls(self._led, self._hold)
        #: The stall seconds that RocksDB itself reports.
        self._waited = Waited()
        self._sides: dict[type[LogEvent], Callable[[Any], None]] = {
            LoggedStall: self._figure,
            FlushFinished: self._background.flushed,
            CompactionFinished: self._background.compacted,
            CompactionStarted: self._background.compacting,
            LevelSummary: self._background.summary,
            CompactionPressure: self._figure,
            ColumnFamilyStats: lambda e: self._background.pending(e.column_family, e.pending_compaction_bytes),
            DbStats: self._dump,
            OptionsListed: self._knobs.listed,
            OptionsChanged: self._change,
            HeaderLine: self._header,
        }

    def covers(self, begin_s: float, end_s: float) -> None:
        """Mark this time as observed, whether anything happened in it or not."""
        self.begin_s = begin_s if self.begin_s is None else min(begin_s, self.begin_s)
        self._background.begins(self.begin_s)
        self.end_s = end_s if self.end_s is None else max(end_s, self.end_s)

    def learn(self, event: LogEvent) -> None:
        """Add facts from elsewhere that no LOG has."""
        side = self._sides.get(type(event))
        if side is not None:
            side(event)

    def in_force(self, options: OptionValues) -> None:
        """Take the options that an agent reads now: a LOG's next file has only those of the open."""
        self._in_force = options

    def counted(self, session: str, time_s: float, waited_s: float) -> None:
        """Add an agent's counter of writers' waits at this time: seconds since the session's open."""
        self._waited.counted(session, time_s, waited_s)

    def found(self, seen: StallSeen) -> StallFound:
        """Add a stall that was seen outside the LOG, with what led to it."""
        family = seen.column_family or ""
        led = self._background.led(family, seen.begin_unix_s, self._knobs.of(family, seen.cause))
        lasted_s = seen.end_unix_s - seen.begin_unix_s
        return StallFound(seen.begin_unix_s, seen.end_unix_s, seen.cause, seen.condition, family, led, lasted_s)

    def add(self, event: LogEvent) -> None:
        """Process the next event of the LOG."""
        self.events[event.kind] += 1
        for each in self._steady.take(event):
            self._add(each)

    def _add(self, event: LogEvent) -> None:
        if self.begin_s is None:
            self.begin_s = event.time_s
            self._held.begin(event.time_s)
            self._background.begins(event.time_s)
        self.begin_s = min(self.begin_s, event.time_s)  # lines are out of order by moments
        if (opened := self._opens.take(event)) is not None:
            self._opened(opened)
        if not (self._opens.is_repeating and isinstance(event, OptionsListed)):
            self.learn(event)
        self._stalls.take(event)
        self.end_s = event.time_s if self.end_s is None else max(self.end_s, event.time_s)

    def end(self) -> None:
        """End the diagnosis: there are no more events."""
        for event in self._steady.end():
            self._add(event)
        if (opened := self._opens.settle()) is not None:
            self._opened(opened)
        self._stalls.close(self.end_s or 0.0)

    @property
    def tells_ends(self) -> bool:
        """Whether the current open has a line of level INFO: without those, no LOG tells when a stall is over."""
        return self._stalls.tells_ends

    def so_far(self) -> None:
        """Count open stalls up to the last event, for a summary while the LOG goes on."""
        if self.end_s is not None:
            self._stalls.so_far(self.end_s)

    def summary(
        self,
        *,
        lines: int = 0,
        unread: Mapping[str, int] | None = None,
        stepped_back: Sequence[SteppedBack] = (),
        stalls: tuple[list[StallFound], Timeline] | None = None,
        surrounded: Surrounded | None = None,
    ) -> dict[str, Any]:
        """Return the whole diagnosis in its JSON form; docs/explain.md or the unit in its name describes each field.

        `stalls` and their durations replace those of the LOG where there is none; `surrounded` is what was measured of
        disks and process meanwhile.
        """
        stalls_found, held = stalls or (self._stalls.found, self._held)

        def around(stall: StallFound) -> Around | None:
            more_s = max(0.0, _AROUND_LEAST_S - (stall.end_s - stall.begin_s)) / 2
            return _around(surrounded, stall.begin_s - more_s, stall.end_s + more_s)

        found = sorted(stalls_found, key=lambda stall: (stall.begin_s, stall.end_s))
        longest = sorted(found, key=lambda stall: -stall.stalled_s)[:_LONGEST]
        unread = unread or {}
        end_s = None if self.end_s is None or self.begin_s is None else max(self.begin_s, self.end_s)
        return {
            "rocksdb_version": self.rocksdb_version,
            "begin": self.begin_s,
            "begin_iso": _iso(self.begin_s),
            "end": end_s,
            "end_iso": _iso(end_s),
            "lines": lines,
            "unread_lines": sum(unread.values()),
            "unread_lines_by_kind": dict(unread),
            "stepped_back": [asdict(each) for each in stepped_back],
            "events": dict(sorted(self.events.items())),
            "stall_s": {cause: round(held.total_s[cause], 6) for cause in CAUSES},
            "stalled_s": round(held.total_s[_ANY], 6),
            "stall_s_by_rocksdb": _rounded(self._waited.total_s),
            "stall_s_by_rocksdb_until": self._waited.until_s,
            "stalls": [_stall(stall) for stall in found],
            "stalls_merged_within_s": self._stalls.merged_within_s,
            "longest": [
                _stall(stall) | {"led": asdict(stall.led), "around": _as_json(around(stall))} for stall in longest
            ],
            "over_time": self._over_time(held, surrounded),
            "advice": [asdict(each) for each in advise(found, around, self._now)],
        }

    def _over_time(self, held: Timeline, surrounded: Surrounded | None) -> list[dict[str, Any]]:
        return [
            {"begin": begin_s, "end": end_s}
            | {cause: round(seconds.get(cause, 0.0), 6) for cause in (*CAUSES, _ANY)}
            | {_BY_ROCKSDB: _rounded(self._waited.between(begin_s, end_s))}
            | {"around": _as_json(_around(surrounded, begin_s, end_s))}
            for begin_s, end_s, seconds in held.buckets(self.end_s or 0.0)
        ]

    def held_before(self, time_s: float, span_s: float) -> HeldWriters | None:
        """Return how writers fared before this time, unix seconds, by the LOG; None if the LOG does not tell.

        Only the current open counts, until the first change of an option: later nobody knows who controls it.
        """
        until_s = time_s if self._changed_s is None else min(time_s, self._changed_s)
        if self._opened_s is None or self._opened_s >= until_s or not self.tells_ends:
            return None
        return held_by_stalls(self._stalls.found, max(self._opened_s, until_s - span_s), until_s)

    def _change(self, event: OptionsChanged) -> None:
        self._knobs.changed(event)
        if self._changed_s is None and event.outcome != "unchanged":
            self._changed_s = event.time_s

    def _now(self, column_family: str, cause: Cause) -> Mapping[str, str]:
        """Return the options in force now that matter for this cause."""
        known, options = self._knobs.of(column_family, cause), self._in_force
        if options is None:
            return known
        read = {**options.database, **options.column_families.get(column_family, {})}
        return known | {name: read[name] for name in BY_CAUSE[cause] if name in read}

    def _led(self, event: LoggedStall) -> Led:
        options = self._knobs.of(event.column_family, event.cause)
        return self._background.led(event.column_family, event.time_s, options)

    def _hold(self, begin_s: float, end_s: float, causes: frozenset[Cause]) -> None:
        self._held.add(begin_s, end_s, (*causes, _ANY))

    def _figure(self, event: LoggedStall | CompactionPressure) -> None:
        if event.figure is not None and event.cause == "l0":
            self._background.l0(event.column_family, event.figure)
        elif event.figure is not None and event.cause == "pending_bytes":
            self._background.pending(event.column_family, event.figure)

    def _header(self, event: HeaderLine) -> None:
        if event.name == "rocksdb_version":
            self.rocksdb_version = event.value

    def _opened(self, opened: Opened) -> None:
        self._opened_s, self._changed_s = opened.time_s, None
        self._background.opened(opened.time_s)
        self._waited.opened(opened.time_s)

    def _dump(self, event: DbStats) -> None:
        total_s = event.cumulative.get("stall_s")
        if total_s is None:
            return
        uptime_s = event.interval.get("uptime_s")
        since_s = None if uptime_s is None else max(event.time_s - uptime_s, self.begin_s or 0.0)
        self._waited.dumped(event.time_s, total_s, event.interval.get("stall_s"), since_s)


def _stall(stall: StallFound) -> dict[str, Any]:
    return {
        "begin": stall.begin_s,
        "begin_iso": _iso(stall.begin_s),
        "end": stall.end_s,
        "end_iso": _iso(stall.end_s),
        "stalled_s": round(stall.stalled_s, 6),
        "ended": stall.ended,
        "cause": stall.cause,
        "kind": stall.condition,
        "column_family": stall.column_family,
        "lines": stall.lines,
        "said": {"figure": stall.figure, "limit": stall.limit, "rate_bytes_per_s": stall.rate_bytes_per_s},
    }


def _around(surrounded: Surrounded | None, begin_s: float, end_s: float) -> Around | None:
    return None if surrounded is None else surrounded.between(begin_s, end_s)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)


def _as_json(around: Around | None) -> dict[str, Any] | None:
    return None if around is None else asdict(around)


def _iso(time_s: float | None) -> str | None:
    try:
        return None if time_s is None else datetime.fromtimestamp(time_s, UTC).isoformat(timespec="milliseconds")
    except (ValueError, OverflowError, OSError):
        return None
