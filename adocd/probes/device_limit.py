"""Detects a device at its limit: throughput stays the same however long the queue is.

By Little's law, a device with N requests in flight that take s seconds each completes N / s of them per second. Below
its limit s is the device's own latency, and a longer queue raises throughput in proportion. At its limit - that of the
hardware, or a cloud's quota on a volume's bytes or operations - throughput is fixed, and extra requests only wait. So
the sign is not a busy device (utilisation says nothing about devices that serve many requests at once), but one that
does as much with a shorter queue:

1. over the last `PLATEAU_READINGS` readings, with similar requests, bytes/s or operations/s span no more than
   `PLATEAU_SPAN` of their mean,
2. in all these readings at least `LEAST_QUEUE` requests are in flight on average, and
3. `WITNESSES` readings of the last `MEMORY_S` seconds reached at least `AS_MUCH` of the plateau's throughput with a
   queue shorter by at least `QUEUE_RATIO`, and with requests like the plateau's: their size within `SIZE_RATIO`, their
   share of reads within `READ_SHARE`.

The third covers a rising queue, a falling one, and a burst allowance that runs out (throughput falls while the queue
rises). Once seen, the limit holds while throughput stays at `HOLDS` of the plateau or more and the queue at
`LEAST_QUEUE` or more: a queue that has stopped rising is no relief.

It cannot see a cgroup's io.max, which holds requests back before the device counts them (adocd.probes.io_quota sees
that), nor a limit that was reached before the first reading and never left since.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Final, Literal

from adocd.model.device import DeviceLimit, DiskActivity

#: Readings that make a plateau. At one per second this is longer than most flushes (64 MB at 100 MB/s take 0.7 s), so a
#: single flush makes no plateau, and shorter than the stalls worth explaining.
PLATEAU_READINGS: Final = 5
#: (highest - lowest) / mean. A quota is met within a few percent; a virtual disk at its own limit was seen to vary by
#: 0.15 to 0.2 over half-second readings. Below the limit a queue longer by half would do 50 % more.
PLATEAU_SPAN: Final = 0.2
#: With fewer than two requests, requests that wait for each other (a WAL's fsync) look like a limit.
LEAST_QUEUE: Final = 2.0
#: How much longer the queue must be now: more than the noise of a mean over one second, less than a third compaction
#: thread adds to two.
QUEUE_RATIO: Final = 1.5
#: A proportional device would have done 1 / QUEUE_RATIO = 67 % with the shorter queue.
AS_MUCH: Final = 0.9
#: One reading can be a fluke of when requests started and ended.
WITNESSES: Final = 2
#: A seek costs as much as tens of KB, so only requests of about the same size are comparable.
SIZE_RATIO: Final = 1.5
#: Flash reads faster than it writes, so only a similar mix of reads and writes is comparable.
READ_SHARE: Final = 0.25
#: If sizes differ by more, they show whether bytes or operations are limited.
TELLING_RATIO: Final = 1.2
#: Beyond this a cloud's burst allowance or a neighbour may have changed the device.
MEMORY_S: Final = 120.0
#: Below this share of the plateau's throughput the device is no longer at its limit.
HOLDS: Final = 0.85

_Measure = Callable[[DiskActivity], float]


class LimitDetector:
    """Watches one device; keeps the readings of the last two minutes and uses no clock."""

    def __init__(self) -> None:
        self._history: deque[DiskActivity] = deque()
        self._limit: DeviceLimit | None = None

    def step(self, activity: DiskActivity | None) -> DeviceLimit | None:
        """Take the device's activity since the last call; return its limit if it is at one.

        Pass None if it could not be measured. That, a gap in the readings or a jump of the clock restarts detection.
        """
        last = self._history[-1] if self._history else None
        if activity is None or (last is not None and not _follows(last, activity)):
            self._history.clear()
            self._limit = None
        if activity is None:
            return None
        self._history.append(activity)
        while self._history[0].monotonic_s < activity.monotonic_s - MEMORY_S:
            self._history.popleft()
        before = self._limit if self._limit is not None and _holds(self._limit, activity) else None
        now = find_limit(self._history)
        self._limit = before if now is None else now if before is None else replace(now, since_s=before.since_s)
        return self._limit


def find_limit(history: Sequence[DiskActivity]) -> DeviceLimit | None:
    """Return the limit if the newest readings of a device (oldest first) are a plateau at it; pure."""
    plateau = [history[index] for index in range(max(0, len(history) - PLATEAU_READINGS), len(history))]
    if len(plateau) < PLATEAU_READINGS or min(reading.mean_queue for reading in plateau) < LEAST_QUEUE:
        return None
    if not all(_alike(reading, plateau) for reading in plateau):
        return None
    queue = fmean(reading.mean_queue for reading in plateau)
    flat = [measure for measure in (_bytes, _operations) if _span(plateau, measure) <= PLATEAU_SPAN]
    witnesses: list[DiskActivity] = []
    for measure in flat:
        enough = AS_MUCH * fmean(measure(reading) for reading in plateau)
        shorter = [
            reading
            for reading in history
            if reading.mean_queue * QUEUE_RATIO <= queue and measure(reading) >= enough and _alike(reading, plateau)
        ]
        if len(shorter) > len(witnesses):
            witnesses = shorter
    if len(witnesses) < WITNESSES:
        return None
    return _limit(plateau, witnesses, queue)


def _limit(plateau: list[DiskActivity], witnesses: list[DiskActivity], queue: float) -> DeviceLimit:
    first = plateau[0]
    bytes_per_s = fmean(_bytes(reading) for reading in plateau)
    operations_per_s = fmean(_operations(reading) for reading in plateau)
    sufficient = max(reading.mean_queue for reading in witnesses)
    by = _limited_by([*plateau, *witnesses])
    amount = {
        "bytes": f"{bytes_per_s / 1e6:.4g} MB/s",
        "operations": f"{operations_per_s:.4g} operations/s",
        "either": f"{bytes_per_s / 1e6:.4g} MB/s ({operations_per_s:.4g} operations/s)",
    }[by]
    return DeviceLimit(
        device=first.device,
        since_s=first.monotonic_s - first.interval_s,
        bytes_per_s=bytes_per_s,
        operations_per_s=operations_per_s,
        by=by,
        mean_queue=queue,
        sufficient_queue=sufficient,
        why=f"{first.device} gives no more than {amount}: {queue:.3g} requests are under way, and {sufficient:.3g} got "
        "as much done",
    )


def _limited_by(readings: list[DiskActivity]) -> Literal["bytes", "operations", "either"]:
    """Tell a limit of bytes from one of operations by the steadier of the two, if the requests' sizes varied enough."""
    sizes = [_size(reading) for reading in readings]
    if max(sizes) < TELLING_RATIO * min(sizes):
        return "either"
    return "bytes" if _span(readings, _bytes) < _span(readings, _operations) else "operations"


