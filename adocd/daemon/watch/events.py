"""What happens in the daemon, as it happens: one ring for all readers, who each have a place in it.

A reader costs a number, whatever it reads or does not: one that is too slow finds that its place has fallen out of the
ring, and is told how much it has lost. Everything here belongs to the event loop.
"""

import asyncio
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["sample", "decision", "stall", "target", "operation", "daemon"]
KINDS: tuple[Kind, ...] = ("sample", "decision", "stall", "target", "operation", "daemon")

#: So many events are kept, samples aside: about 1 KiB each, a few hours of a database in trouble.
KEPT = 5_000


@dataclass(slots=True)
class Event:
    """One thing that happened; `members` are what its kind has beside these.

    Ids grow by one with each event that is kept. A sample is not, and has the id of the last one that was, so that a
    reader can go on from there.
    """

    id: int
    unix_s: float
    kind: Kind | Literal["lost"]
    target: str | None = None
    path: str | None = None
    members: Mapping[str, Any] = field(default_factory=dict)
    #: As it is sent; made by who sends it first, for all who send it.
    encoded: bytes | None = field(default=None, compare=False, repr=False)


class Events:
    """All events of this daemon. `first_id` is larger than the ids of all daemons before, so that none is mistaken."""

    def __init__(self, first_id: int = 1, kept: int = KEPT) -> None:
        self._kept: deque[Event] = deque(maxlen=kept)
        self._first_id = first_id
        self._next_id = first_id
        self._feeds: set[Feed] = set()

    @property
    def newest_id(self) -> int:
        """The id of the newest event; one below the first while there is none."""
        return self._next_id - 1

    @property
    def readers(self) -> int:
        """How many follow them now."""
        return len(self._feeds)

    def publish(
        self, kind: Kind, unix_s: float, *, target: str | None = None, path: str | None = None, **members: Any
    ) -> None:
        """Tell all readers, and keep it for those who come back."""
        event = Event(self._next_id, unix_s, kind, target, path, members)
        self._next_id += 1
        self._kept.append(event)
        for feed in self._feeds:
            feed.wake(event)

    def sampled(self, unix_s: float, *, target: str, path: str) -> None:
        """Tell who reads now that a target was sampled: of each target the newest is enough."""
        if not self._feeds:
            return
        event = Event(self.newest_id, unix_s, "sample", target, path)
        for feed in self._feeds:
            feed.sampled(event)

    def read(
        self, *, target: str | None = None, kinds: frozenset[str] = frozenset(KINDS), after: int | None = None
    ) -> "Feed":
        """Begin to read: from now on, or after the event with this id. Close it in the end."""
        feed = Feed(self, target, kinds, self._next_id if after is None else after + 1)
        self._feeds.add(feed)
        return feed

    # -- for feeds

    def from_place(self, place: int, unix_s: float) -> Event | None:
        """Give the event at this place; what is lost where it has fallen out, and None where it is yet to come."""
        oldest = self._kept[0].id if self._kept else self._next_id
        if place > self._next_id:
            place = self._first_id  # of another daemon, with a clock ahead of ours
            return Event(place - 1, unix_s, "lost", members={"count": None})
        if place < oldest:
            # Of a daemon before this one nobody knows how much there was.
            count = oldest - place if place >= self._first_id else None
            return Event(oldest - 1, unix_s, "lost", members={"count": count})
        return self._kept[place - oldest] if place < self._next_id else None

    def forget(self, feed: "Feed") -> None:
        """Tell it nothing more."""
        self._feeds.discard(feed)


class Feed:
    """One reader's place."""

    def __init__(self, events: Events, target: str | None, kinds: frozenset[str], place: int) -> None:
        """For `Events.read`."""
        self._events = events
        self._target = target
        self._kinds = kinds
        self._place = place
        self._samples: dict[str | None, Event] = {}
        self._awake = asyncio.Event()

    def wake(self, event: Event) -> None:
        """Let the reader look at what has come, where it may be for him."""
        if self._wants(event):
            self._awake.set()

    def sampled(self, event: Event) -> None:
        """Keep the newest sample of each target for the reader."""
        if self._wants(event):
            self._samples[event.target] = event
            self._awake.set()

    def take(self, most: int, unix_s: float) -> list[Event]:
        """Return what is there, the oldest first, at most so many. `unix_s` is now: when a loss is found."""
        taken: list[Event] = []
        while len(taken) < most and (event := self._take(unix_s)) is not None:
            taken.append(event)
        if not taken:
            self._awake.clear()
        return taken

    async def wait(self, patience_s: float) -> bool:
        """Return when something may be there to take, after `take` found nothing; False when nothing came for long."""
        try:
            async with asyncio.timeout(patience_s):
                await self._awake.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Read no more."""
        self._events.forget(self)

    def _take(self, unix_s: float) -> Event | None:
        while (event := self._events.from_place(self._place, unix_s)) is not None:
            self._place = event.id + 1
            if event.kind == "lost" or self._wants(event):
                return event
        if self._samples:
            return self._samples.pop(next(iter(self._samples)))
        return None

    def _wants(self, event: Event) -> bool:
        return event.kind in self._kinds and (self._target is None or event.target in (None, self._target))
