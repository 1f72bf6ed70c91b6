"""The options that exist, those that can be changed live, and the values that RocksDB reads exactly as written.

RocksDB parses numbers like C: "12x" is 12, "1e7" is 1, "-5" is 2^64-5. So before the first step of a change is
executed, the agent checks that each value is exactly what RocksDB would write back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,19}", re.ASCII)
_FRACTION = re.compile(r"(0|[1-9][0-9]{0,14})\.[0-9]{6}", re.ASCII)


@dataclass(frozen=True)
class OptionKind:
    """The type of an option's value: how RocksDB writes it, and for whole numbers the range."""

    pattern: re.Pattern[str]
    low: int = 0
    high: int = 0

    def accepts(self, value: str) -> bool:
        """Whether RocksDB would read `value` exactly as written: no suffix, no exponent, no wrap-around."""
        if self.pattern.fullmatch(value) is None:
            return False
        return self.pattern is not _WHOLE or self.low <= int(value) <= self.high


def one_of(*names: str) -> OptionKind:
    """Return the kind of an enumeration."""
    return OptionKind(re.compile("|".join(re.escape(name) for name in names)))


SIZE = OptionKind(_WHOLE, 0, 2**64 - 1)
INT = OptionKind(_WHOLE, -(2**31), 2**31 - 1)
# With less, RocksDB stops or delays writes for good, and a SetOptions that would put it back waits behind them.
FILES = OptionKind(_WHOLE, 1, INT.high)
MEMTABLES = OptionKind(_WHOLE, 2, INT.high)
# RocksDB asserts that no level's target is 0 (VersionStorageInfo::CalculateBaseBytes).
LEVEL_BASE = OptionKind(_WHOLE, 1, SIZE.high)
UINT32 = OptionKind(_WHOLE, 0, 2**32 - 1)
UINT8 = OptionKind(_WHOLE, 0, 2**8 - 1)
BOOL = one_of("true", "false")
DOUBLE = OptionKind(_FRACTION)
# RocksDB asserts that no level's target is smaller than that of the level above (VersionStorageInfo::SetFinalized).
MULTIPLIER = OptionKind(re.compile(r"[1-9][0-9]{0,14}\.[0-9]{6}", re.ASCII))
INTS = OptionKind(re.compile(r"[1-9][0-9]{0,8}(:[1-9][0-9]{0,8}){0,100}", re.ASCII))


@dataclass(frozen=True)
class Catalogue:
    """The options of one RocksDB: the changeable ones with their kinds, and the names of the others."""

    column_family: Mapping[str, OptionKind]
    database: Mapping[str, OptionKind]
    not_live: frozenset[str] = frozenset()
    """Options that exist, but that RocksDB does not change while it runs."""
    unchecked: Mapping[str, str] = field(default_factory=dict)
    """Options that RocksDB may change but this agent does not, with the reason."""


_COMPRESSION = one_of(
    "kNoCompression",
    "kSnappyCompression",
    "kZlibCompression",
    "kBZip2Compression",
    "kLZ4Compression",
    "kLZ4HCCompression",
    "kXpressCompression",
    "kZSTD",
    "kZSTDNotFinalCompression",
    "kDisableCompressionOption",
)
_TEMPERATURE = one_of("kUnknown", "kHot", "kWarm", "kCold")
_STRUCTURE = "it is a structure, whose values this agent does not check"
_OBJECT = "it is an object, not a value"

