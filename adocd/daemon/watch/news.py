"""What one target's loop tells of itself: each change of its state and of its stalls once, and each tick."""

from collections import deque
from collections.abc import Callable, Iterable

from adocd.daemon.watch.events import Events
from adocd.diagnosis.watch import StallNow
from adocd.diagnosis.watch.seen import Named, StallSeen
from adocd.diagnosis.watch.watch import StallWatch
from adocd.model.decision_record import DecisionRecord

#: Of the stalls that began and ended between two looks so many are looked at.
_BRIEF_MOST = 64


class News:
    """One target's events. `wall_clock` is seconds since the epoch."""

    def __init__(self, target: str, path: str, events: Events, wall_clock: Callable[[], float]) -> None:
        self._target = target
        self._path = path
        self._events = events
        self._wall_clock = wall_clock
        self._state = "closed"
        self._stall: StallNow | None = None
        #: How many stalls were over at the last look, and until when stalls have been told.
        self._over = 0
        self._told_until_s = wall_clock()

    def decided(self, record: DecisionRecord) -> None:
        """Tell a decision, or its outcome."""
        self._tell("decision", record=record)

    def ticked(self, state: str, sentence: str) -> None:
        """Tell what a tick has found."""
        if state != self._state:
            self._state = state
            self._tell("target", state=state, sentence=sentence)
        self._events.sampled(self._wall_clock(), target=self._target, path=self._path)

    def looked(self, watch: StallWatch) -> None:
        """Tell what has become of writes since the last look."""
        now, before, self._stall = watch.now, self._stall, watch.now
        over, self._over = watch.over - self._over, watch.over
        if now is not None and before is None:
            self._tell("stall", state="began", stall=now)
        elif now is None and before is not None:
            self._told_until_s = _end_of(before, watch.found) or self._wall_clock()
            self._tell("stall", state="ended", stall=before, ended_unix_s=self._told_until_s)
        elif now is not None and before is not None and _what(now) != _what(before):
            self._tell("stall", state="changed", stall=now)
        elif now is None and over and (brief := self._news_of(watch.found, over)):
            self._tell_brief(brief)

    def _news_of(self, found: deque[StallSeen], over: int) -> list[StallSeen]:
        """List what ended since the last look and was not told: a LOG tells again, more exactly, what is known."""
        newest = list(found)[-min(over, _BRIEF_MOST) :]  # at once: looks go on adding in their thread
        return [seen for seen in newest if seen.begin_unix_s >= self._told_until_s]

    def _tell_brief(self, seen: list[StallSeen]) -> None:
        """Tell stalls that were over before anybody could see them, together."""
        worst = min(seen, key=lambda one: (one.condition != "stopped", one.begin_unix_s))
        causes = dict.fromkeys(Named(one.cause, one.column_family) for one in (worst, *seen))
        self._told_until_s = max(one.end_unix_s for one in seen)
        times = "once" if len(seen) == 1 else f"{len(seen)} times"
        stall = StallNow(
            condition=worst.condition,
            causes=tuple(causes),
            since_unix_s=min(one.begin_unix_s for one in seen),
            noticed_unix_s=min(one.noticed_unix_s for one in seen),
            evidence=worst.evidence,
            why=f"writes were {worst.condition} {times}, and flowed again before the next look",
        )
        # Both have the end: whoever shows a beginning says that it is over.
        for state in ("began", "ended"):
            self._tell("stall", state=state, stall=stall, ended_unix_s=self._told_until_s)

    def _tell(self, kind: str, **members: object) -> None:
        self._events.publish(
            kind,  # type: ignore[arg-type]
            self._wall_clock(),
            target=self._target,
            path=self._path,
            **members,
        )


def _what(stall: StallNow) -> object:
    return stall.condition, stall.causes


def _end_of(stall: StallNow, found: Iterable[StallSeen]) -> float | None:
    """Say when a stall that is over ended, as far as that is known."""
    ends = (one.end_unix_s for one in list(found)[-_BRIEF_MOST:])
    return max((end_s for end_s in ends if end_s >= stall.since_unix_s), default=None)
