"""The daemon's live events: one ring buffer for all readers, each with a position in it.

A reader costs one integer, however slow it is: if its position has been overwritten, it is told how many events it
has lost. Use everything here only from the event loop.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Kind = Literal["sample", "decision", "stall", "target", "operation", "daemon"]
KINDS: tuple[Kind, ...] = ("sample", "decision", "stall", "target", "operation", "daemon")

#: Number of events kept, not counting samples: about 1 KiB each, a few hours of a database in trouble.
KEPT = 5_000


@dataclass(slots=True)
class TargetEvent:
    """One event; `members` holds the further fields of its kind.

    Ids grow by one with each kept event. A sample is not kept, and has the id of the last kept event, so that a reader
    can resume from there.
    """

    id: int
    unix_s: float
    kind: Kind | Literal["lost"]
    target: str | None = None
    path: str | None = None
    members: Mapping[str, Any] = field(default_factory=dict)
    #: The event as sent; the first sender encodes it for all others.
    encoded: bytes | None = field(default=None, compare=False, repr=False)


class Events:
    """All events of this daemon. `first_id` is above all ids of earlier daemons, so that ids are never confused."""

    def __init__(self, first_id: int = 1, kept: int = KEPT) -> None:
        self._kept: deque[TargetEvent] = deque(maxlen=kept)
        self._first_id = first_id
        self._next_id = first_id
        self._feeds: set[EventReader] = set()

    @property
    def newest_id(self) -> int:
        """The id of the newest event; `first_id` - 1 if there is none."""
        return self._next_id - 1

    @property
    def readers(self) -> int:
        """Number of readers now."""
        return len(self._feeds)

    def publish(
        self, kind: Kind, unix_s: float, *, target: str | None = None, path: str | None = None, **members: Any
    ) -> None:
        """Send an event to all readers, and keep it for those that reconnect."""
        event = TargetEvent(self._next_id, unix_s, kind, target, path, members)
        self._next_id += 1
        self._kept.append(event)
        for feed in self._feeds:
            feed.wake(event)

    def sampled(self, unix_s: float, *, target: str, path: str) -> None:
        """Tell the present readers that a target was sampled; only the newest sample of each target counts."""
        if not self._feeds:
            return
        event = TargetEvent(self.newest_id, unix_s, "sample", target, path)
        for feed in self._feeds:
            feed.sampled(event)

    def read(
        self,
        *,
        target: str | None = None,
        kinds: frozenset[str] = frozenset(KINDS),
        after: int | None = None,
        last: int | None = None,
    ) -> "EventReader":
        """Start reading: from now on, or after the event with this id, or from the `last` newest ones that it wants.

        With both, from the later of the two places. Close the feed when done.
        """
        feed = EventReader(self, target, kinds, self._next_id if after is None else after + 1)
        if last is not None:
            feed.go_back(last, reversed(self._kept), self._first_id if after is None else after + 1)
        self._feeds.add(feed)
        return feed

    # -- for feeds

    def from_place(self, place: int, unix_s: float) -> TargetEvent | None:
        """Return the event at this position: a `lost` event if it was overwritten, None if it is yet to come."""
        oldest = self._kept[0].id if self._kept else self._next_id
        if place > self._next_id:
            place = self._first_id  # from another daemon, whose clock was ahead of ours
            return TargetEvent(place - 1, unix_s, "lost", members={"count": None})
        if place < oldest:
            # How many events an earlier daemon had is unknown.
            count = oldest - place if place >= self._first_id else None
            return TargetEvent(oldest - 1, unix_s, "lost", members={"count": count})
        return self._kept[place - oldest] if place < self._next_id else None

    def forget(self, feed: "EventReader") -> None:
        """Stop waking this feed."""
        self._feeds.discard(feed)


class EventReader:
    """One reader's position in the ring."""

    def __init__(self, events: Events, target: str | None, kinds: frozenset[str], place: int) -> None:
        """Create a feed; only `Events.read` does."""
        self._events = events
        self._target = target
        self._kinds = kinds
        self._place = place
        self._samples: dict[str | None, TargetEvent] = {}
        self._awake = asyncio.Event()

    def go_back(self, most: int, newest_first: Iterable[TargetEvent], least: int) -> None:
        """Start at the `most` newest events that the reader wants, none of them with an id below `least`."""
        wanted = (event.id for event in newest_first if self._wants(event) and event.id >= least)
        self._place = min(itertools.islice(wanted, most), default=self._events.newest_id + 1)

    def wake(self, event: TargetEvent) -> None:
        """Wake the reader if it may want this event."""
        if self._wants(event):
            self._awake.set()

    def sampled(self, event: TargetEvent) -> None:
        """Keep the newest sample of each target for the reader."""
        if self._wants(event):
            self._samples[event.target] = event
            self._awake.set()

    def take(self, most: int, unix_s: float) -> list[TargetEvent]:
        """Return at most `most` events, oldest first. `unix_s` is now, the time given to a `lost` event."""
        taken: list[TargetEvent] = []
        while len(taken) < most and (event := self._take(unix_s)) is not None:
            taken.append(event)
        if not taken:
            self._awake.clear()
        return taken

    async def wait(self, patience_s: float) -> bool:
        """Wait until `take`, which returned nothing, may return something; False if that lasts `patience_s` seconds."""
        try:
            async with asyncio.timeout(patience_s):
                await self._awake.wait()
        except TimeoutError:
            return False
        return True

    def close(self) -> None:
        """Stop reading."""
        self._events.forget(self)

    def _take(self, unix_s: float) -> TargetEvent | None:
        while (event := self._events.from_place(self._place, unix_s)) is not None:
            self._place = event.id + 1
            if event.kind == "lost" or self._wants(event):
                return event
        if self._samples:
            return self._samples.pop(next(iter(self._samples)))
        return None

    def _wants(self, event: TargetEvent) -> bool:
        return event.kind in self._kinds and (self._target is None or event.target in (None, self._target))
