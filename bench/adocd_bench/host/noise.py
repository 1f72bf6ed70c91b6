"""Measures the CPU share of other programs during a run: a measurement beside a compiler measures the compiler."""

import resource
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class CpuTimes:
    """Processor seconds so far.

    Attributes:
        all_s: of all processors, idle or not.
        busy_s: spent by anyone's programs, and by other guests of the hypervisor (steal). The kernel's own time is
            left out: what its threads do for our reads and writes could not be told from what they do for others.
        ours_s: spent by this process, its children and theirs that have ended and been waited for; user time too.

    """

    all_s: float
    busy_s: float
    ours_s: float


def cpu_times() -> CpuTimes:
    """Read the times now."""
    times = psutil.cpu_times()
    # Guests' time is part of user time (proc(5)).
    all_s = sum(times) - times.guest - times.guest_nice
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return CpuTimes(
        all_s=all_s,
        busy_s=times.user + times.nice + times.steal,
        ours_s=sum(usage.ru_utime for usage in usages),
    )


def others_share(before: CpuTimes, after: CpuTimes) -> float:
    """Work out which share of all processors others had between two readings; 0 to 1."""
    all_s = after.all_s - before.all_s
    if all_s <= 0:
        return 0.0
    others_s = (after.busy_s - before.busy_s) - (after.ours_s - before.ours_s)
    return min(max(others_s / all_s, 0.0), 1.0)
