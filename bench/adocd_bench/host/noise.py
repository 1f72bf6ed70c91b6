"""Measures the CPU share of others during a run: a measurement beside a compiler measures the compiler."""

import resource
from dataclasses import dataclass

import psutil


@dataclass(frozen=True)
class CpuTimes:
    """Processor seconds so far (proc(5), /proc/stat; getrusage(2)).

    Attributes:
        all_s: of all processors, idle or not.
        user_s: spent by anyone's programs, and by other guests of the hypervisor (steal).
        kernel_s: spent by the kernel: system calls, its own threads, interrupts.
        our_user_s: spent by this process and all that it started, ended or not.
        our_kernel_s: spent by the kernel in their system calls.

    """

    all_s: float
    user_s: float
    kernel_s: float
    our_user_s: float
    our_kernel_s: float


@dataclass(frozen=True)
class OthersCpu:
    """Shares of all processors, 0 to 1, that others had.

    Attributes:
        user: their programs, and other guests of the hypervisor.
        kernel: the kernel, except for our own system calls. What its threads and interrupts do for our reads and
            writes cannot be told from what they do for others, so it is in here: 1 to 2 % beside a db_bench that
            writes as fast as it can, on two processors.
        signed: both together as they came out. Processes and processors are timed in different ways; where our own
            time came out larger than all, this is below 0, and the other two are 0.

    """

    user: float
    kernel: float
    signed: float

    @property
    def share(self) -> float:
        """Both together."""
        return self.user + self.kernel


def cpu_times() -> CpuTimes:
    """Read the times now."""
    times = psutil.cpu_times()
    ours = _ours()
    return CpuTimes(
        # Guests' time is part of user time.
        all_s=sum(times) - times.guest - times.guest_nice,
        user_s=times.user + times.nice + times.steal,
        kernel_s=times.system + times.irq + times.softirq,
        our_user_s=ours[0],
        our_kernel_s=ours[1],
    )


def _ours() -> tuple[float, float]:
    """Read what this process and all that it started have used, in user mode and in the kernel."""
    while True:
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        running = [_times_of(child) for child in psutil.Process().children(recursive=True)]
        if resource.getrusage(resource.RUSAGE_CHILDREN) == ended:  # else one is among both, or among neither
            break
    own = resource.getrusage(resource.RUSAGE_SELF)
    user_s = own.ru_utime + ended.ru_utime + sum(user for user, _ in running)
    return user_s, own.ru_stime + ended.ru_stime + sum(kernel for _, kernel in running)


def _times_of(child: psutil.Process) -> tuple[float, float]:
    try:
        times = child.cpu_times()
    except psutil.Error:
        return 0.0, 0.0
    return times.user + times.children_user, times.system + times.children_system


def others_cpu(before: CpuTimes, after: CpuTimes) -> OthersCpu:
    """Work out what others had between two readings.

    The kernel divides a process's time into user and system by other ticks than a processor's, so only the sum is
    exact: of two shares one may be too small by what the other one is too large.
    """
    all_s = after.all_s - before.all_s
    if all_s <= 0:
        return OthersCpu(0.0, 0.0, 0.0)
    user_s = (after.user_s - before.user_s) - (after.our_user_s - before.our_user_s)
    kernel_s = (after.kernel_s - before.kernel_s) - (after.our_kernel_s - before.our_kernel_s)
    signed = (user_s + kernel_s) / all_s
    share = min(max(signed, 0.0), 1.0)
    kernel = min(max(kernel_s / all_s, 0.0), share)
    return OthersCpu(share - kernel, kernel, signed)


def others_share(before: CpuTimes, after: CpuTimes) -> float:
    """Work out which share of all processors others had between two readings; 0 to 1."""
    return others_cpu(before, after).share
