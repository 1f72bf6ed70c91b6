"""What a block device counted of its own reads and writes in a run, from /proc/diskstats."""

import time
from bisect import bisect_left

from adocd.probes.diskstats import SECTOR_BYTES, read_devices
from adocd.probes.files import text_or
from adocd_bench.evaluation.raw import DeviceBytes
from adocd_bench.host.device import REAL_ROOTS

#: A rate is over at least so long: the kernel grants a cap in slices of a tenth of a second.
_WINDOW_S = 1.0


class DeviceCount:
    """Looks at a device's counters during a run; None as the name is a device that is not known.

    `dedicated`: nobody else writes to it.
    """

    def __init__(self, name: str | None, dedicated: bool = False) -> None:
        self._name, self._dedicated = name, dedicated
        self._looks: list[tuple[float, int, int]] = []
        self._size_bytes = None if name is None else _size_bytes(name)

    def look(self) -> None:
        """Count now."""
        if (found := self._count()) is not None:
            self._looks.append(found)

    def written_bytes(self) -> int | None:
        """Read what everybody has written to it so far."""
        found = self._count()
        return None if found is None else found[1]

    def between(self, begin_s: float, end_s: float) -> DeviceBytes | None:
        """Give what it did between two moments of the monotonic clock, linearly between two looks; None without any."""
        if self._name is None or not self._looks or self._looks[0][0] > begin_s or self._looks[-1][0] < end_s:
            return None
        begin, end = self._at(begin_s), self._at(end_s)
        return DeviceBytes(
            device=self._name,
            dedicated=self._dedicated,
            written_bytes=round(end[1] - begin[1]),
            read_bytes=round(end[2] - begin[2]),
            most_written_bytes_per_s=self._most(begin, end),
            size_bytes=self._size_bytes,
        )

    def _most(self, begin: tuple[float, float, float], end: tuple[float, float, float]) -> float | None:
        """Find the highest rate of writing over windows of a second; None if the time is shorter."""
        looks = [begin, *(look for look in self._looks if begin[0] < look[0] < end[0]), end]
        windows, first = [], looks[0]
        for last in looks[1:]:
            if last[0] - first[0] >= _WINDOW_S:
                windows.append((first, last))
                first = last
        return max(((last[1] - first[1]) / (last[0] - first[0]) for first, last in windows), default=None)

    def _at(self, monotonic_s: float) -> tuple[float, float, float]:
        after = max(1, bisect_left(self._looks, (monotonic_s, 0, 0)))
        (low_s, *low), (high_s, *high) = self._looks[after - 1 : after + 1]
        part = (monotonic_s - low_s) / (high_s - low_s)
        written, read = (then + (now - then) * part for then, now in zip(low, high, strict=True))
        return monotonic_s, written, read

    def _count(self) -> tuple[float, int, int] | None:
        if self._name is None:
            return None
        now_s = time.monotonic()
        counters = read_devices((self._name,), now_s).devices.get(self._name)
        if counters is None:
            return None
        return now_s, counters.writes.sectors * SECTOR_BYTES, counters.reads.sectors * SECTOR_BYTES


def _size_bytes(name: str) -> int | None:
    sectors = text_or(REAL_ROOTS.sysfs / "block" / name / "size").strip()
    return int(sectors) * SECTOR_BYTES if sectors.isdigit() else None
