"""References to the host's own objects, which show when nobody else uses the object any more.

rocksdict's Rdict can be neither subclassed nor weakly referenced, so the agent needs a strong reference. An Rdict that
is dropped flushes its column family and, if it is the last one, closes the database; the agent must not prevent that.
The reference count shows when only the agent's reference is left.
"""

from __future__ import annotations

import sys
from typing import Any


class HeldObject:
    """One object of the host's."""

    def __init__(self, thing: Any) -> None:
        self.thing: Any | None = thing

    def is_alone(self) -> bool:
        """Whether only this reference is left."""
        return sys.getrefcount(self.thing) <= _ALONE

    def drop(self) -> None:
        """Release the object; if nobody else holds it, its destructor runs here."""
        self.thing = None

    def abandon(self) -> None:
        """In the child of a fork: never run its destructor because of us (it waits for threads that are gone)."""
        if self.thing is not None:
            import ctypes  # noqa: PLC0415 (for this alone)

            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.thing))


def _measure_alone() -> int:
    lonely = HeldObject(object())
    return sys.getrefcount(lonely.thing)


_ALONE = _measure_alone()
"""What getrefcount says of an object that only a HeldObject refers to; versions of Python differ."""
