"""One column family's stalls by one sample: those that ended within its window, and the one in progress."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from adocd.diagnosis.stalls.events import Span, StallEvents
from adocd.diagnosis.stalls.seen import Evidence, Kind, LastingStall, StallBook
from adocd.diagnosis.stalls.stall_rule import figures
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.stall import COUNTS, Cause, Held


@dataclass(frozen=True, slots=True)
class SilentSpan:
    """An agent that does not answer: since when, and when that was noticed; unix seconds."""

    since_s: float
    noticed_s: float
    silent_s: float
    may_be_stalled: bool
    surroundings: str | None


@dataclass(frozen=True, slots=True)
class Window:
    """A sample and its window: from `begin_s` to `end_s`, received at `now_s`; unix seconds."""

    sample: Sample
    begin_s: float
    end_s: float
    now_s: float
    silence: SilentSpan | None

    @property
    def changed_s(self) -> float:
        """The best guess when something changed within the window."""
        if self.silence is None:
            return (self.begin_s + self.end_s) / 2
        return min(self.end_s, max(self.begin_s, self.silence.since_s))

    @property
    def waited_s(self) -> float | None:
        """Seconds that writers waited; RocksDB counts a wait when it is over."""
        fraction = self.sample.stalled_fraction
        return None if fraction is None else fraction * self.sample.interval_s

    def noticed_s(self, begin_s: float) -> float:
        """Return when a stall that began then was first shown: as `possibly`, before its cause was known."""
        if self.silence is None or not self.silence.may_be_stalled:
            return self.now_s
        return min(self.now_s, max(begin_s, self.silence.noticed_s))


class FamilyWindow:
    """Enters one column family's stalls into the book."""

    def __init__(self, book: StallBook, window: Window, cf: ColumnFamilySample) -> None:
        self._book, self._window, self._cf = book, window, cf
        self._counts = counts_of(cf)
        self._explained: set[Kind] = set()
        #: The current stall cannot have begun earlier.
        self._follows_s = window.changed_s

    def enter(self, ended: list[Span], now: Kind | None, events: StallEvents) -> None:
        """Enter the spans that ended, the current stall, and stalls known only from counts."""
        ended = ended + self._superseded(now, events)
        ended = [span for span in self._end_open(ended, now) if not self._is_known(span)]
        late = sum(span.begin_s is None for span in ended)
        for span in ended:
            self._enter_span(span, late)
        if now is not None:
            self._enter_now(now, events)
        for kind in self._counts:
            if kind not in self._explained:
                self._enter_counted(kind)

    def _end_open(self, ended: list[Span], now: Kind | None) -> list[Span]:
        """End the stall that was open when the window began, if it is over; return the spans of other stalls."""
        name = self._cf.name
        seen = self._book.open.get(name)
        if seen is None:
            return ended
        for at, span in enumerate(ended):
            if span.held == seen.held and span.end_s is not None and span.end_s >= seen.begin_s - seen.unsure_s:
                if len(ended) == 1 and span.begin_s is None:
                    self._book.open[name] = self._began_before_wait(seen, span.end_s)
                self._book.end(name, span.end_s)
                rest = ended[:at] + ended[at + 1 :]
                followed = any(other.held == seen.held for other in rest) or (now is not None and now[1] == seen.held)
                if not followed:  # else it may have been counted for what followed
                    self._explained.add(seen.kind)
                return rest
        self._explained.add(seen.kind)
        if now != seen.kind:
            # A blocked agent answers when the wait is over, which was for the open stall, unless another was counted.
            lasted = self._window.silence is not None and self._counts.keys() <= {seen.kind}
            self._book.end(name, self._window.end_s if lasted else self._window.changed_s)
        return ended

    def _superseded(self, now: Kind | None, events: StallEvents) -> list[Span]:
        """Find a stall that began in this window by its event, and gave way to a stop whose event is still to come."""
        name, w = self._cf.name, self._window
        since_s, current = events.since_s(name), events.current(name)
        if now is None or current in ("normal", now[1]) or since_s is None or since_s <= w.begin_s:
            return []
        self._follows_s = (since_s + w.end_s) / 2
        return [Span("stopped" if current == "stopped" else "delayed", since_s, self._follows_s)]

    def _is_known(self, span: Span) -> bool:
        """Whether it was seen while it lasted; a stop whose events come late has replaced it since."""
        return span.begin_s is not None and span.begin_s <= self._window.begin_s

    def _began_before_wait(self, seen: LastingStall, end_s: float) -> LastingStall:
        """Improve the guess when a stop began, now that RocksDB has counted how long writers waited."""
        waited_s = self._window.waited_s
        if not waited_s or seen.held != "stopped":
            return seen
        begin_s = min(seen.begin_s + seen.unsure_s, max(seen.begin_s - seen.unsure_s, end_s - waited_s))
        return replace(seen, begin_s=min(begin_s, seen.noticed_s))

    def _enter_span(self, span: Span, late: int) -> None:
        w, end_s = self._window, self._window.end_s if span.end_s is None else span.end_s
        begin_s = span.begin_s
        if begin_s is None:
            share_s = (w.waited_s or 0.0) / late
            begin_s = max(w.begin_s, end_s - share_s) if share_s else end_s
        cause = self._cause_of(span)
        if cause is None or self._book.has_logged(self._cf.name, (cause, span.held), begin_s, end_s):
            return
        self._explained.add((cause, span.held))
        self._book.add(
            self._cf.name, LastingStall(cause, span.held, begin_s, w.noticed_s(begin_s), "stall events"), end_s
        )

    def _cause_of(self, span: Span) -> Cause | None:
        """Return the cause of a finished span; None if the span is not new, because RocksDB counts each new one.

        Only events of stalls by memtables come late. If the properties have already shown such a stall, its events
        arrive after it has ended.
        """
        late = span.begin_s is None
        by_count = {cause: count for (cause, held), count in self._counts.items() if held == span.held}
        if not by_count:
            return None if self._cf.stall_counts else "memtable" if late else "other"
        if late and "memtable" in by_count:
            return "memtable"
        if not late and len(by_count) > 1:
            by_count.pop("memtable", None)
        return max(by_count, key=lambda cause: by_count[cause])

    def _enter_now(self, kind: Kind, events: StallEvents) -> None:
        name, w = self._cf.name, self._window
        self._explained.add(kind)
        words = figures(self._cf, *kind)
        seen = self._book.open.get(name)
        if seen is not None and seen.kind == kind:
            self._book.open[name] = replace(seen, words=words)
            return
        evidence: Evidence = "properties"
        begin_s, unsure_s = max(w.changed_s, self._follows_s), (w.end_s - w.begin_s) / 2
        since_s = events.since_s(name)
        if since_s is not None and events.current(name) == kind[1]:
            evidence, begin_s, unsure_s = "stall events", since_s, 0.0
            if seen is None and since_s < w.begin_s:  # another cause under the same condition, which has no event
                begin_s, unsure_s = w.changed_s, (w.end_s - w.begin_s) / 2
        self._book.begin(name, LastingStall(*kind, begin_s, w.noticed_s(begin_s), evidence, words, unsure_s))

    def _enter_counted(self, kind: Kind) -> None:
        """Enter stalls that began and ended within the window, which only the counts show."""
        w, begin_s = self._window, self._window.begin_s
        if self._book.has_logged(self._cf.name, kind, w.begin_s, w.end_s):
            return
        if w.silence is not None and w.waited_s:  # the agent answers as soon as the wait is over
            begin_s = max(begin_s, w.end_s - w.waited_s)
        self._book.add(self._cf.name, LastingStall(*kind, begin_s, w.noticed_s(begin_s), "counts"), w.end_s)


def counts_of(cf: ColumnFamilySample) -> dict[Kind, int]:
    """Return how often RocksDB counted each kind of stall within the window."""
    return {kind: cf.stall_counts[name] for name, kind in COUNTS.items() if cf.stall_counts.get(name, 0) > 0}


def cause_now(
    held: Held, counts: Mapping[Kind, int], judged: Kind | None, known: Kind | None, logged: Kind | None
) -> Cause:
    """Return the cause of the current stall: by RocksDB's counts, then its rule on the figures, then the last known.

    Where several were counted, the rule says which one holds now. A stall that goes on need not be counted again.
    """
    by_count = {cause: count for (cause, counted), count in counts.items() if counted == held}
    if judged is not None and judged[1] == held and (not by_count or judged[0] in by_count or judged == known):
        return judged[0]
    if known is not None and known[1] == held and (not by_count or known[0] in by_count):
        return known[0]
    if by_count:
        return max(by_count, key=lambda cause: by_count[cause])
    if logged is not None and logged[1] == held:
        return logged[0]
    return "other"
