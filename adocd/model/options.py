"""The RocksDB options that adocd knows, as data, with the facts about each.

A test checks every entry against the options of the RocksDB versions it runs on (tests/conformance). The sources are
RocksDB's headers options.h and advanced_options.h, or a measurement where a line says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from adocd.model.knob import MIB

Scope = Literal["column_family", "database"]
_MOST_SIZE = (1 << 63) - 1
#: The value that laws set a trigger to when they move it out of the way.
OUT_OF_THE_WAY = 1 << 30
#: Values of compaction_style, as an agent reports them (options_helper.cc).
LEVEL_COMPACTION = "kCompactionStyleLevel"
UNIVERSAL_COMPACTION = "kCompactionStyleUniversal"
FIFO_COMPACTION = "kCompactionStyleFIFO"
#: Largest max_bytes_for_level_base (16 TiB): no level ever reaches it, and the targets of five levels below it, each
#: ten times as large, still fit in 63 bits. A larger base can only be an arithmetic error.
NO_LEVEL_IS_FULL_BYTES = 1 << 44
#: Lowest delayed_write_rate that adocd sends. Set live, 0 means about 1 byte/s (and killed a 6.29 process).
DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S = 1 * MIB
#: Lowest rate limit: below it flushes starve, and with them the writers.
RATE_LIMIT_FLOOR_BYTES_PER_S = 1 * MIB
#: What RocksDB uses at open for a delayed_write_rate of 0 without a rate limiter (options.h).
DELAYED_WRITE_RATE_DEFAULT_BYTES_PER_S = 16 * MIB
#: Any effective SetDBOptions turns a bytes_per_sync of 0 into 1 MiB (7.8, db_impl.cc, DBImpl::SetDBOptions), so 0
#: cannot be set live. A value that no file reaches means off, too, even for a host that reloads its OPTIONS file.
BYTES_PER_SYNC_OFF = 1 << 62


@dataclass(frozen=True, slots=True)
class OptionFacts:
    """The facts about one option.

    Attributes:
        name: RocksDB's name.
        scope: where it belongs; `column_family` is set by DB::SetOptions, `database` by DB::SetDBOptions.
        kind: how its value is written: `int` in plain decimals, `bool` as true or false, `double`, `text`.
        unit: the value's unit.
        minimum: the lowest value that adocd ever sends; the safety guards' bound.
        maximum: the highest value that adocd ever sends.
        live: whether it can be changed while the database is open.
        since: the RocksDB version since which it exists, or can be changed live.
        zero: what 0 means, if it does not mean the number 0.

    """

    name: str
    scope: Scope
    kind: Literal["int", "bool", "double", "text"]
    unit: str
    minimum: int = 0
    maximum: int = _MOST_SIZE
    live: bool = True
    since: str = "5.0"
    zero: str | None = None


def _family(name: str, unit: str, minimum: int = 0, maximum: int = _MOST_SIZE, **facts: object) -> OptionFacts:
    return OptionFacts(name, "column_family", "int", unit, minimum, maximum, **facts)  # type: ignore[arg-type]


def _database(name: str, unit: str, minimum: int = 0, maximum: int = _MOST_SIZE, **facts: object) -> OptionFacts:
    return OptionFacts(name, "database", "int", unit, minimum, maximum, **facts)  # type: ignore[arg-type]


_OPTIONS = (
    _family("write_buffer_size", "bytes", MIB, 4096 * MIB),
    _family("max_write_buffer_number", "memtables", 2, 64),
    _family("min_write_buffer_number_to_merge", "memtables", 1, 64, live=False),
    _family(
        "level0_file_num_compaction_trigger",
        "files",
        1,
        OUT_OF_THE_WAY,
        zero="every flush triggers a compaction, and level 0 counts as full",
    ),
    _family(
        "level0_slowdown_writes_trigger",
        "files",
        1,
        OUT_OF_THE_WAY,
        zero="writes are slowed down from the first file on",
    ),
    _family("level0_stop_writes_trigger", "files", 1, OUT_OF_THE_WAY, zero="writes are stopped for good"),
    _family("soft_pending_compaction_bytes_limit", "bytes", zero="off"),
    _family("hard_pending_compaction_bytes_limit", "bytes", zero="off"),
    _family("target_file_size_base", "bytes", MIB, 4096 * MIB),
    _family("max_bytes_for_level_base", "bytes", MIB, NO_LEVEL_IS_FULL_BYTES),
    # Below 1, a level's target is smaller than that of the level above, which RocksDB asserts not to be so: with
    # Debian's librocksdb 7.8.3, which has its assertions compiled in, the program ends (version_set.cc, SetFinalized).
    OptionFacts("max_bytes_for_level_multiplier", "column_family", "double", "times", 1, 1000),
    _family(
        "max_compaction_bytes",
        "bytes",
        MIB,
        zero="25 times target_file_size_base at open alone; live it stays 0, so that compactions are tiny and level 0 "
        "is never merged within itself: give the number itself",
    ),
    OptionFacts("disable_auto_compactions", "column_family", "bool", "switch", 0, 1),
    OptionFacts("compaction_style", "column_family", "text", "style", live=False),
    OptionFacts("level_compaction_dynamic_level_bytes", "column_family", "bool", "switch", 0, 1, live=False),
    _family("num_levels", "levels", 1, 64, live=False),
    _database("max_background_jobs", "jobs", 1, 128, since="5.6"),
    _database("max_background_flushes", "jobs", -1, 64, zero="as 1", since="6.0"),
    _database("max_background_compactions", "jobs", -1, 64, zero="as 1"),
    _database(
        "delayed_write_rate",
        "bytes/s",
        MIB,
        zero="at open the default of 16 MiB/s or the rate limiter's rate; set live about 1 byte/s",
    ),
    _database("max_subcompactions", "threads", 1, 64, since="7.0"),
    _database(
        "bytes_per_sync", "bytes", zero="off; any effective SetDBOptions makes it 1 MiB, 4611686018427387904 stays off"
    ),
    _database("wal_bytes_per_sync", "bytes", zero="off"),
    _database("max_total_wal_size", "bytes", zero="four times all memtables"),
    _database("compaction_readahead_size", "bytes", zero="off where reads are not direct"),
    _database("db_write_buffer_size", "bytes", live=False, zero="off"),
)

#: Every option that adocd knows, by name.
OPTIONS: Mapping[str, OptionFacts] = {option.name: option for option in _OPTIONS}