_FAMILY_9_8: dict[str, OptionKind] = {
    "arena_block_size": SIZE,
    "blob_compaction_readahead_size": SIZE,
    "blob_compression_type": _COMPRESSION,
    "blob_file_size": SIZE,
    "blob_file_starting_level": INT,
    "blob_garbage_collection_age_cutoff": DOUBLE,
    "blob_garbage_collection_force_threshold": DOUBLE,
    "block_protection_bytes_per_key": UINT8,
    "bottommost_compression": _COMPRESSION,
    "bottommost_file_compaction_delay": UINT32,
    "compression": _COMPRESSION,
    "default_write_temperature": _TEMPERATURE,
    "disable_auto_compactions": BOOL,
    "enable_blob_files": BOOL,
    "enable_blob_garbage_collection": BOOL,
    "experimental_mempurge_threshold": DOUBLE,
    "hard_pending_compaction_bytes_limit": SIZE,
    "inplace_update_num_locks": SIZE,
    "last_level_temperature": _TEMPERATURE,
    "level0_file_num_compaction_trigger": INT,
    "level0_slowdown_writes_trigger": FILES,
    "level0_stop_writes_trigger": FILES,
    "max_bytes_for_level_base": LEVEL_BASE,
    "max_bytes_for_level_multiplier": MULTIPLIER,
    "max_bytes_for_level_multiplier_additional": INTS,
    "max_compaction_bytes": SIZE,
    "max_sequential_skip_in_iterations": SIZE,
    "max_successive_merges": SIZE,
    "max_write_buffer_number": MEMTABLES,
    "memtable_huge_page_size": SIZE,
    "memtable_max_range_deletions": UINT32,
    "memtable_prefix_bloom_size_ratio": DOUBLE,
    "memtable_protection_bytes_per_key": UINT32,
    "memtable_whole_key_filtering": BOOL,
    "min_blob_size": SIZE,
    "paranoid_file_checks": BOOL,
    "paranoid_memory_checks": BOOL,
    "periodic_compaction_seconds": SIZE,
    "prepopulate_blob_cache": one_of("kDisable", "kFlushOnly"),
    "report_bg_io_stats": BOOL,
    "sample_for_compression": SIZE,
    "soft_pending_compaction_bytes_limit": SIZE,
    "strict_max_successive_merges": BOOL,
    "target_file_size_base": SIZE,
    "target_file_size_multiplier": INT,
    "ttl": SIZE,
    "uncache_aggressiveness": UINT32,
    "write_buffer_size": SIZE,
}

ROCKSDICT = Catalogue(
    column_family=_FAMILY_9_8,
    database={},
    not_live=frozenset(
        {
            "bloom_locality",
            "compaction_filter",
            "compaction_filter_factory",
            "compaction_pri",
            "compaction_style",
            "comparator",
            "default_temperature",
            "force_consistency_checks",
            "inplace_update_support",
            "level_compaction_dynamic_level_bytes",
            "max_write_buffer_number_to_maintain",
            "max_write_buffer_size_to_maintain",
            "memtable_factory",
            "memtable_insert_with_hint_prefix_extractor",
            "merge_operator",
            "min_write_buffer_number_to_merge",
            "num_levels",
            "optimize_filters_for_hits",
            "persist_user_defined_timestamps",
            "preclude_last_level_data_seconds",
            "preserve_internal_time_seconds",
            "sst_partitioner_factory",
        }
    ),
    unchecked={
        "bottommost_compression_opts": _STRUCTURE,
        "compaction_options_fifo": _STRUCTURE,
        "compaction_options_universal": _STRUCTURE,
        "compression_opts": _STRUCTURE,
        "prefix_extractor": _OBJECT,
        "table_factory": _OBJECT,
    },
)
"""What SetOptions accepts in the RocksDB 9.8.4 of rocksdict 0.3.29; a test checks every entry against the engine."""

FAMILY_OPTIONS_SHOWN = (
    "compaction_style",
    "level_compaction_dynamic_level_bytes",
    "min_write_buffer_number_to_merge",
    "num_levels",
)
"""They cannot be changed live, but they decide what the live options of a column family do."""

DATABASE_OPTIONS_SHOWN = (
    "avoid_flush_during_shutdown",
    "bytes_per_sync",
    "compaction_readahead_size",
    "daily_offpeak_time_utc",
    "delayed_write_rate",
    "delete_obsolete_files_period_micros",
    "max_background_compactions",
    "max_background_flushes",
    "max_background_jobs",
    "max_open_files",
    "max_subcompactions",
    "max_total_wal_size",
    "stats_dump_period_sec",
    "stats_history_buffer_size",
    "stats_persist_period_sec",
    "strict_bytes_per_sync",
    "wal_bytes_per_sync",
    "writable_file_max_buffer_size",
)
"""What SetDBOptions takes in RocksDB. rocksdict has no SetDBOptions: the agent shows them and cannot change them."""
