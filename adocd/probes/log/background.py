"""What led to a stall: RocksDB's background jobs in the last minute, and the state of its LSM trees."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from adocd.probes.log.events import CompactionFinished, CompactionStarted, FlushFinished, LevelSummary

BEFORE_S = 60
_JOBS_MOST = 1024
_FAMILIES_MOST = 4096


@dataclass(slots=True)
class _Second:
    at: int
    flushes: int = 0
    flushed_bytes: int = 0
    compactions: int = 0
    compacted_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Led:
    """What happened in the `seconds` before a stall began, and the state at its beginning.

    Flushes and compactions are those of all column families that ended in that time, with the bytes that they wrote.
    `l0_files` and `pending_compaction_bytes` are the stalled column family's last known values; None if unknown.
    `options` are the values in force that matter for the cause.
    """

    seconds: int
    flushes: int
    flushed_bytes: int
    compactions: int
    compacted_bytes: int
    compactions_running: int
    l0_files: int | None
    pending_compaction_bytes: int | None
    options: Mapping[str, str] = field(default_factory=dict)


class BackgroundHistory:
    """Remembers the last minute by seconds, the running compactions, and the figures of each column family."""

    def __init__(self) -> None:
        self._seconds: deque[_Second] = deque(maxlen=BEFORE_S)
        self._running: dict[int | None, None] = {}
        self._l0_files: dict[str, int] = {}
        self._pending_bytes: dict[str, int] = {}
        #: When the session began, or what is known of it; None: longer ago than matters.
        self._since_s: float | None = None

    def flushed(self, event: FlushFinished) -> None:
        """Add a finished flush."""
        second = self._second(event.time_s)
        second.flushes += 1
        second.flushed_bytes += event.written_bytes or 0
        self._tree(event.column_family, event.level_files)

    def compacting(self, event: CompactionStarted) -> None:
        """Add a compaction that has started."""
        if len(self._running) >= _JOBS_MOST:
            del self._running[next(iter(self._running))]
        self._running[event.job] = None

    def compacted(self, event: CompactionFinished) -> None:
        """Add a finished compaction."""
        self._running.pop(event.job, None)
        second = self._second(event.time_s)
        second.compactions += 1
        second.compacted_bytes += event.written_bytes or 0
        self._tree(event.column_family, event.level_files)

    def summary(self, event: LevelSummary) -> None:
        """Take a column family's level summary."""
        self._tree(event.column_family, event.level_files)
        self.pending(event.column_family, event.pending_compaction_bytes)

    def pending(self, column_family: str, pending_bytes: int | None) -> None:
        """Take a column family's estimated pending compaction bytes."""
        if pending_bytes is not None and (column_family in self._pending_bytes or self._room(self._pending_bytes)):
            self._pending_bytes[column_family] = pending_bytes

    def l0(self, column_family: str, files: int) -> None:
        """Take the number of level-0 files from a line about a stall."""
        self._tree(column_family, (files,))

    def begins(self, time_s: float) -> None:
        """Note that nothing is known of the time before this."""
        self._since_s = time_s if self._since_s is None else min(self._since_s, time_s)

    def opened(self, time_s: float) -> None:
        """Forget the jobs of the session before, because a new one begins."""
        self._running.clear()
        self._seconds.clear()
        self._since_s = time_s

    def led(self, column_family: str, time_s: float, options: Mapping[str, str]) -> Led:
        """Return what led to a stall that begins now."""
        before = [second for second in self._seconds if 0 <= time_s - second.at <= BEFORE_S]
        known_s = BEFORE_S if self._since_s is None else round(time_s - self._since_s)
        return Led(
            min(BEFORE_S, max(1, known_s)),
            sum(second.flushes for second in before),
            sum(second.flushed_bytes for second in before),
            sum(second.compactions for second in before),
            sum(second.compacted_bytes for second in before),
            len(self._running),
            self._l0_files.get(column_family),
            self._pending_bytes.get(column_family),
            options,
        )

    def _second(self, time_s: float) -> _Second:
        at = int(time_s)
        if not self._seconds or self._seconds[-1].at != at:
            self._seconds.append(_Second(at))
        return self._seconds[-1]

    def _tree(self, column_family: str | None, level_files: tuple[int, ...]) -> None:
        if (
            column_family is not None
            and level_files
            and (column_family in self._l0_files or self._room(self._l0_files))
        ):
            self._l0_files[column_family] = level_files[0]

    @staticmethod
    def _room(of: Mapping[str, int]) -> bool:
        return len(of) < _FAMILIES_MOST
