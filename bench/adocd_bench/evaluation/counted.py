"""RocksDB's own counts at any moment of a run, from the daemon's samples."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from adocd.model.snapshot import Counters
from adocd_bench.evaluation.raw import Moved
from adocd_bench.run.observe import Tick

_MICROS = 1_000_000


class Counted:
    """Counts since `begin_s` on the host's monotonic clock, interpolated linearly between two samples."""

    def __init__(self, ticks: Sequence[Tick], begin_s: float) -> None:
        self._ticks, self._begin_s = ticks, begin_s
        self._times = [tick.sample.monotonic_s for tick in ticks]

    def at(self, at_s: float, name: str) -> float | None:
        """Return a counter's increase in the first `at_s` seconds; None if RocksDB does not count it."""
        now, then = self._value(self._begin_s + at_s, name), self._value(self._begin_s, name)
        return None if now is None or then is None else now - then

    def at_end_of(self, seconds: float, name: str) -> float | None:
        """Give what a phase of so many seconds brought, of a counter that only clients move.

        None does after the phase, nor between a load and the phase, so the samples around it have all of it. To
        interpolate would lose what clients write in the phase's first moments, before the cap is in force.
        """
        # One sample later than necessary: the end of a phase is known only to a tenth of a second.
        seen = bisect_left(self._times, self._begin_s + seconds) + 1
        reached = self._times[min(seen, len(self._times) - 1)]
        rested = self._times[max(0, bisect_right(self._times, self._begin_s) - 1)]
        now = self._value(max(self._begin_s + seconds, reached), name)
        then = self._value(min(self._begin_s, rested), name)
        return None if now is None or then is None else now - then

    def moved(self, at_s: float, phase_s: float | None = None) -> Moved:
        """Give all of them `at_s` after the beginning; with `phase_s`, that of the phase that ends there."""
        client = self.at if phase_s is None else self.at_end_of
        stalled = self.at(at_s, "stall_micros")
        # The debt by then, never that of a later sample: the bench restores within 0.1 s of the clients' end, and the
        # owner's options make more due.
        seen = max(0, bisect_right(self._times, self._begin_s + at_s) - 1)
        families = self._ticks[seen].sample.column_families
        return Moved(
            at_s=at_s,
            user_written_bytes=_whole(client(at_s, "written_bytes")),
            wal_bytes=_whole(client(at_s, "wal_bytes")),
            flush_written_bytes=_whole(self.at(at_s, "flush_written_bytes")),
            compaction_written_bytes=_whole(self.at(at_s, "compaction_written_bytes")),
            compaction_read_bytes=_whole(self.at(at_s, "compaction_read_bytes")),
            pending_compaction_bytes=sum(cf.pending_compaction_bytes for cf in families),
            stalled_s=None if stalled is None else stalled / _MICROS,
        )

    def _value(self, monotonic_s: float, name: str) -> float | None:
        """Interpolate; counts before the first sample are 0, since the database was opened then."""
        after = bisect_right(self._times, monotonic_s)
        if after == 0:
            return 0.0 if self._count(0, name) is not None else None
        if after == len(self._times):
            return self._count(after - 1, name)
        low, high = self._count(after - 1, name), self._count(after, name)
        if low is None or high is None:
            return None
        begin_s, end_s = self._times[after - 1], self._times[after]
        return low + (high - low) * (monotonic_s - begin_s) / (end_s - begin_s)

    def _count(self, index: int, name: str) -> float | None:
        counters: Counters = self._ticks[index].sample.counters
        value = getattr(counters, name)
        return None if value is None else float(value)


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)
