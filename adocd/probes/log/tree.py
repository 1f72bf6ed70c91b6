"""One column family by its LOG: the newest figure of each kind, or None while no line has shown it."""

from collections import Counter
from dataclasses import dataclass, field

from adocd.probes.log.dump_events import CompactionStats
from adocd.probes.log.events import (
    CompactionFinished,
    CompactionPressure,
    FlushFinished,
    LevelSummary,
    LoggedStall,
    MemtableSwitched,
)

_COUNTED = {"delayed": "slowdowns", "stopped": "stops"}


@dataclass(slots=True)
class Tree:
    """Current figures of one column family, and its stall counts since the open.

    Lines are out of order by moments, so only a figure at least as recent replaces an older one.
    """

    #: Files by level.
    level_files: tuple[int, ...] | None = None
    #: Immutable memtables, including those being flushed.
    immutable_memtables: int | None = None
    pending_compaction_bytes: int | None = None
    #: The rate in the last line about a delay, in bytes/s.
    delayed_rate_bytes_per_s: int | None = None
    #: Named like `stall_counts` in agents/admin-api.yaml.
    stall_counts: Counter[str] = field(default_factory=Counter)
    _levels_s: float = 0.0
    _memtables_s: float = 0.0
    _pending_s: float = 0.0
    #: Whether the pending bytes are from a line that RocksDB writes only while they are large.
    _pending_by_line: bool = False

    def switched(self, event: MemtableSwitched) -> None:
        """Take a new memtable: the waiting ones plus the full one are now immutable."""
        self._memtables(event.immutable_memtables + 1, event.time_s)

    def finished(self, event: FlushFinished | CompactionFinished) -> None:
        """Take the end of a flush or compaction, which outdates pending bytes from an earlier line."""
        self._levels(event.level_files, event.time_s)
        if isinstance(event, FlushFinished):
            self._memtables(event.immutable_memtables, event.time_s)
        if self._pending_by_line and self._pending_s < event.time_s:
            self.pending_compaction_bytes = None

    def summary(self, event: LevelSummary) -> None:
        """Take the level summary after a job."""
        self._levels(event.level_files, event.time_s)
        self.pending(event.pending_compaction_bytes, event.time_s)

    def told(self, event: LoggedStall | CompactionPressure) -> None:
        """Take the figure for the cause from a line about a stall or a threatening one."""
        if isinstance(event, LoggedStall):
            self.stall_counts[f"{event.cause}_{_COUNTED[event.condition]}"] += 1
            self.delayed_rate_bytes_per_s = event.rate_bytes_per_s
        if event.figure is None:
            return
        if event.cause == "memtable":
            self._memtables(event.figure, event.time_s)
        elif event.cause == "l0":
            self._levels((event.figure, *(self.level_files or ())[1:]), event.time_s)
        elif event.cause == "pending_bytes":
            self.pending(event.figure, event.time_s, by_line=True)

    def dumped(self, event: CompactionStats) -> None:
        """Take the compaction table of a dump, which leaves out levels that have always been empty."""
        names = [row.name for row in event.rows]
        if event.by != "level" or "Sum" not in names:  # other lines interrupted it
            return
        files = {int(row.name[1:]): row.files for row in event.rows if row.name[1:].isdecimal() and row.name[0] == "L"}
        levels = max(max(files, default=0) + 1, len(self.level_files or ()))
        self._levels(tuple(files.get(level, 0) for level in range(levels)), event.time_s)

    def pending(self, pending_bytes: int | None, time_s: float, *, by_line: bool = False) -> None:
        """Take estimated pending compaction bytes."""
        if pending_bytes is not None and time_s >= self._pending_s:
            self.pending_compaction_bytes, self._pending_s, self._pending_by_line = pending_bytes, time_s, by_line

    def _memtables(self, immutable: int | None, time_s: float) -> None:
        if immutable is not None and time_s >= self._memtables_s:
            self.immutable_memtables, self._memtables_s = immutable, time_s

    def _levels(self, level_files: tuple[int, ...], time_s: float) -> None:
        if level_files and time_s >= self._levels_s:
            self.level_files, self._levels_s = level_files, time_s
