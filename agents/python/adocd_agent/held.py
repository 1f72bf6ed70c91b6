"""The host's own objects, held so that the agent can use them and tell when nobody else does.

rocksdict's Rdict can be neither subclassed nor weakly referenced, so the agent needs a strong reference. An Rdict that
is dropped flushes its column family and, when it is the last one, closes the database: the agent must not stand in
the way of that. A count of references tells when only the agent's is left.
"""

from __future__ import annotations

import sys
from typing import Any


class HeldObject:
    """One object of the host's."""

    def __init__(self, thing: Any) -> None:
        self.thing: Any | None = thing

    def is_alone(self) -> bool:
        """Tell whether only this reference is left."""
        return sys.getrefcount(self.thing) <= _ALONE

    def drop(self) -> None:
        """Let go; where nobody else holds it, its destructor runs here."""
        self.thing = None

    def abandon(self) -> None:
        """In the child of a fork: never run its destructor on our account (it waits for threads that are gone)."""
        if self.thing is not None:
            import ctypes  # noqa: PLC0415 (for this alone)

            ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.thing))


def _measure_alone() -> int:
    lonely = HeldObject(object())
    return sys.getrefcount(lonely.thing)


_ALONE = _measure_alone()
"""What getrefcount says of an object that only a HeldObject refers to; versions of Python differ."""