def _holds(limit: DeviceLimit, reading: DiskActivity) -> bool:
    if reading.mean_queue < LEAST_QUEUE:
        return False
    least = {"bytes": [_bytes], "operations": [_operations], "either": [_bytes, _operations]}[limit.by]
    level = {_bytes: limit.bytes_per_s, _operations: limit.operations_per_s}
    return any(HOLDS * level[measure] <= measure(reading) <= level[measure] / HOLDS for measure in least)


def _follows(last: DiskActivity, activity: DiskActivity) -> bool:
    gap_s = activity.monotonic_s - activity.interval_s - last.monotonic_s
    return activity.device == last.device and abs(gap_s) <= 0.5 * max(last.interval_s, activity.interval_s)


def _alike(reading: DiskActivity, plateau: list[DiskActivity]) -> bool:
    size, now = _size(reading), fmean(_size(other) for other in plateau)
    reads, reads_now = _read_share(reading), fmean(_read_share(other) for other in plateau)
    return size <= SIZE_RATIO * now and now <= SIZE_RATIO * size and abs(reads - reads_now) <= READ_SHARE


def _span(readings: list[DiskActivity], measure: _Measure) -> float:
    values = [measure(reading) for reading in readings]
    mean = fmean(values)
    return (max(values) - min(values)) / mean if mean > 0 else float("inf")


def _bytes(reading: DiskActivity) -> float:
    return reading.bytes_per_s


def _operations(reading: DiskActivity) -> float:
    return reading.operations_per_s


def _size(reading: DiskActivity) -> float:
    return reading.bytes_per_s / reading.operations_per_s if reading.operations_per_s else 0.0


def _read_share(reading: DiskActivity) -> float:
    return reading.reads.operations_per_s / reading.operations_per_s if reading.operations_per_s else 0.0
