"""The change in flight: one a session, and nobody waits for it, for under a stall SetOptions can take many seconds."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable


class Flight:
    """Runs one change at a time; `clock` is monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._since_s = 0.0
        self._ended_s: float | None = None

    @property
    def in_flight_s(self) -> float | None:
        """How long the change in flight has been there; None when there is none."""
        if self._task is None or self._task.done():
            return None
        return self._clock() - self._since_s

    def start(self, change: Callable[[], Awaitable[None]]) -> None:
        """Begin to carry out a change."""
        if self.in_flight_s is not None:
            raise RuntimeError("a change is in flight already")  # a mistake of the loop's, not of a user's
        self._since_s = self._clock()
        self._task = asyncio.create_task(self._fly(change), name="change")

    def is_seen_by(self, looked_s: float) -> bool:
        """Whether a look at the database at that time, by the clock, came after the last change."""
        return self._ended_s is None or looked_s >= self._ended_s

    async def settle(self, timeout_s: float) -> None:
        """Wait until nothing is in flight, at most `timeout_s` seconds."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=timeout_s)

    async def abandon(self) -> None:
        """Stop waiting for the change in flight; the agent still finishes it."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({self._task})

    async def _fly(self, change: Callable[[], Awaitable[None]]) -> None:
        try:
            await change()
        finally:
            self._ended_s = self._clock()
