"""Readings that several databases have in common, taken once for all of them: a process's, a machine's.

A thousand databases are in far fewer processes and on a few disks. Without this each would read them anew each second.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, Generic, TypeVar, cast

#: A reading may be so old for another database to use it. Rates are over the readings' own times, so it is exact for
#: all that; only what it tells is so much older.
SHARED_S: Final = 0.5
#: What nobody has asked for in so long is forgotten.
_FORGET_S: Final = 60.0

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Taken(Generic[_T]):
    """A reading, and when it was begun, by the callers' monotonic clock."""

    monotonic_s: float
    value: _T


class Shared:
    """The newest reading of each kind; for several threads, none of which waits for another.

    Two that come at once both read: a look that hangs, on a file that does not answer, must not hold up the others.
    """

    def __init__(self) -> None:
        self._taken: dict[Hashable, Taken[object]] = {}
        self._swept_s: float | None = None

    @property
    def known(self) -> int:
        """How many readings are kept."""
        return len(self._taken)

    def read(
        self,
        key: Hashable,
        monotonic_s: float,
        read: Callable[[], _T],
        *,
        before_s: float | None = None,
        most_s: float = SHARED_S,
    ) -> Taken[_T]:
        """Give the reading of this key that is there, or take it at this time.

        One that is there must not be older than `most_s`, and newer by half than `before_s`, when the caller's last
        one was taken: so two of a caller's own are never the same, however often it asks.
        """
        found = self._taken.get(key)
        if before_s is not None:
            most_s = min(most_s, (monotonic_s - before_s) / 2)
        if found is None or not 0 <= monotonic_s - found.monotonic_s <= most_s:
            found = self._taken[key] = Taken(monotonic_s, read())
            self._sweep(monotonic_s)
        return cast(Taken[_T], found)

    def _sweep(self, monotonic_s: float) -> None:
        if self._swept_s is not None and 0 <= monotonic_s - self._swept_s < _FORGET_S:
            return
        self._swept_s = monotonic_s
        for key, taken in list(self._taken.items()):
            if not 0 <= monotonic_s - taken.monotonic_s < _FORGET_S:
                self._taken.pop(key, None)
