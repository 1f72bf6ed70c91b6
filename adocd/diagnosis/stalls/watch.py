"""One target's stalls as they happen: from samples, from the LOG while an agent cannot answer, and from its silence.

Pure: the caller passes what came and when (unix seconds); there is no clock and no I/O here. The condition is the one
that the sample reports (adocd.model.sample: events or properties, whichever is worse). Its cause comes from RocksDB's
own counts that grew in the window, then from RocksDB's rule on the sample's figures (adocd.model.stall), then from the
LOG.
"""

from collections import deque
from collections.abc import Iterable
from math import inf

from adocd.diagnosis.stalls.events import RANK, StallEvents
from adocd.diagnosis.stalls.log import StallLog
from adocd.diagnosis.stalls.seen import Kind, LastingStall, Named, StallBook, StallNow, StallSeen
from adocd.diagnosis.stalls.shares import shares
from adocd.diagnosis.stalls.stall_rule import figures_of_log, verdict
from adocd.diagnosis.stalls.window import FamilyWindow, SilentSpan, Window, cause_now, counts_of
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.snapshot import Event
from adocd.model.stall import Cause, Held
from adocd.probes.log.events import LogEvent

#: A sample is moments old when it arrives; the smallest delay of this many samples is the offset of its clock.
_OFFSETS = 32
_AHEAD_MOST = 1024
#: A LOG without a line for this long says nothing about now: by default RocksDB dumps its statistics every 600 s.
_STALE_S = 900.0
_UNKNOWN = "RocksDB's properties say so, and no figure or count of a column family says why"


