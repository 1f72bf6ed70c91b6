"""When a target's cycles are due: each target has a fixed moment of its own within the tick. Pure.

Otherwise targets that were found together would be polled together for ever: a thousand of them would wait for each
other at the start of each second, and the daemon would idle at its end.
"""

import math
from zlib import crc32

#: To reach its own moment, a cycle may come this share of a tick sooner or later than one tick after the last cycle.
#: It must stay below what a law's window may be short by (adocd.daemon.control.law), or the cycle would skip the law.
_SHIFT = 0.05
#: Observations are due half a tick after the cycles, so that the two do not compete for the processor.
LOOK = 0.5
#: Cycles are at least this share of a tick apart, and this many seconds, so that a condition that comes and goes cannot
#: keep the daemon busy. An agent reuses a snapshot for 50 ms.
_APART_SHARE, _APART_S = 0.1, 0.05


def phase_of(target_id: str) -> float:
    """Return where in the tick this target is due, from 0 to 1: spread evenly over ids and stable across restarts."""
    return crc32(target_id.encode("utf-8", "surrogatepass")) / (1 << 32)


def due_after_s(began_s: float, tick_s: float, phase: float | None) -> float:
    """Return when the next cycle is due after one that began at `began_s`, by the same monotonic clock.

    That is about one tick later, at `phase` of a tick past a multiple of the tick, or as near to that as the allowed
    shift permits, so one late cycle does not delay all that follow. Without a phase it is exactly one tick later.
    """
    if phase is None:
        return began_s + tick_s
    tick = math.ceil(began_s / tick_s + 0.5 - phase)
    due_s = (tick + phase) * tick_s
    return min(max(due_s, began_s + (1 - _SHIFT) * tick_s), began_s + (1 + _SHIFT) * tick_s)


def apart_s(tick_s: float) -> float:
    """Return the least time between the starts of two cycles, when events wake the loop before the next is due."""
    return min(tick_s, max(_APART_SHARE * tick_s, _APART_S))


def due_after_woken_s(woken_s: float, due_s: float, tick_s: float) -> float:
    """Return when the next cycle is due after one at `woken_s` that an event woke before `due_s`.

    That one comes in addition, so the next stays due when it was, unless the two would be too close together.
    """
    return due_s if due_s - woken_s >= apart_s(tick_s) else due_s + tick_s
