"""How processor time grows with the work, which no other program's load changes much; no absolute time is asserted."""

from __future__ import annotations

import time
from collections.abc import Callable

#: What is looked at is so many times the work,
_TIMES = 4
#: and may take so many times the time: what grows by the square takes sixteen.
_MOST = 10
#: A machine that is busy with other things measures wrongly now and then, and not each time.
_TRIES = 8


def grows_with_the_work(work: Callable[[int], object], once: int) -> None:
    """Fail where four times as much work takes more than ten times the processor time, each time it is tried."""
    small_s = large_s = float("inf")
    for _ in range(_TRIES):
        # More often, because it is shorter: one that was held up would make the large one look good.
        small_s = min(small_s, *(_cpu_s(work, once) for _ in range(_TIMES)))
        large_s = min(large_s, _cpu_s(work, once * _TIMES))
        if large_s <= _MOST * small_s:
            return
    raise AssertionError(f"{_TIMES} times the work takes {large_s / small_s:.1f} times the processor time")


def _cpu_s(work: Callable[[int], object], size: int) -> float:
    begin_s = time.thread_time()
    work(size)
    # Never 0: what is too short for the clock did not grow.
    return max(time.thread_time() - begin_s, 1e-4)
