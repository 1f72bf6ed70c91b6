"""The change in flight, at most one per session. The loop does not wait: a stall can hold SetOptions for seconds."""

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
        self._is_in_agent = False

    @property
    def in_flight_s(self) -> float | None:
        """Seconds since the change in flight was started; None if there is none."""
        if self._task is None or self._task.done():
            return None
        return self._clock() - self._since_s

    def start(self, change: Callable[[], Awaitable[None]]) -> None:
        """Start a change; raises RuntimeError if one is in flight."""
        if self.in_flight_s is not None:
            raise RuntimeError("a change is in flight already")  # a bug in the loop, not a user's error
        self._since_s = self._clock()
        self._task = asyncio.create_task(self._fly(change), name="change")

    def is_seen_by(self, looked_s: float) -> bool:
        """Whether a snapshot begun at `looked_s`, by the clock, was begun after the last change ended."""
        return self._ended_s is None or looked_s >= self._ended_s

    def answer_lost(self) -> None:
        """Note that a change ended here without the agent's answer, so the agent may still be executing it."""
        self._is_in_agent = True

    def goes_on(self, *, in_agent: bool) -> bool:
        """Take in a snapshot's `change_in_flight`; return whether the agent may still execute a change of ours.

        Until such a change ends, a snapshot may show the owner's rate limit instead of ours. A snapshot's options are
        older than its `change_in_flight`, so the first one with False only tells that the next one can be trusted.
        """
        goes_on, self._is_in_agent = in_agent or self._is_in_agent, in_agent
        if goes_on:
            self._ended_s = self._clock()
        return goes_on

    async def settle(self, timeout_s: float) -> None:
        """Wait at most `timeout_s` seconds until nothing is in flight."""
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
