"""Virtual time: an asyncio event loop whose sleeps take no real time.

The daemon takes its time from injected clocks and sleeps by asyncio. Under this loop both see the same virtual time, so
the daemon's code runs unchanged, and a virtual hour takes only as long as its computations.
"""

import asyncio
import selectors
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")
#: Longest wait for a thread, and interval between checks for its end, both in real seconds.
_PATIENCE_S = 3.0
_LOOK_S = 0.01


class Clock:
    """The virtual clock: seconds since the beginning."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def __call__(self) -> float:
        """Return the virtual time in seconds, like time.monotonic."""
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Let virtual time pass."""
        self._now_s += max(0.0, seconds)


class NothingHappens(RuntimeError):
    """Everything waits and no timer is set, so the simulation would wait for ever."""


class _Leap(selectors.DefaultSelector):
    """Waits by moving the clock; only the loop's own timers wake it.

    If code runs in a separate thread, the loop waits for it in real time, and no virtual time passes until it is done.
    The loop stops waiting for a thread that takes too long.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._others = set(threading.enumerate())
        self._waited_s: dict[threading.Thread, float] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Let the time pass for which the loop wants to wait."""
        while True:
            # Check threads first: one that has ended by now has notified the loop, which the check below then sees.
            threads = [] if timeout == 0 else self._busy()
            keep_waiting = bool(threads) and (timeout is None or self._waited_s[threads[0]] < timeout)
            began_s = time.monotonic()
            if (ready := super().select(_LOOK_S if keep_waiting else 0)) or timeout == 0:
                return ready
            if not keep_waiting:
                break
            for thread in threads:
                self._waited_s[thread] += time.monotonic() - began_s
        if timeout is None:
            raise NothingHappens("everything in the simulation waits, and no timer is set")
        self._clock.advance(timeout)
        return []

    def _busy(self) -> list[threading.Thread]:
        """Return the threads that may still report something, the longest-awaited first."""
        if threading.active_count() <= len(self._others):
            return []
        threads = [thread for thread in threading.enumerate() if thread not in self._others]
        for thread in threads:
            self._waited_s.setdefault(thread, 0.0)
        patient = [thread for thread in threads if self._waited_s[thread] < _PATIENCE_S]
        return sorted(patient, key=lambda thread: -self._waited_s[thread])


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: Clock) -> None:
        super().__init__(_Leap(clock))
        self._virtual = clock

    def time(self) -> float:
        return self._virtual()


def run(main: Callable[[Clock], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine to its end in virtual time, starting at 0; otherwise like asyncio.run."""
    clock, results = Clock(), list[_T]()

    async def keep_result() -> None:
        # Not as the task's result: asyncio.Runner formats its task as text when it restores the signal handler, and
        # formatting a whole run's samples takes a tenth of the run's time.
        results.append(await main(clock))

    with asyncio.Runner(loop_factory=lambda: _VirtualLoop(clock)) as runner:
        runner.run(keep_result())
    return results[0]
