"""The stall condition, from polling two properties ten times a second.

rocksdict has no event listener. While a write is stalled, its put keeps the interpreter lock, and this watch stands
still like everything else. It wakes when the wait is over, and its last reading says nothing about the time since.
`waited` fills that gap: how long writers waited by RocksDB's own count, and whether stops were among the causes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from adocd_agent.running_clock import STANDSTILL_S

Json = Any


class WaitCounters(NamedTuple):
    """Cumulative: the microseconds that writers waited (None: unknown), and how often writes were stopped."""

    micros: int | None
    stops: int


class StallTimes:
    """Adds up the time in each condition. Not for several threads at once."""

    def __init__(self, now_s: float, known: WaitCounters) -> None:
        self._condition = "normal"
        self._since_s = now_s
        self._looked_s = now_s
        self._total_s = {"delayed": 0.0, "stopped": 0.0}
        self._known = known

    def look(self, now_s: float, *, stopped: bool, delayed: bool, waited: Callable[[], WaitCounters]) -> None:
        """Count the time since the last reading for the condition found then, and note the one found now.

        After a standstill, no more of it counts than writers waited.

        `waited` is expensive, so it is called only after a standstill, and when a stall is over.
        """
        gap_s = now_s - self._looked_s
        stood_still = gap_s > STANDSTILL_S
        if stood_still:
            self._book_standstill(gap_s, waited())
        elif self._condition != "normal":
            self._total_s[self._condition] += gap_s
        self._looked_s = now_s
        condition = "stopped" if stopped else "delayed" if delayed else "normal"
        if condition != self._condition:
            self._condition, self._since_s = condition, now_s
            if condition == "normal" and not stood_still:
                self._known = waited()  # this wait is counted; do not count it again

    def _book_standstill(self, gap_s: float, waited: WaitCounters) -> None:
        before, self._known = self._known, waited
        if waited.micros is None or before.micros is None:  # no count: use the last reading
            if self._condition != "normal":
                self._total_s[self._condition] += gap_s
            return
        waited_s = min(gap_s, max(0, waited.micros - before.micros) / 1e6)
        stopped = self._condition == "stopped" or waited.stops > before.stops
        self._total_s["stopped" if stopped else "delayed"] += waited_s

    def as_json(self) -> dict[str, Json]:
        """Write it as the contract's Stall, as of the last look."""
        return {
            "condition": self._condition,
            "since_monotonic_s": self._since_s,
            "stopped_s": self._total_s["stopped"],
            "delayed_s": self._total_s["delayed"],
        }
