"""Time in which this process could run: a lease lives until there was some of it to serve its renewals in.

Most calls of rocksdict keep the interpreter lock; a put keeps it for as long as the write is stalled. Meanwhile no
thread of the agent runs, and the holder's renewals wait in the socket (lease_machine.GRACE_S says how long they may).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

TICK_S = 0.1
"""How often somebody has to look at the clock; the sampling thread does."""
STANDSTILL_S = 0.25
"""A gap between two looks that is longer than this is a standstill. Waking late by less is the scheduler's doing."""


class RunningClock:
    """Seconds, monotonic, that stand still while the process does. Any thread may look at any time."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._looked_s = monotonic()
        self._stood_still_s = 0.0

    def __call__(self) -> float:
        """Return the time; whoever looks first after a standstill takes it out, before a lease can expire by it."""
        with self._lock:
            now_s = self._monotonic()
            gap_s = now_s - self._looked_s
            self._looked_s = now_s
            if gap_s > STANDSTILL_S:
                self._stood_still_s += gap_s - TICK_S
            return now_s - self._stood_still_s

    def stood_still_s(self) -> float:
        """Return the sum of all standstills."""
        with self._lock:
            return self._stood_still_s
