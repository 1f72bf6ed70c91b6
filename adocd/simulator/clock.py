"""Virtual time: an asyncio event loop whose sleeps take none.

The daemon takes its time from injected clocks and sleeps by asyncio. Under this loop both see the same virtual time,
so the daemon's code runs as it is, and an hour of it takes as long as what is computed in it.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

_T = TypeVar("_T")


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


class _Leap(selectors.BaseSelector):
    """Waits by moving the clock. Nothing outside of the loop's own timers can wake it, so there is nothing to poll."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._keys: dict[int, selectors.SelectorKey] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Let the time pass that the loop wants to wait."""
        if timeout is None:
            raise NothingHappens("everything in the simulation waits, and no timer is set")
        self._clock.advance(timeout)
        return []

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        """Remember a file; only the loop's own wake-up pipe is ever registered."""
        key = selectors.SelectorKey(fileobj, fileobj if isinstance(fileobj, int) else fileobj.fileno(), events, data)
        self._keys[key.fd] = key
        return key

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        """Forget a file."""
        return self._keys.pop(fileobj if isinstance(fileobj, int) else fileobj.fileno())

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        """Give what is registered."""
        return self._keys


class _VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self, clock: Clock) -> None:
        super().__init__(_Leap(clock))
        self._virtual = clock

    def time(self) -> float:
        return self._virtual()


def run(main: Callable[[Clock], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine to its end in virtual time, from 0 on; like asyncio.run otherwise."""
    clock = Clock()
    with asyncio.Runner(loop_factory=lambda: _VirtualLoop(clock)) as runner:
        return runner.run(main(clock))
