"""The events that one target's loop publishes: each tick, and each change of its state and its stalls, once."""

from collections import deque
from collections.abc import Callable, Iterable

from adocd.daemon.watch.events import Events
from adocd.diagnosis.stalls import StallNow
from adocd.diagnosis.stalls.seen import Named, StallSeen
from adocd.diagnosis.stalls.watch import StallWatch
from adocd.model.decision_record import DecisionRecord

#: Most stalls examined of those that began and ended between two looks.
_BRIEF_MOST = 64


class News:
    """Publishes one target's events. `wall_clock` is seconds since the epoch."""

    def __init__(self, target: str, path: str, events: Events, wall_clock: Callable[[], float]) -> None:
        self._target = target
        self._path = path
        self._events = events
        self._wall_clock = wall_clock
        self._state = "closed"
        self._stall: StallNow | None = None
        #: Number of finished stalls at the last look, and the end of the last stall that was published.
        self._over = 0
        self._told_until_s = wall_clock()

    def decided(self, record: DecisionRecord) -> None:
        """Publish a decision or its outcome."""
        self._tell("decision", record=record)

    def ticked(self, state: str, sentence: str) -> None:
        """Publish a tick's result, and the target's state if it has changed."""
        if state != self._state:
            self._state = state
            self._tell("target", state=state, sentence=sentence)
        self._events.sampled(self._wall_clock(), target=self._target, path=self._path)

    def looked(self, watch: StallWatch) -> None:
        """Publish the stalls that began or ended since the last look."""
        # Somebody may have set the clock back: nothing that was told ended later than now.
        self._told_until_s = min(self._told_until_s, self._wall_clock())
        now, before, self._stall = watch.now, self._stall, watch.now
        over, self._over = watch.over - self._over, watch.over
        if now is not None and before is None:
            self._tell("stall", state="began", stall=now)
        elif now is None and before is not None:
            now_s = self._wall_clock()
            self._told_until_s = _end_of(before, watch.found, now_s) or now_s
            self._tell("stall", state="ended", stall=before, ended_unix_s=self._told_until_s)
        elif now is not None and before is not None and _what(now) != _what(before):
            self._tell("stall", state="changed", stall=now)
        elif now is None and over and (brief := self._news_of(watch.found, over)):
            self._tell_brief(brief)

    def _news_of(self, found: deque[StallSeen], over: int) -> list[StallSeen]:
        """Return the unpublished stalls that ended since the last look; a LOG may repeat known ones more exactly."""
        newest = list(found)[-min(over, _BRIEF_MOST) :]  # copied at once, because looks keep adding in their thread
        return [seen for seen in newest if seen.begin_unix_s >= self._told_until_s]

    def _tell_brief(self, seen: list[StallSeen]) -> None:
        """Publish stalls that ended before anybody saw them as one event."""
        worst = min(seen, key=lambda one: (one.condition != "stopped", one.begin_unix_s))
        causes = dict.fromkeys(Named(one.cause, one.column_family, one.condition) for one in (worst, *seen))
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
        # Both carry the end, so that whoever shows the beginning can say that it is over.
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


def _end_of(stall: StallNow, found: Iterable[StallSeen], now_s: float) -> float | None:
    """Return when a finished stall ended, or None if that is unknown."""
    ends = (one.end_unix_s for one in list(found)[-_BRIEF_MOST:])
    return max((end_s for end_s in ends if stall.since_unix_s <= end_s <= now_s), default=None)
