"""A database's current state by its LOG, from the events in order; memory is bounded."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from adocd.model.snapshot import Counters
from adocd.probes.log.dump_events import ColumnFamilyStats, CompactionStats, DbStats, StatisticsDump
from adocd.probes.log.events import (
    CompactionFinished,
    CompactionPressure,
    CompactionStarted,
    FlushFinished,
    FlushStarted,
    LevelSummary,
    LogEvent,
    LoggedStall,
    MemtableSwitched,
    OptionsChanged,
    OptionsListed,
    Shutdown,
)
from adocd.probes.log.live_options import LiveOptions
from adocd.probes.log.opens import Opened, Opens
from adocd.probes.log.tree import Tree

#: Most column families kept; no database with an undamaged LOG has more.
_FAMILIES_MOST = 4096
#: The parts of a dump that other lines interrupt come within this time (s).
_ONE_DUMP_S = 1.0


@dataclass(frozen=True, slots=True)
class DumpRates:
    """A statistics dump's figures for the time since the previous dump; None where it lacks one.

    `time_s` is unix seconds. Writes are keys; RocksDB rounds large numbers (12K, 3M).
    """

    time_s: float
    interval_s: float
    writes_per_s: float | None
    written_bytes_per_s: float | None
    wal_bytes_per_s: float | None
    stalled_fraction: float | None


class LogState:
    """Takes a LOG's events. Everything except the session's own members starts anew with each open."""

    def __init__(self) -> None:
        #: When the session's first line was written, in unix seconds.
        self.opened_s: float | None = None
        self.rocksdb_version: str | None = None
        #: The time of the newest event, in unix seconds.
        self.time_s: float | None = None
        self._opens = Opens()
        self._begin()
        self._sides: dict[type[LogEvent], Callable[[Any], None]] = {
            OptionsListed: self._listed,
            OptionsChanged: self._changed,
            FlushStarted: lambda e: _begin_job(self._flushing, e.job),
            CompactionStarted: lambda e: _begin_job(self._compacting, e.job),
            FlushFinished: self._flushed,
            CompactionFinished: self._compacted,
            MemtableSwitched: lambda e: self._of(e.column_family).switched(e),
            LevelSummary: lambda e: self._of(e.column_family).summary(e),
            LoggedStall: lambda e: self._of(e.column_family).told(e),
            CompactionPressure: lambda e: self._of(e.column_family).told(e),
            CompactionStats: lambda e: self._of(e.column_family).dumped(e),
            ColumnFamilyStats: lambda e: self._of(e.column_family).pending(e.pending_compaction_bytes, e.time_s),
            DbStats: self._db_stats,
            StatisticsDump: lambda e: self._tickers.update(e.tickers),
            Shutdown: self._shut_down,
        }

    def add(self, event: LogEvent) -> None:
        """Process the next event of the LOG."""
        self.time_s = event.time_s if self.time_s is None else max(self.time_s, event.time_s)
        if (opened := self._opens.take(event)) is not None:
            self._open(opened)
        if (side := self._sides.get(type(event))) is not None:
            side(event)

    @property
    def session(self) -> str | None:
        """Identifies one open; None before the first line of one."""
        return self._opens.session

    @property
    def running_flushes(self) -> int:
        """Number of running flush jobs."""
        return len(self._flushing)

    @property
    def running_compactions(self) -> int:
        """Number of running compaction jobs."""
        return len(self._compacting)

    @property
    def counters(self) -> Counters:
        """Cumulative figures of this session; if RocksDB has deleted its first LOG files, of the remaining ones.

        Those of flushes and compactions are sums over their events: flushes' written bytes are those of their tables
        (FlushFinished says what the ticker adds), read bytes are the compactions' inputs. Those of writes are from the
        last dump, exact with Statistics and otherwise rounded by RocksDB. They are None before the first dump and after
        the one at the open, whose zeros say nothing about the 600 s until the next.
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
        """The last dump's own interval; None before the first dump, not counting the one at the open."""
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
        #: Whether the LOG shows that the database was closed.
        self.is_closed = False
        self._flushing: dict[int, int] = {}
        self._compacting: dict[int, int] = {}
        self._flushes = self._flush_bytes = 0
        self._compactions = self._read_bytes = self._compacted_bytes = 0
        self._tickers: dict[str, int] = {}
        self._dumped_s: float | None = None
        #: Whether a dump after the one at the open has come.
        self._has_counted = False
        self._cumulative: dict[str, float] = {}
        self._interval: dict[str, float] = {}

    def _open(self, opened: Opened) -> None:
        self.rocksdb_version, self.opened_s = opened.rocksdb_version, opened.time_s
        self._begin()

    def _of(self, column_family: str | None) -> Tree:
        """Return the column family's tree; an unused one if there is no name, or no room for more."""
        if column_family is None:
            return Tree()
        tree = self.trees.get(column_family)
        if tree is None:
            tree = Tree()
            if len(self.trees) < _FAMILIES_MOST:
                self.trees[column_family] = tree
        return tree

    def _listed(self, event: OptionsListed) -> None:
        if self._opens.is_repeating:
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
        """Return the exact figure if there are Statistics, so that exact and rounded figures never alternate."""
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
