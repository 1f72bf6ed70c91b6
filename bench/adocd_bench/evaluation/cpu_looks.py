"""What others had of the processors in a part of a run: over the whole run, a long drain hides a disturbed phase."""

import time
from bisect import bisect_left
from dataclasses import astuple

from adocd_bench.host.noise import CpuTimes, cpu_times, others_share

#: Least seconds between two looks: each goes through all processes, and takes that time from the database.
_EVERY_S = 2.0


class CpuLooks:
    """Looks at the processors' times during a run."""

    def __init__(self) -> None:
        self._looks: list[tuple[float, CpuTimes]] = []

    def take(self) -> CpuTimes:
        """Read the times now."""
        self._looks.append((time.monotonic(), cpu_times()))
        return self._looks[-1][1]

    def look(self) -> None:
        """Read them unless that was done just before."""
        if not self._looks or time.monotonic() - self._looks[-1][0] >= _EVERY_S:
            self.take()

    def others_between(self, begin_s: float, end_s: float) -> float | None:
        """Give the share of all processors (0 to 1) that others had between two moments of the monotonic clock.

        Linearly between two looks; None if that was not seen.
        """
        if not self._looks or self._looks[0][0] > begin_s or self._looks[-1][0] < end_s:
            return None
        return others_share(self._at(begin_s), self._at(end_s))

    def _at(self, monotonic_s: float) -> CpuTimes:
        times = [at_s for at_s, _ in self._looks]
        after = max(1, bisect_left(times, monotonic_s))
        (low_s, low), (high_s, high) = self._looks[after - 1 : after + 1]
        part = (monotonic_s - low_s) / (high_s - low_s)
        return CpuTimes(*(then + (now - then) * part for then, now in zip(astuple(low), astuple(high), strict=True)))
