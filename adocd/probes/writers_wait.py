"""How long writers have waited in all, a wait in progress included.

RocksDB adds a wait to its stall micros when the wait ends (db_impl_write.cc, DelayWrite), so during a stop of a minute
the counter stands still and then jumps.
"""

from adocd.model.snapshot import Condition, Snapshot


def condition_of(snapshot: Snapshot) -> Condition:
    """Return the worse of stall events and properties.

    RocksDB notifies listeners of a stop by full memtables only when it is over (the blocked writer itself delivers the
    notice, db_impl_write.cc, PreprocessWrite); the property shows it at once.
    """
    if snapshot.stall.condition == "stopped" or snapshot.properties.get("rocksdb.is-write-stopped", 0) > 0:
        return "stopped"
    if snapshot.stall.condition == "delayed" or snapshot.properties.get("rocksdb.actual-delayed-write-rate", 0) > 0:
        return "delayed"
    return "normal"


class WritersWait:
    """Follows one session's snapshots.

    Time counts as waited while writes are stopped and none gets through. So it also counts if nobody tries to write
    then, which no counter can tell; `total_s` then stands still until RocksDB's own count has caught up.
    """

    def __init__(self) -> None:
        self._before: Snapshot | None = None
        self._in_progress_s = 0.0
        #: Seconds since the open; None if RocksDB's count is not read.
        self.total_s: float | None = None

    def observe(self, snapshot: Snapshot) -> None:
        """Take the next snapshot."""
        before, self._before = self._before, snapshot
        micros = snapshot.counters.stall_micros
        if micros is None:
            self.total_s = None
            return
        if before is None or before.session != snapshot.session or _was_reset(before, micros):
            self._in_progress_s, self.total_s = 0.0, 0.0
        elif _is_stopped(before, snapshot):
            self._in_progress_s += _stopped_s(before, snapshot)
        else:
            self._in_progress_s = 0.0
        self.total_s = max(self.total_s or 0.0, micros / 1e6 + self._in_progress_s)


def _was_reset(before: Snapshot, micros: int) -> bool:
    then = before.counters.stall_micros
    return then is not None and micros < then


def _is_stopped(before: Snapshot, snapshot: Snapshot) -> bool:
    """Whether writes are stopped now, and no wait has ended since the snapshot before."""
    return condition_of(snapshot) == "stopped" and before.counters.stall_micros == snapshot.counters.stall_micros


def _stopped_s(before: Snapshot, snapshot: Snapshot) -> float:
    """Return for how long of the time between two snapshots no write got through; at the beginning, as events tell."""
    if condition_of(before) == "stopped":
        passed = before.counters.writes != snapshot.counters.writes
        return 0.0 if passed else max(0.0, snapshot.monotonic_s - before.monotonic_s)
    return max(0.0, snapshot.stall.stopped_s - before.stall.stopped_s)
