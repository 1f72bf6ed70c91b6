"""CPU time of another process in nanoseconds; /proc/PID/stat counts in ticks of 10 ms, too coarse for one second."""

import ctypes
import os
import time


def process_cpu_s(pid: int) -> float:
    """Return the CPU seconds that a process has used so far: user and system, all threads, also those that have ended.

    clock_getcpuclockid(3), clock_gettime(2).

    Raises:
        OSError: there is no such process.

    """
    clock = ctypes.c_int()
    failed = ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock))
    if failed:
        raise OSError(failed, os.strerror(failed))
    return time.clock_gettime(clock.value)
