"""What a RocksDB and its agent do with changes, as values: just enough to see where a plan leads, call by call."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from adocd.model.capabilities import Capabilities
from adocd.model.change import Below, Change, ColumnFamilyChange, DatabaseChange, RateLimiterChange, ThreadPoolChange
from adocd.model.knob import MIB
from adocd.model.options import UNIVERSAL_COMPACTION
from adocd.model.sample import Sample
from adocd.model.snapshot import ColumnFamilySnapshot, OptionValues
from adocd.model.threads import pool_sizes
from adocd.model.values import RATE_LIMITER, OptionName, Values, flat, nested, of_database, of_family, of_pool
from adocd.probes.statistics import StatisticsProbe
from tests.builders import DATABASE_OPTIONS, FAMILY_OPTIONS, snapshot

L0_FILES = "rocksdb.num-files-at-level0"
PENDING_BYTES = "rocksdb.estimate-pending-compaction-bytes"
IMMUTABLE_MEMTABLES = "rocksdb.num-immutable-mem-table"
TRIGGER, SLOWDOWN, STOP = (
    "level0_file_num_compaction_trigger",
    "level0_slowdown_writes_trigger",
    "level0_stop_writes_trigger",
)
SOFT, HARD = "soft_pending_compaction_bytes_limit", "hard_pending_compaction_bytes_limit"
SWITCH = "disable_auto_compactions"
MEMTABLES = "max_write_buffer_number"
BYTES_PER_SYNC = of_database("bytes_per_sync")
NOTHING: Mapping[str, str | int] = {}
#: What any effective SetDBOptions makes of a bytes_per_sync of 0; so where a test is not about that it is this already.
MADE_OF_ZERO = str(MIB)

FAMILY = FAMILY_OPTIONS | {"max_bytes_for_level_multiplier": "10.000000", "max_compaction_bytes": "1677721600"}
DATABASE = DATABASE_OPTIONS | {
    "max_subcompactions": "1",
    "bytes_per_sync": MADE_OF_ZERO,
    "wal_bytes_per_sync": "0",
    "max_total_wal_size": "0",
    "compaction_readahead_size": "0",
}


def defaults(families: tuple[str, ...] = ("default",)) -> dict[OptionName, str]:
    """RocksDB's defaults, with a rate limiter and pools."""
    return flat(OptionValues(DATABASE, dict.fromkeys(families, FAMILY), 64 * MIB, {"low": 2, "high": 1}))


class RocksDB:
    """Option values and files of one open database."""

    def __init__(self, values: Values) -> None:
        self.values = dict(values)
        self.families = tuple(sorted({o.name or "" for o in values if o.scope == "column_family"}))
        self.l0 = dict.fromkeys(self.families, 0)
        self.pending = dict.fromkeys(self.families, 0)
        #: Memtables that wait for their flush.
        self.immutable = dict.fromkeys(self.families, 0)
        #: How many levels below level 0 have files.
        self.further_levels = 0
        #: rocksdb.actual-delayed-write-rate, in bytes/s.
        self.delayed_rate = 0
        #: How often it has looked at a delay since the last sample.
        self.looks = 0

    def apply(self, change: Change) -> bool:
        """Do what RocksDB does, all keys of a call at once; whether anything was changed."""
        wanted = named(change)
        before = dict(self.values)
        self.values |= wanted
        if isinstance(change, DatabaseChange) and self.values != before:
            if self.values.get(BYTES_PER_SYNC) == "0":
                self.values[BYTES_PER_SYNC] = MADE_OF_ZERO
            self._grow_pools()
        return self.values != before

    def _grow_pools(self) -> None:
        """Pools grow with max_background_jobs and never shrink (db_impl.cc, DBImpl::SetDBOptions)."""
        jobs = self.values.get(of_database("max_background_jobs"))
        for pool, threads in pool_sizes(int(jobs)).items() if jobs is not None else ():
            if of_pool(pool) in self.values:
                self.values[of_pool(pool)] = str(max(threads, int(self.values[of_pool(pool)])))

    def delay(self, rate: int, looks: int = 0) -> None:
        """Delay writes to a rate, as far as delayed_write_rate lets it; 0 ends the delay."""
        self.delayed_rate = min(rate, int(self.values[of_database("delayed_write_rate")]))
        self.looks = looks if rate else 0

    def drain(self) -> None:
        """Let flushes and compaction, the database's or its host's own, carry away all that waits."""
        self.l0 = dict.fromkeys(self.families, 0)
        self.pending = dict.fromkeys(self.families, 0)
        self.immutable = dict.fromkeys(self.families, 0)
        self.delay(0)

    def sample(self, now_s: float = 101.0) -> Sample:
        """Look at it, the way the daemon does."""
        probe = StatisticsProbe(Capabilities(database_options=("max_background_jobs",)))
        look = snapshot(
            monotonic_s=now_s,
            options=nested(self.values),
            properties={"rocksdb.actual-delayed-write-rate": self.delayed_rate},
            column_families={
                family: ColumnFamilySnapshot(
                    {
                        L0_FILES: self.l0[family],
                        PENDING_BYTES: self.pending[family],
                        IMMUTABLE_MEMTABLES: self.immutable[family],
                        "rocksdb.cur-size-all-mem-tables": 8 * MIB,
                    }
                    | {f"rocksdb.num-files-at-level{level + 1}": 1 for level in range(self.further_levels)},
                    {"l0_slowdowns": self.looks},
                )
                for family in self.families
            },
        )
        calm = {name: replace(cf, stall_counts={}) for name, cf in look.column_families.items()}
        probe.sample(replace(look, monotonic_s=now_s - 1.0, column_families=calm))
        sample = probe.sample(look)
        assert sample is not None
        return sample

    def wait_for(self, condition: Below) -> None:
        """Wait as an agent does with a way back, and no longer: what the other steps wait for may still be there."""
        piles = {L0_FILES: self.l0, PENDING_BYTES: self.pending, IMMUTABLE_MEMTABLES: self.immutable}
        pile, name = piles[condition.property], condition.column_family
        pile[name] = min(pile[name], condition.below - 1)

    def option(self, family: str, option: str) -> int:
        """Read a number."""
        return int(self.values[of_family(family, option)])

    def is_on(self, family: str) -> bool:
        """Whether compaction of a family is on."""
        return self.values[of_family(family, SWITCH)] == "false"

    def stopped(self) -> set[tuple[str, str]]:
        """Name families whose writes are stopped now, each with the option that does it."""
        found = set()
        for family in self.families:
            if self.immutable[family] >= self.option(family, MEMTABLES):
                found.add((family, MEMTABLES))
            if not self.is_on(family):
                continue
            if self.l0[family] + self.further_levels >= self.option(family, STOP):
                found.add((family, STOP))
            if 0 < self.option(family, HARD) <= self.pending[family]:
                found.add((family, HARD))
        return found


