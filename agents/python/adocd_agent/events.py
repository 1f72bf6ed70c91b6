"""The ring of events that clients read by a cursor."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Set
from typing import Any

Json = Any
RING_EVENTS = 1024
"""Most events kept; lost_events counts the dropped ones."""


class EventRing:
    """Numbered events of one session; thread-safe."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Condition()
        self._closed = False
        self._events: deque[dict[str, Json]] = deque(maxlen=RING_EVENTS)
        self._last = 0

    def emit(self, kind: str, **members: Json) -> None:
        """Append an event."""
        with self._lock:
            self._last += 1
            self._events.append({"sequence": self._last, "monotonic_s": self._clock(), "kind": kind, **members})
            self._lock.notify_all()

    def since(self, after: int | None) -> dict[str, Json]:
        """Return the events after a cursor, the newest event's number, and how many the ring has dropped."""
        with self._lock:
            if after is None:
                return {"events": [], "last_event": self._last, "lost_events": 0}
            found = [dict(event) for event in self._events if event["sequence"] > after]
            expected = max(0, self._last - after)
            return {"events": found, "last_event": self._last, "lost_events": expected - len(found)}

    def wait(self, after: int, kinds: Set[str], timeout_s: float) -> dict[str, Json] | None:
        """Return the first event of these kinds after a cursor, when it comes; None if it does not come in time."""

        def first() -> dict[str, Json] | None:
            return next((e for e in self._events if e["sequence"] > after and e["kind"] in kinds), None)

        with self._lock:
            self._lock.wait_for(lambda: self._closed or first() is not None, timeout_s)
            return first()

    def close(self) -> None:
        """Release all that wait."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
