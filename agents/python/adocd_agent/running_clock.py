"""A clock of the time in which this process could run: a lease expires only after enough of it to serve renewals.

Most calls of rocksdict keep the interpreter lock; a put keeps it while the write is stalled. Meanwhile no thread of the
agent runs, and the holder's renewals wait in the socket (lease_machine.GRACE_S is how long they may).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

TICK_S = 0.1
"""Interval at which the clock must be read; the sampling thread does it."""
STANDSTILL_S = 0.25
"""A gap between two readings longer than this is a standstill. Shorter delays come from the scheduler."""


class RunningClock:
    """Monotonic seconds that stop while the process stands still. Any thread may read them at any time."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._looked_s = monotonic()
        self._stood_still_s = 0.0

    def __call__(self) -> float:
        """Return the time; the first reading after a standstill subtracts it, before a lease can expire by it."""
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