def out_of_order(values: Values) -> list[str]:
    """Say what is invalid: trigger <= slowdown <= stop and soft <= hard, where 0 is off (HAZARDS 4, 18)."""
    wrong = []
    for family in sorted({o.name or "" for o in values if o.scope == "column_family"}):
        trigger, slowdown, stop = (int(values[of_family(family, option)]) for option in (TRIGGER, SLOWDOWN, STOP))
        if not trigger <= slowdown <= stop:
            wrong.append(f"{family}: {trigger} <= {slowdown} <= {stop}")
        soft, hard = (int(values[of_family(family, option)]) or float("inf") for option in (SOFT, HARD))
        if soft > hard:
            wrong.append(f"{family}: {soft} <= {hard}")
    return wrong


def named(change: Change) -> Mapping[OptionName, str]:
    """Name the options of a call."""
    match change:
        case ColumnFamilyChange(family, options):
            return {of_family(family, option): value for option, value in options.items()}
        case DatabaseChange(options):
            return {of_database(option): value for option, value in options.items()}
        case ThreadPoolChange(pool, threads):
            return {of_pool(pool): str(threads)}
        case RateLimiterChange(rate):
            return {RATE_LIMITER: str(rate)}


def family(
    options: Mapping[str, str | int] = NOTHING, /, *, of: str = "default", **more: str | int
) -> dict[OptionName, str]:
    """Values of a column family's options, for a test to write down."""
    return {of_family(of, option): str(value) for option, value in {**options, **more}.items()}


def database(options: Mapping[str, str | int] = NOTHING, /, **more: str | int) -> dict[OptionName, str]:
    """Values of the database's options."""
    return {of_database(option): str(value) for option, value in {**options, **more}.items()}


def opened(
    options: Mapping[str, str | int] = NOTHING,
    /,
    *,
    families: tuple[str, ...] = ("default",),
    l0: int = 0,
    pending: int = 0,
    delayed_rate: int = 0,
    **more: str | int,
) -> RocksDB:
    """Open a database with RocksDB's defaults but for these options, and what has piled up, of its first family."""
    first = families[0]
    found = RocksDB(defaults(families) | family({**options, **more}, of=first))
    found.l0[first], found.pending[first], found.delayed_rate = l0, pending, delayed_rate
    return found


def universal(l0: int, **options: str) -> RocksDB:
    """Open one with universal compaction and five more sorted runs below level 0."""
    found = opened(options, compaction_style=UNIVERSAL_COMPACTION, l0=l0)
    found.further_levels = 5
    return found
