"""Measures the resources that this process of adocd uses."""

import os
import time
from dataclasses import dataclass
from functools import cache

import psutil


@dataclass(frozen=True, slots=True)
class ProcessVitals:
    """CPU time (s), resident memory (bytes), open files and sockets, and the start of the process (unix seconds)."""

    cpu_s: float
    resident_bytes: int
    open_files: int
    started_unix_s: float


def measured() -> ProcessVitals:
    """Measure this process."""
    this = _this()
    return ProcessVitals(
        cpu_s=time.process_time(),
        resident_bytes=this.memory_info().rss,
        open_files=len(os.listdir("/proc/self/fd")),
        started_unix_s=this.create_time(),
    )


@cache
def _this() -> psutil.Process:
    return psutil.Process()
