"""The figures of the periodic statistics dump (stats_dump_period_sec), as values.

Cumulative figures count from the open, interval figures from the previous dump. RocksDB's GB, MB and KB are powers of
1024; its figures are rounded, except those of Statistics. A section that other lines interrupt comes as several events,
each with its part.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from adocd.probes.log.events import LogEvent


@dataclass(frozen=True, slots=True)
class DbStats(LogEvent):
    """The section `** DB Stats **`: one `Uptime`, writes, WAL and stall line, each cumulative and over the interval.

    Keys of `cumulative` and `interval`: uptime_s; writes, keys, commit_groups, writes_per_commit_group, ingest_bytes,
    ingest_bytes_per_s; wal_writes, wal_syncs, wal_writes_per_sync, wal_written_bytes, wal_bytes_per_s; stall_s,
    stall_percent. Newer versions add `stall_counts`.
    """

    kind: ClassVar[str] = "db_stats"
    cumulative: Mapping[str, float]
    interval: Mapping[str, float]
    stall_counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class CompactionRow:
    """A row of the compaction table; `values` by RocksDB's own column names (`Read(GB)`, `W-Amp`, `Comp(cnt)`, ...)."""

    #: L0, L1, ..., Sum, Int, or a priority: Low, High, Bottom, User.
    name: str
    files: int
    being_compacted: int
    size_bytes: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class CompactionStats(LogEvent):
    """A table `** Compaction Stats [cf] **`; its row Sum is cumulative, its row Int over the interval."""

    kind: ClassVar[str] = "compaction_stats"
    column_family: str
    by: Literal["level", "priority"]
    rows: tuple[CompactionRow, ...]


@dataclass(frozen=True, slots=True)
class ColumnFamilyStats(LogEvent):
    """The lines after the compaction tables of a column family.

    Keys of `cumulative` and `interval`: uptime_s; flush_bytes, add_file_bytes, add_file_total_files,
    add_file_l0_files, add_file_keys; compaction_write_bytes, compaction_write_bytes_per_s, compaction_read_bytes,
    compaction_read_bytes_per_s, compaction_s; stalls (interval only).
    Keys of `stall_counts`, since the open: {memtable,l0,pending_bytes}_{stops,slowdowns}, l0_stops_with_compaction,
    l0_slowdowns_with_compaction, and since RocksDB 8 total_stops, total_slowdowns.
    """

    kind: ClassVar[str] = "column_family_stats"
    column_family: str
    cumulative: Mapping[str, float]
    interval: Mapping[str, float]
    stall_counts: Mapping[str, int]
    pending_compaction_bytes: int | None


@dataclass(frozen=True, slots=True)
class ReadLatency(LogEvent):
    """Reads of table files at one level (`** Level 0 read latency histogram (micros) **`) since the open.

    `level` None is the histogram of blob files. Times are microseconds; `percentiles_us` by percent.
    """

    kind: ClassVar[str] = "read_latency"
    column_family: str
    level: int | None
    count: int
    average_us: float | None
    deviation_us: float | None
    min_us: float | None
    median_us: float | None
    max_us: float | None
    percentiles_us: Mapping[float, float]


@dataclass(frozen=True, slots=True)
class LoggedHistogram:
    """A histogram of Statistics since the open, in the unit that its name says."""

    count: int
    sum: int
    percentiles: Mapping[float, float]


@dataclass(frozen=True, slots=True)
class StatisticsDump(LogEvent):
    """The block STATISTICS: every ticker and histogram by RocksDB's name, cumulative since the open and exact."""

    kind: ClassVar[str] = "statistics"
    tickers: Mapping[str, int]
    histograms: Mapping[str, LoggedHistogram]
