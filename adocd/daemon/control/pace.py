"""When a target's cycles are due: each target has its own moment within the tick, and keeps to it. Pure.

Targets that are found together would otherwise be asked together for ever, and a thousand of them would wait for each
other at the beginning of each second, and nobody do anything at its end.
"""

import math
from zlib import crc32

#: So much of a tick a cycle may come sooner or later than a tick after the one before, on its way to its own moment.
#: Less than what a law's window may be shorter by (adocd.daemon.control.law), or such a cycle would not ask the law.
_SHIFT = 0.05
#: Looks are due half a tick after the cycles, and do not wait for the same processor at the same moment.
LOOK = 0.5


def phase_of(target_id: str) -> float:
    """Say where in a tick this target is due, from 0 to 1: evenly spread over ids, the same after each restart."""
    return crc32(target_id.encode("utf-8", "surrogatepass")) / (1 << 32)


def due_after_s(began_s: float, tick_s: float, phase: float | None) -> float:
    """Say when the next is due after one that began at `began_s`, by the same monotonic clock.

    That is about a tick later, at a time that is `phase` of a tick beyond a multiple of ticks, or as near to it as
    may be. A cycle that was late does not make all that follow late. Without a phase it is just a tick later.
    """
    if phase is None:
        return began_s + tick_s
    tick = math.ceil(began_s / tick_s + 0.5 - phase)
    due_s = (tick + phase) * tick_s
    return min(max(due_s, began_s + (1 - _SHIFT) * tick_s), began_s + (1 + _SHIFT) * tick_s)
