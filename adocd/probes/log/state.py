"""What the LOG says of a database now, from its events in order; memory is bounded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adocd.model.snapshot import Counters
from adocd.probes.log.dump_events import ColumnFamilyStats, CompactionStats, DbStats, Statistics
from adocd.probes.log.events import (
    CompactionFinished,
    CompactionPressure,
    CompactionStarted,
    FlushFinished,
    FlushStarted,
    Header,
    LevelSummary,
    LogEvent,
    MemtableSwitched,
    OptionsChanged,
    OptionsListed,
    Shutdown,
    Stall,
)
from adocd.probes.log.live_options import LiveOptions
from adocd.probes.log.tree import Tree

#: No database of a LOG that is whole has more.
_FAMILIES_MOST = 4096
#: The parts of a dump that other lines break into come within this time.
_ONE_DUMP_S = 1.0


@dataclass(frozen=True, slots=True)
class DumpRates:
    """What a statistics dump says of the time since the one before; None where it does not.

    `time_s` is unix seconds. Writes are keys; RocksDB writes large numbers rounded (12K, 3M).
    """

    time_s: float
    interval_s: float
    writes_per_s: float | None
    written_bytes_per_s: float | None
    wal_bytes_per_s: float | None
    stalled_fraction: float | None


class LogState:
    """Takes a LOG's events. All but the session's own members begin anew with each open.

    An open is known by its session id, for a LOG that is rotated by its size (max_log_file_size) repeats the lines of
    the open. RocksDB before 6.13 writes none: there such a rotation counts as an open.
    """

    def __init__(self) -> None:
        #: Names one open; None before the first line of one.
        self.session: str | None = None
        #: When the session's first line was written, in unix seconds.
        self.opened_s: float | None = None
        self.rocksdb_version: str | None = None
        #: When the newest event was, in unix seconds.
        self.time_s: float | None = None
        self._opening: Header | None = None
        self._repeating = False
        self._begin()
        self._sides: dict[type[LogEvent], Callable[[Any], None]] = {
            Header: self._header,
            OptionsListed: self._listed,
            OptionsChanged: self._changed,
            FlushStarted: lambda e: _begin_job(self._flushing, e.job),
            CompactionStarted: lambda e: _begin_job(self._compacting, e.job),
            FlushFinished: self._flushed,
            CompactionFinished: self._compacted,
            MemtableSwitched: lambda e: self._of(e.column_family).switched(e),
            LevelSummary: lambda e: self._of(e.column_family).summary(e),
            Stall: lambda e: self._of(e.column_family).told(e),
            CompactionPressure: lambda e: self._of(e.column_family).told(e),
            CompactionStats: lambda e: self._of(e.column_family).dumped(e),
            ColumnFamilyStats: lambda e: self._of(e.column_family).pending(e.pending_compaction_bytes, e.time_s),
            DbStats: self._db_stats,
            Statistics: lambda e: self._tickers.update(e.tickers),
            Shutdown: self._shut_down,
        }

    def add(self, event: LogEvent) -> None:
        """Take the next event."""
        self.time_s = event.time_s if self.time_s is None else max(self.time_s, event.time_s)
        if not isinstance(event, Header | OptionsListed):
            self._settle()
        if (side := self._sides.get(type(event))) is not None:
            side(event)

    @property
    def running_flushes(self) -> int:
        """Flush jobs that have begun and not ended."""
        return len(self._flushing)

    @property
    def running_compactions(self) -> int:
        """Compaction jobs that have begun and not ended."""
        return len(self._compacting)

    @property
    def counters(self) -> Counters:
        """Cumulative figures of this session; where RocksDB has deleted its first files, of those that are left.

        Those of flushes and compactions are sums over their events: written bytes of flushes are those of the tables
        (FlushFinished says what the ticker has beside them), read bytes the compactions' inputs. Those of writes are
        as the last dump has them, exact with Statistics, else rounded by RocksDB; None before the first dump, and after
        the one that RocksDB makes as it opens the database: its zeros say nothing of the 600 s until the next.
        """
        return Counters(
            writes=self._written("rocksdb.number.keys.written", "keys"),
            written_bytes=self._written("rocksdb.bytes.written", "ingest_bytes"),
            wal_bytes=self._written("rocksdb.wal.bytes", "wal_written_bytes"),
            stall_micros=self._written("rocksdb.stall.micros", "stall_s", 1e6),
            flushes=self._flushes,
            flush_written_bytes=self._flush_bytes,
            compactions=self._compactions,
            compaction_read_bytes=self._read_bytes,
            compaction_written_bytes=self._compacted_bytes,
        )

    @property
    def dump(self) -> DumpRates | None:
        """The last dump's own interval; None before the first dump, that of the open itself aside."""
        interval, interval_s = self._interval, self._interval.get("uptime_s")
        if self._dumped_s is None or not interval_s or not self._has_counted:
            return None

        def rate(name: str) -> float | None:
            figure = interval.get(name)
            return None if figure is None else figure / interval_s

        return DumpRates(
            self._dumped_s, interval_s, rate("keys"), rate("ingest_bytes"), rate("wal_written_bytes"), rate("stall_s")
        )

    def _begin(self) -> None:
        self.trees: dict[str, Tree] = {}
        self.options = LiveOptions()
        #: The LOG says that the database is closed.
        self.is_closed = False
        self._flushing: dict[int, int] = {}
        self._compacting: dict[int, int] = {}
        self._flushes = self._flush_bytes = 0
        self._compactions = self._read_bytes = self._compacted_bytes = 0
        self._tickers: dict[str, int] = {}
        self._dumped_s: float | None = None
        #: A dump has come that is more than that of the open.
        self._has_counted = False
        self._cumulative: dict[str, float] = {}
        self._interval: dict[str, float] = {}

    def _header(self, event: Header) -> None:
        if event.name == "rocksdb_version":
            self._settle()
            self._opening = event
        elif event.name == "db_session_id" and self._opening is not None:
            if event.value == self.session:
                self._repeating, self._opening = True, None
            else:
                self._open(event.value)

    def _settle(self) -> None:
        """Begin a session whose id has not come: this line is not one that belongs before it."""
        self._repeating = False
        if self._opening is not None:
            self._open(f"opened at {self._opening.time_s:.6f}")

    def _open(self, session: str) -> None:
        opening, self._opening = self._opening, None
        if opening is not None:
            self.rocksdb_version, self.opened_s = opening.value, opening.time_s
        self.session = session
        self._begin()

    def _of(self, column_family: str | None) -> Tree:
        """Give the column family's tree; one that nobody sees where there is no name, or no room."""
        if column_family is None:
            return Tree()
        tree = self.trees.get(column_family)
        if tree is None:
            tree = Tree()
            if len(self.trees) < _FAMILIES_MOST:
                self.trees[column_family] = tree
        return tree

    def _listed(self, event: OptionsListed) -> None:
        if self._opening is not None:
            self._settle()
        if self._repeating:
            return
        if event.column_family is not None:
            self._of(event.column_family)
        self.options.listed(event)

    def _changed(self, event: OptionsChanged) -> None:
        self.options.changed(event)

    def _flushed(self, event: FlushFinished) -> None:
        _end_job(self._flushing, event.job)
        self._flushes += 1
        self._flush_bytes += event.written_bytes or 0
        self._of(event.column_family).finished(event)

    def _compacted(self, event: CompactionFinished) -> None:
        _end_job(self._compacting, event.job)
        self._compactions += 1
        self._read_bytes += event.input_bytes or 0
        self._compacted_bytes += event.written_bytes or 0
        self._of(event.column_family).finished(event)

    def _db_stats(self, event: DbStats) -> None:
        is_part = self._dumped_s is not None and abs(event.time_s - self._dumped_s) < _ONE_DUMP_S
        if "uptime_s" in event.interval or not is_part:
            self._dumped_s, self._interval = event.time_s, {}
        self._interval |= event.interval
        self._cumulative |= event.cumulative
        if interval_s := self._interval.get("uptime_s"):
            is_first = interval_s == self._cumulative.get("uptime_s")
            self._has_counted = self._has_counted or not is_first or bool(self._cumulative.get("keys"))

    def _written(self, ticker: str, figure: str, factor: float = 1) -> int | None:
        """Give the exact figure where there are Statistics: never now this one, now the rounded one."""
        if not self._has_counted:
            return None
        if self._tickers:
            return self._tickers.get(ticker)
        value = self._cumulative.get(figure)
        return None if value is None else round(value * factor)

    def _shut_down(self, event: Shutdown) -> None:
        self.is_closed = self.is_closed or event.text.startswith("Shutdown complete")


def _begin_job(jobs: dict[int, int], job: int | None) -> None:
    """Count a part of a job: an atomic flush has one for each column family."""
    if job is not None:
        jobs[job] = jobs.get(job, 0) + 1
        if len(jobs) > _FAMILIES_MOST:
            del jobs[next(iter(jobs))]


def _end_job(jobs: dict[int, int], job: int | None) -> None:
    if job is not None and job in jobs:
        jobs[job] -= 1
        if jobs[job] <= 0:
            del jobs[job]
