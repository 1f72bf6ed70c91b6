"""Readings that several databases share, such as those of a process or a machine, taken once for all of them.

A thousand databases are in far fewer processes and on a few disks. Without this, each would read them every second.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar, cast

#: Oldest reading that another database may use (s). Rates use the readings' own times, so they stay exact; they are
#: only that much older.
SHARED_S: Final = 0.5
#: A reading that nobody has asked for in this time is forgotten (s).
_FORGET_S: Final = 60.0

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SharedReading(Generic[_T]):
    """A reading, and when it started, by the callers' monotonic clock."""

    monotonic_s: float
    value: _T


class Shared:
    """The newest reading of each kind; for several threads, none of which waits for another.

    Two callers at the same time both read: a read that hangs on an unresponsive file must not block the others.
    """

    def __init__(self) -> None:
        self._taken: dict[Hashable, SharedReading[object]] = {}
        self._swept_s: float | None = None

    @property
    def known(self) -> int:
        """The number of readings kept."""
        return len(self._taken)

    def read(
        self,
        key: Hashable,
        monotonic_s: float,
        read: Callable[[], _T],
        *,
        before_s: float | None = None,
        most_s: float = SHARED_S,
    ) -> SharedReading[_T]:
        """Return the kept reading of this key, or take a new one at this time.

        A kept one must be at most `most_s` old, and at most half as old as `before_s`, the time of the caller's last
        reading: so a caller never gets the same reading twice, however often it asks.
        """
        found = self._taken.get(key)
        if before_s is not None:
            most_s = min(most_s, (monotonic_s - before_s) / 2)
        if found is None or not 0 <= monotonic_s - found.monotonic_s <= most_s:
            found = self._taken[key] = SharedReading(monotonic_s, read())
            self._sweep(monotonic_s)
        return cast(SharedReading[_T], found)

    def _sweep(self, monotonic_s: float) -> None:
        if self._swept_s is not None and 0 <= monotonic_s - self._swept_s < _FORGET_S:
            return
        self._swept_s = monotonic_s
        for key, taken in list(self._taken.items()):
            if not 0 <= monotonic_s - taken.monotonic_s < _FORGET_S:
                self._taken.pop(key, None)
