"""Virtual time: an asyncio event loop whose sleeps take none.

The daemon takes its time from injected clocks and sleeps by asyncio. Under this loop both see the same virtual time,
so the daemon's code runs as it is, and an hour of it takes as long as what is computed in it.
"""

import asyncio
import selectors
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")
#: A thread that takes longer, in real seconds, is left to itself; and how often a thread's end is looked for.
_PATIENCE_S = 3.0
_LOOK_S = 0.01


class Clock:
    """Virtual seconds since the beginning."""

    def __init__(self) -> None:
        self._now_s = 0.0

    def __call__(self) -> float:
        """Read it, as time.monotonic is read."""
        return self._now_s

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now_s += max(0.0, seconds)


class NothingHappens(RuntimeError):
    """Everything waits for something that no timer will bring: it would wait for ever."""


class _Leap(selectors.DefaultSelector):
    """Waits by moving the clock: nothing but the loop's own timers wakes it.

    Where code runs in a thread of its own, the loop waits for it in real time, as long as it would anyway, and no
    virtual time passes until it is done. A thread that keeps it waiting for too long is waited for no more.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock
        self._others = set(threading.enumerate())
        self._waited_s: dict[threading.Thread, float] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Let the time pass that the loop wants to wait."""
        while True:
            # Asked first: a thread that has ended by now has told the loop, and that is ready below.
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
        """List the threads that may have something to say, those that were waited for longest first."""
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
    """Run a coroutine to its end in virtual time, from 0 on; like asyncio.run otherwise."""
    clock, results = Clock(), list[_T]()

    async def keep_result() -> None:
        # Not the task's own: asyncio.Runner writes its task out in words when it puts the signal handler back, and a
        # result of a whole run's samples takes a tenth of the run's time to write.
        results.append(await main(clock))

    with asyncio.Runner(loop_factory=lambda: _VirtualLoop(clock)) as runner:
        runner.run(keep_result())
    return results[0]
