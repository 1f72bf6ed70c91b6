"""The contents of a RocksDB LOG as values: what happened, and what RocksDB wrote about itself at the open.

`time_s` is unix seconds with microseconds. Sizes are bytes and times seconds unless the name says otherwise. None means
that a line of this version, or a damaged line, lacks the value. The figures of the periodic dump are in
adocd.probes.log.dump_events.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from adocd.model import stall

Cause = stall.Cause
Condition = stall.Held
Outcome = Literal["succeeded", "failed", "not persisted", "unchanged", "unknown"]


@dataclass(frozen=True, slots=True)
class LogEvent:
    """Something that a LOG reports, and when."""

    #: The kind of event, for counting by kind.
    kind: ClassVar[str] = "event"
    time_s: float


@dataclass(frozen=True, slots=True)
class HeaderLine(LogEvent):
    """A line from the start of a session: `name` is rocksdb_version (the first line), git_sha, compile_date, ..."""

    kind: ClassVar[str] = "header"
    name: str
    value: str


@dataclass(frozen=True, slots=True)
class OptionsListed(LogEvent):
    """The options in force, as RocksDB writes them: the database's, or those of `column_family`.

    RocksDB lists them at the open, and the database's again after SetDBOptions. Options of the table factory are under
    `table_factory.`. A listing that other lines interrupt comes as several.
    """

    kind: ClassVar[str] = "options"
    column_family: str | None
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class OptionsChanged(LogEvent):
    """SetOptions() on a column family, or SetDBOptions() where `column_family` is None.

    `not persisted`: in force, but RocksDB could not write the OPTIONS file. `unchanged`: the values were already in
    force, or there were none. `unknown`: the LOG does not show the outcome.
    """

    kind: ClassVar[str] = "options_changed"
    column_family: str | None
    values: Mapping[str, str]
    outcome: Outcome
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class JobEvent(LogEvent):
    """An EVENT_LOG_v1 line; `fields` is its JSON as written, `time_s` the time inside."""

    kind: ClassVar[str] = "event_log"
    job: int | None
    #: From the line itself, otherwise from the job's earlier lines.
    column_family: str | None
    #: Whether the line was damaged, so that `fields` has only what could be saved.
    damaged: bool
    fields: Mapping[str, object] = field(repr=False)


@dataclass(frozen=True, slots=True)
class FlushStarted(JobEvent):
    """A flush starts; `data_bytes` is the data written to its memtables (total_data_size, since 6.9)."""

    kind: ClassVar[str] = "flush_started"
    reason: str | None
    memtables: int | None
    entries: int | None
    deletes: int | None
    data_bytes: int | None
    memory_bytes: int | None


@dataclass(frozen=True, slots=True)
class FlushFinished(JobEvent):
    """A flush is done; `written_bytes` is the total size of the tables (and blob files) that its job made.

    The ticker rocksdb.flush.write.bytes is the sum of these plus the flushes' MANIFEST writes, some 150 bytes each
    (FlushJob::RecordFlushIOStats runs after the edit is written). `elapsed_s` runs from its flush_started line. Both
    are None if the LOG begins in the middle of the job.
    """

    kind: ClassVar[str] = "flush_finished"
    level_files: tuple[int, ...]
    immutable_memtables: int | None
    written_bytes: int | None
    elapsed_s: float | None


@dataclass(frozen=True, slots=True)
class CompactionStarted(JobEvent):
    """A compaction starts: its input files by level, and their bytes (input_data_size)."""

    kind: ClassVar[str] = "compaction_started"
    reason: str | None
    score: float | None
    input_files: Mapping[int, int]
    input_bytes: int | None


@dataclass(frozen=True, slots=True)
class CompactionFinished(JobEvent):
    """A compaction is done; `written_bytes` (total_output_size) sums up to rocksdb.compact.write.bytes.

    `input_bytes` is the inputs' size on the device, from the start event. The ticker rocksdb.compact.read.bytes differs
    a little: it leaves out what was already in memory (index and properties of open tables) and counts repeated reads
    again.
    """

    kind: ClassVar[str] = "compaction_finished"
    output_level: int | None
    output_files: int | None
    written_bytes: int | None
    input_bytes: int | None
    input_records: int | None
    output_records: int | None
    elapsed_s: float | None
    cpu_s: float | None
    level_files: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TableFileCreated(JobEvent):
    """A table file was written by `job`, which is a flush, a compaction or a recovery."""

    kind: ClassVar[str] = "table_file_creation"
    file_number: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class TableFileDeleted(JobEvent):
    """A table file was removed."""

    kind: ClassVar[str] = "table_file_deletion"
    file_number: int | None


@dataclass(frozen=True, slots=True)
class TrivialMove(JobEvent):
    """A compaction that only moved files to another level, without reading or writing them."""

    kind: ClassVar[str] = "trivial_move"
    output_level: int | None
    files: int | None
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class OtherJobEvent(JobEvent):
    """Every other EVENT_LOG_v1 line, by RocksDB's own name (recovery_started, blob_file_creation, ...)."""

    kind: ClassVar[str] = "other_event"
    name: str