class StallWatch:
    """Watches one target's stalls. `now` is the one in progress; `found` are the last finished ones."""

    def __init__(self) -> None:
        self._book = StallBook()
        self._events = StallEvents()
        self._log = StallLog()
        self._session: str | None = None
        self._offsets_s: deque[float] = deque(maxlen=_OFFSETS)
        self._silence: SilentSpan | None = None
        #: When the newest sample was taken: before that time the agent's word beats the LOG's.
        self._sampled_s = -inf
        #: Events newer than the newest sample: they came with it, but its figures do not include them.
        self._ahead: list[Event] = []

    @property
    def found(self) -> deque[StallSeen]:
        """The finished stalls in the order in which they were found; at most 1000."""
        return self._book.found

    @property
    def over(self) -> int:
        """The number of finished stalls ever found; it keeps growing when `found` is full."""
        return self._book.over

    @property
    def now(self) -> StallNow | None:
        """The stall in progress; None while writes flow, as far as known."""
        held, silence = self._held(), self._silence
        if silence is None or (held is not None and held.evidence == "LOG"):
            return held
        if held is None and not silence.may_be_stalled:
            return None
        why = f"the agent has been silent for {silence.silent_s:.1f} s"
        if held is not None:
            why += f"; when it last answered, {held.why}"
        elif silence.may_be_stalled:
            why += ", as it is while writes are stalled"
        return StallNow(
            condition="possibly",
            causes=() if held is None else held.causes,
            since_unix_s=silence.since_s if held is None else held.since_unix_s,
            noticed_unix_s=silence.noticed_s if held is None else held.noticed_unix_s,
            evidence="silence",
            why=f"{why}; {silence.surroundings}" if silence.surroundings else why,
        )

    def within(self, sample: Sample) -> tuple[float, dict[Cause, float]]:
        """Return when the sample just taken ended (unix s), and the share of it in which writes were held."""
        end_s = self._unix_s(sample.monotonic_s)
        return end_s, shares(self._book, end_s - sample.interval_s, end_s)

    def _held(self) -> StallNow | None:
        worst_first = sorted(self._book.open.items(), key=lambda item: -RANK[item[1].held])
        if not worst_first:
            return None
        condition = worst_first[0][1].held
        worst = [(family, seen) for family, seen in worst_first if seen.held == condition]
        first = min(worst, key=lambda item: item[1].begin_s)[1]
        return StallNow(
            condition=condition,
            causes=tuple(Named(seen.cause, family, seen.held) for family, seen in worst_first),
            since_unix_s=first.begin_s,
            noticed_unix_s=first.noticed_s,
            evidence=first.evidence,
            why=f"writes were {condition}: " + "; ".join(_words(family, seen) for family, seen in worst),
        )

    # -- what comes

    def sampled(self, sample: Sample, now_unix_s: float) -> None:
        """Take a sample that has just arrived."""
        if self._session != sample.session:
            self._begin_session(sample.session, now_unix_s)
            self._events = StallEvents(sample.condition_told_before, now_unix_s - sample.interval_s)
        self._offsets_s.append(now_unix_s - sample.monotonic_s)
        end_s = self._unix_s(sample.monotonic_s)
        window = Window(sample, end_s - sample.interval_s, end_s, now_unix_s, self._silence)
        events = [*self._ahead, *sample.events]
        self._ahead = [event for event in events if event.monotonic_s > sample.monotonic_s][-_AHEAD_MOST:]
        ended = self._events.take((e for e in events if e.monotonic_s <= sample.monotonic_s), self._unix_s)
        names = {cf.name for cf in sample.column_families}
        self._events.keep(names, sample.condition)
        held = self._held_in(sample)
        for cf in sample.column_families:
            now = self._kind_of(cf, held.get(cf.name), sample)
            FamilyWindow(self._book, window, cf).enter(ended.get(cf.name, []), now, self._events)
        self._unknown(held.get(None), window)
        for family in [family for family in self._book.open if family is not None and family not in names]:
            self._book.end(family, window.changed_s)
        self._silence, self._sampled_s = None, end_s

    def logged(self, events: Iterable[LogEvent], now_unix_s: float) -> None:
        """Take what was just read from the LOG; reading nothing is information too."""
        for stall in self._log.take(events):
            family, kind = stall.column_family, (stall.cause, stall.condition)
            seen = self._book.open.get(family)
            newer = self._silence is not None or stall.end_s > self._sampled_s
            if newer and seen is not None and seen.kind == kind and stall.end_s >= seen.begin_s:
                self._book.learn_open(family, kind, stall.begin_s)
                self._book.end(family, stall.end_s)
            else:
                self._book.learn_ended(family, kind, stall.begin_s, min(stall.end_s, now_unix_s), now_unix_s)
        self._follow_log(now_unix_s)

    def silent(
        self, silent_s: float, now_unix_s: float, may_be_stalled: bool, surroundings_in_words: str | None = None
    ) -> None:
        """Note how long the agent has been silent; `may_be_stalled`: it is silent as in a stall."""
        since_s, noticed_s = now_unix_s - max(0.0, silent_s), now_unix_s
        if self._silence is not None:
            since_s, noticed_s = min(since_s, self._silence.since_s), self._silence.noticed_s
        self._silence = SilentSpan(min(since_s, noticed_s), noticed_s, silent_s, may_be_stalled, surroundings_in_words)
        self._follow_log(now_unix_s)

    def closed(self, now_unix_s: float) -> None:
        """Note that the database was closed or its process has ended, so no writer waits any more."""
        self._log.close()
        for family in list(self._book.open):
            self._book.end(family, now_unix_s)
        self._begin_session(None, now_unix_s)

    # -- the session

    def _begin_session(self, session: str | None, now_unix_s: float) -> None:
        for family in list(self._book.open):
            self._book.end(family, now_unix_s)
        self._session = session
        self._events = StallEvents()
        self._offsets_s.clear()
        self._ahead = []
        self._silence, self._sampled_s = None, -inf

    def _unix_s(self, monotonic_s: float) -> float:
        return monotonic_s + min(self._offsets_s)

    # -- what holds now

    def _held_in(self, sample: Sample) -> dict[str | None, Held]:
        """Return the column families that hold writes now, and how; the key None is one that cannot be named."""
        worst = sample.condition
        if worst == "normal":
            return {}
        held: dict[str | None, Held] = {}
        for cf in sample.column_families:
            judged = verdict(cf, sample.options.column_families.get(cf.name, {})).condition
            by_event = self._events.current(cf.name)
            if by_event == "delayed" and sample.delayed_write_rate_bytes_per_s == 0 and worst == "delayed":
                by_event = "normal"  # the event of its end comes late; the property is up to date
            condition = judged if RANK[by_event] < RANK[judged] <= RANK[worst] else by_event
            if condition != "normal":
                held[cf.name] = condition
        if worst in held.values() or (worst == "delayed" and sample.delayed_write_rate_bytes_per_s == 0):
            return held
        names = {cf.name for cf in sample.column_families}
        counted = {cf.name for cf in sample.column_families if any(how == worst for _, how in counts_of(cf))}
        known = {family for family, seen in self._book.open.items() if family in names and seen.held == worst}
        logged = {family for family, stall in self._log.open.items() if family in names and stall.condition == worst}
        for families in (counted, known, logged):
            if families:
                return held | dict.fromkeys(families, worst)
        return held | {None: worst}

    def _kind_of(self, cf: ColumnFamilySample, held: Held | None, sample: Sample) -> Kind | None:
        if held is None:
            return None
        judged = verdict(cf, sample.options.column_families.get(cf.name, {}))
        known, logged = self._book.open.get(cf.name), self._log.open.get(cf.name)
        cause = cause_now(
            held,
            counts_of(cf),
            None if judged.condition == "normal" or judged.cause is None else (judged.cause, judged.condition),
            None if known is None else known.kind,
            None if logged is None else (logged.cause, logged.condition),
        )
        return cause, held

    def _unknown(self, held: Held | None, window: Window) -> None:
        """Keep the stall whose column family cannot be named."""
        seen = self._book.open.get(None)
        if seen is not None and seen.held != held:
            self._book.end(None, window.changed_s)
            seen = None
        if held is not None and seen is None:
            begin_s = window.changed_s
            unsure_s = (window.end_s - window.begin_s) / 2
            self._book.begin(
                None, LastingStall("other", held, begin_s, window.noticed_s(begin_s), "properties", _UNKNOWN, unsure_s)
            )

    def _follow_log(self, now_unix_s: float) -> None:
        """Use the LOG's open stalls as the current ones where the LOG is newer than the agent's word.

        It is newer when the agent is silent, and when a stall began after the agent's last sample: nothing has come
        from the agent since, and it may be blocked. Old lines, as in a LOG still being read up to now, do not count,
        and a line from before the last sample does not beat the stall that the agent reported in it.
        """
        if now_unix_s - self._log.newest_s > _STALE_S:
            return
        for family, stall in self._log.open.items():
            kind = (stall.cause, stall.condition)
            begin_s = min(stall.since_s, now_unix_s)
            seen, began_since = self._book.open.get(family), begin_s > self._sampled_s
            agent_said = None if seen is None or seen.evidence == "LOG" or began_since else seen.words
            newer = began_since or (self._silence is not None and agent_said is None)
            words = agent_said or figures_of_log(stall)
            if self._book.learn_open(family, kind, begin_s):
                if newer or (self._silence is not None and self._log.newest_s > self._sampled_s):
                    self._book.confirm(family, words)
            elif newer:
                noticed_s = now_unix_s
                if self._silence is not None and self._silence.may_be_stalled:
                    noticed_s = max(begin_s, self._silence.noticed_s)
                self._book.begin(family, LastingStall(*kind, begin_s, noticed_s, "LOG", words))


def _words(family: str | None, seen: LastingStall) -> str:
    where = "" if family is None else f"column family {family} has "
    return f"{where}{seen.words}"
