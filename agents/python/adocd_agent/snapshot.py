"""One snapshot for all clients, taken on the sampling thread and never by a request."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from adocd_agent.problems import Refusal, database_closed

Json = Any
MAX_AGE_S = 0.05
WAIT_S = 0.2
#: For the first sample, where there is no old one to answer with.
FIRST_WAIT_S = 1.5


class SnapshotCache:
    """The newest sample of one session. `take` measures the database; only `refresh` calls it."""

    def __init__(self, take: Callable[[], dict[str, Json]], clock: Callable[[], float]) -> None:
        self._take = take
        self._clock = clock
        self._changed = threading.Condition()
        self._newest: dict[str, Json] | None = None
        self._sequence = 0
        self._closed = False
        self._begin_after_s = 0.0
        self.wanted = threading.Event()
        self.wake: Callable[[], None] = lambda: None
        """Wakes the sampling thread; whoever runs one sets it."""

    def get(self) -> dict[str, Json]:
        """Return a fresh sample, or after a short wait the old one."""
        with self._changed:
            if self._is_old():
                self.wanted.set()
                self.wake()
                seen = self._sequence
                patience_s = FIRST_WAIT_S if self._newest is None else WAIT_S
                self._changed.wait_for(lambda: self._closed or self._has_come_since(seen), patience_s)
            if self._closed:
                raise database_closed()
            if self._newest is None:
                raise Refusal(503, "unavailable", "No snapshot could be taken yet; try again.")
            return self._newest

    def refresh(self) -> None:
        """Take a new sample if one was requested; on the sampling thread."""
        if not self.wanted.is_set():
            return
        self.wanted.clear()
        with self._changed:
            if not self._is_old():  # requested while the newest was being taken
                return
        begun_s = self._clock()
        taken = self._take()
        now_s = self._clock()
        with self._changed:
            self._sequence += 1
            self._newest = {**taken, "sequence": self._sequence, "monotonic_s": now_s, "collect_s": now_s - begun_s}
            self._changed.notify_all()

    def must_begin_after(self, event_s: float) -> None:
        """Count samples begun before this time as old: they do not show what a client has just been told."""
        with self._changed:
            self._begin_after_s = max(self._begin_after_s, event_s)

    def readable(self) -> dict[str, set[str]]:
        """Return the properties of each column family that the newest sample has."""
        with self._changed:
            families = {} if self._newest is None else self._newest["column_families"]
            return {name: set(family["properties"]) for name, family in families.items()}

    def close(self) -> None:
        """Release all waiting threads."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _has_come_since(self, sequence: int) -> bool:
        """Whether there is another sample, however late the thread that waits for it wakes up."""
        return self._sequence != sequence and self._began_in_time()

    def _is_old(self) -> bool:
        newest = self._newest
        return newest is None or self._clock() - newest["monotonic_s"] > MAX_AGE_S or not self._began_in_time()

    def _began_in_time(self) -> bool:
        newest = self._newest
        return newest is not None and bool(newest["monotonic_s"] - newest["collect_s"] > self._begin_after_s)