@dataclass(frozen=True, slots=True)
class LoggedStall(LogEvent):
    """RocksDB found that writes must be delayed or stopped (db/column_family.cc, RecalculateWriteStallConditions).

    It writes this line, and counts it in its cfstats, each time it installs a new superversion (memtable full, flush or
    compaction done, options set) and finds the condition: a long stall has many lines. No line says that the stall is
    over. `figure` is the number of immutable memtables, of level-0 files, or the estimated pending compaction bytes, by
    `cause`; `limit` is max_write_buffer_number; `rate_bytes_per_s` is the delayed write rate.
    """

    kind: ClassVar[str] = "stall"
    column_family: str
    condition: Condition
    cause: Cause
    figure: int | None
    limit: int | None
    rate_bytes_per_s: int | None


@dataclass(frozen=True, slots=True)
class CompactionPressure(LogEvent):
    """Not a stall yet: RocksDB allows more compactions at once; `figure` is as for a stall."""

    kind: ClassVar[str] = "compaction_pressure"
    column_family: str
    cause: Cause
    figure: int | None


@dataclass(frozen=True, slots=True)
class MemtableSwitched(LogEvent):
    """A new memtable takes the writes; `immutable_memtables` were waiting before (unflushed or being flushed)."""

    kind: ClassVar[str] = "memtable_switched"
    column_family: str
    wal_number: int
    immutable_memtables: int


@dataclass(frozen=True, slots=True)
class LevelSummary(LogEvent):
    """The levels after a flush or compaction; pending compaction bytes are included since RocksDB 9."""

    kind: ClassVar[str] = "level_summary"
    column_family: str
    level_files: tuple[int, ...]
    max_score: float | None
    pending_compaction_bytes: int | None


@dataclass(frozen=True, slots=True)
class ColumnFamilyDropped(LogEvent):
    """A column family was dropped; its name is None where the LOG does not say which id it has."""

    kind: ClassVar[str] = "column_family_dropped"
    column_family: str | None


@dataclass(frozen=True, slots=True)
class ManualJob(LogEvent):
    """A manual flush or compaction: RocksDB's message about its start or end."""

    kind: ClassVar[str] = "manual"
    column_family: str | None
    what: Literal["flush", "compaction"]
    text: str


@dataclass(frozen=True, slots=True)
class Shutdown(LogEvent):
    """The database is being closed."""

    kind: ClassVar[str] = "shutdown"
    text: str


@dataclass(frozen=True, slots=True)
class LoggedProblem(LogEvent):
    """A warning or error that is not a stall; `background` if it is about RocksDB's background error handling."""

    kind: ClassVar[str] = "problem"
    level: Literal["warning", "error", "fatal"]
    column_family: str | None
    text: str
    background: bool


#: What RocksDB writes at level INFO alone: such a line shows that the LOG leaves out nothing that tells of a stall.
INFO_EVENTS = (
    JobEvent,
    MemtableSwitched,
    LevelSummary,
    CompactionPressure,
    ColumnFamilyDropped,
    ManualJob,
    Shutdown,
)
