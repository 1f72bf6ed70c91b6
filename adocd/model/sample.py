"""Everything measured about a target in one tick."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from adocd.model.allowance import Allowance
from adocd.model.latency import WriteLatency
from adocd.model.options import LEVEL_COMPACTION, UNIVERSAL_COMPACTION
from adocd.model.overflow import Overflow
from adocd.model.snapshot import Condition, Counters, Event, OptionValues
from adocd.model.surroundings import Surroundings
from adocd.model.threads import ThreadsBy
from adocd.model.values import OptionName, Values, flat

#: Replaces a limit that an agent does not report; 0 disables the detection that uses it.
_NO_LIMIT = 0
#: Windows that are this near to each other follow each other: their times are rounded.
_ROUNDED_S = 0.001


@dataclass(frozen=True, slots=True)
class ColumnFamilyOptions:
    """The live options of a column family that laws and guards reason about (advanced_options.h, options.h)."""

    write_buffer_size_bytes: int
    max_write_buffer_number: int
    min_write_buffer_number_to_merge: int
    level0_file_num_compaction_trigger: int
    level0_slowdown_writes_trigger: int
    level0_stop_writes_trigger: int
    soft_pending_compaction_bytes_limit: int
    hard_pending_compaction_bytes_limit: int
    target_file_size_base_bytes: int
    max_bytes_for_level_base_bytes: int
    disable_auto_compactions: bool
    compaction_style: str = LEVEL_COMPACTION

    @classmethod
    def read(cls, values: Mapping[str, str]) -> Self:
        """Parse them as RocksDB writes them; raises ValueError if one is not a number."""

        def number(option: str, otherwise: int = _NO_LIMIT) -> int:
            return int(values.get(option, otherwise))

        return cls(
            write_buffer_size_bytes=number("write_buffer_size"),
            max_write_buffer_number=number("max_write_buffer_number", 2),
            min_write_buffer_number_to_merge=number("min_write_buffer_number_to_merge", 1),
            level0_file_num_compaction_trigger=number("level0_file_num_compaction_trigger"),
            level0_slowdown_writes_trigger=number("level0_slowdown_writes_trigger"),
            level0_stop_writes_trigger=number("level0_stop_writes_trigger"),
            soft_pending_compaction_bytes_limit=number("soft_pending_compaction_bytes_limit"),
            hard_pending_compaction_bytes_limit=number("hard_pending_compaction_bytes_limit"),
            target_file_size_base_bytes=number("target_file_size_base"),
            max_bytes_for_level_base_bytes=number("max_bytes_for_level_base"),
            disable_auto_compactions=values.get("disable_auto_compactions") == "true",
            compaction_style=values.get("compaction_style", LEVEL_COMPACTION),
        )

    @property
    def compaction_holds_writes(self) -> bool:
        """Whether RocksDB delays and stops writes for level 0 and pending compaction bytes.

        Not while automatic compaction is disabled (column_family.cc, GetWriteStallConditionAndCause).
        """
        return not self.disable_auto_compactions


@dataclass(frozen=True, slots=True)
class ColumnFamilySample:
    """One column family: properties at the window's end, stall counts within the window, and its overflows."""

    name: str
    l0_files: int
    immutable_memtables: int
    active_memtable_bytes: int
    memtables_bytes: int
    pending_compaction_bytes: int
    level_files: tuple[int, ...]
    #: How often writes were stopped or delayed in this window, by cause; empty if the agent cannot tell.
    stall_counts: dict[str, int]
    options: ColumnFamilyOptions
    overflow: tuple[Overflow, ...]
    #: Size of each level in bytes; None if the agent does not report it.
    level_bytes: tuple[int, ...] | None = None
    #: Names of the fields above that are not reported: they are 0 or empty here, and mean nothing.
    unknown: tuple[str, ...] = ()

    @property
    def further_runs(self) -> int:
        """The sorted runs below level 0 that RocksDB counts for the L0 triggers: levels with files, if universal."""
        is_universal = self.options.compaction_style == UNIVERSAL_COMPACTION
        return sum(files > 0 for files in self.level_files[1:]) if is_universal else 0

    @property
    def l0_delay_trigger_count(self) -> int:
        """What RocksDB compares with the L0 slowdown and stop triggers: files in level 0, if universal all sorted runs.

        The name is RocksDB's (version_set.cc, VersionStorageInfo::CalculateBaseBytes).
        """
        return self.l0_files + self.further_runs

    @property
    def memtables_of_flush(self) -> int:
        """How many immutable memtables there are when a flush begins: min_write_buffer_number_to_merge."""
        return max(1, self.options.min_write_buffer_number_to_merge)

    @property
    def memtables_wait(self) -> bool:
        """Whether immutable memtables wait for flushes: more than one, and more than one flush merges.

        So many are no backlog.
        """
        return self.immutable_memtables > self.memtables_of_flush


