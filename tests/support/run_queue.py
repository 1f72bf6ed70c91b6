"""How long this process waited for a CPU: what others took of a busy machine, and no fault of ours."""

from __future__ import annotations

import contextlib
from pathlib import Path


def waited_s() -> float:
    """Add up how long this process's threads were ready to run and did not (Documentation/scheduler/sched-stats.rst).

    A thread may wait for another one of ours that waits for a CPU, such as the holder of the interpreter's lock, so all
    of them count. What a thread has waited is known once it runs again.
    """
    total_ns = 0
    for thread in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):  # it has ended
            total_ns += int((thread / "schedstat").read_text().split()[1])
    return total_ns / 1e9