@dataclass(frozen=True, slots=True)
class HistogramIncrease:
    """The growth of a RocksDB histogram within the window: the number of values, and their sum in its own unit.

    A window's percentiles are not available, because RocksDB's cover the whole time since the open.
    """

    count: int
    sum: int

    @property
    def mean(self) -> float | None:
        """The mean of the values; None if there were none."""
        return self.sum / self.count if self.count else None


@dataclass(frozen=True)
class Sample:
    """One target over one measured interval; immutable, and all that a law sees.

    Rates are per second of `interval_s`, the measured time between the sample's two snapshots, never the nominal
    period. Fractions are shares of that interval. `stalled_fraction` is the time that writers really waited (RocksDB's
    stall micros, added when a wait ends, so it can exceed 1 in the window in which a long wait ends).
    `stopped_fraction` and `delayed_fraction` are the time between stall events in that condition; they are lower
    bounds, because RocksDB sends the event of a memtable stop only when it is over. `condition` also uses the
    properties, which change at once. A rate or fraction is None if its counter cannot be read.
    """

    target: str
    session: str
    sequence: int
    monotonic_s: float
    interval_s: float
    writes_per_s: float | None
    written_bytes_per_s: float | None
    stalled_fraction: float | None
    #: The same with a stop in progress counted while it lasts, and the seconds since the open (probes.writers_wait).
    waited_fraction: float | None
    waited_s: float | None
    stopped_fraction: float
    delayed_fraction: float
    condition: Condition
    stopped_s: float
    delayed_s: float
    counters: Counters
    #: rocksdb.actual-delayed-write-rate in bytes/s; 0 while writes are not delayed.
    delayed_write_rate_bytes_per_s: int
    running_flushes: int
    running_compactions: int
    #: Background jobs that may run at once, the most that can be set, and what sets them (adocd.model.threads);
    #: None if nothing can set them, and if there is no limit beside the knob's own.
    background_jobs: int | None
    background_jobs_max: int | None
    threads_by: ThreadsBy | None
    options: OptionValues
    column_families: tuple[ColumnFamilySample, ...]
    events: tuple[Event, ...]
    overflow: tuple[Overflow, ...]
    wal_bytes_per_s: float | None = None
    #: What flushes and compactions read and write while they run, if known (adocd.probes.job_bytes).
    flush_written_bytes_per_s: float | None = None
    compaction_read_bytes_per_s: float | None = None
    compaction_written_bytes_per_s: float | None = None
    #: What finished flushes added to level 0; each counts in full when it ends, as level 0 grows.
    flushed_bytes_per_s: float | None = None
    #: Each ticker's growth within the window; None without a Statistics object.
    ticker_increases: Mapping[str, int] | None = None
    #: The same for histograms; None if the stats level of Statistics excludes them.
    histogram_increases: Mapping[str, HistogramIncrease] | None = None
    #: How long writes took, or why that is not known; None in samples of an adocd that did not measure it.
    write_latency: WriteLatency | None = None
    #: Disks, process and pressure, measured over intervals of their own; None if they cannot be observed.
    surroundings: Surroundings | None = None
    #: What it may count on of the disks that it shares; None if it is alone on them, or nobody shares them out.
    allowance: Allowance | None = None
    #: The condition at the interval's start, according to stall events alone.
    condition_told_before: Condition = "normal"

    #: The owner's option values, from before adocd changed any, for a law to use; None in other samples.
    originals: OptionValues | None = None
    #: Options that an operator had pinned in any part of the window, so that a law did not control them.
    pinned: frozenset[OptionName] = frozenset()

    @property
    def values(self) -> Values:
        """All options in one map, made once, because a cycle reads it many times."""
        return self.options.once(flat)

    @property
    def is_delayed(self) -> bool:
        """Whether writes are stopped or delayed, or a delayed write rate is in force."""
        return self.condition != "normal" or self.delayed_write_rate_bytes_per_s > 0

    def ticker_per_s(self, ticker: str) -> float | None:
        """Return a ticker's growth per second, by RocksDB's name such as `rocksdb.bytes.read`; None if unknown."""
        increase = None if self.ticker_increases is None else self.ticker_increases.get(ticker)
        return None if increase is None else increase / self.interval_s

    @property
    def began_s(self) -> float:
        """When its window began, in the host's monotonic seconds."""
        return self.monotonic_s - self.interval_s

    def follows(self, ended_s: float | None) -> bool:
        """Whether its window began when an earlier one ended; False after a pause, in which no law is asked.

        `ended_s` is the earlier window's `monotonic_s`; None if there was none.
        """
        return ended_s is not None and self.began_s <= ended_s + _ROUNDED_S
