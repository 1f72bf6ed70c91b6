"""The options that the fake agent's databases have: names, kinds and defaults of RocksDB 7.8.3."""

from __future__ import annotations

import dataclasses

from adocd_agent.catalogue import (
    BOOL,
    DOUBLE,
    FILES,
    INT,
    LEVEL_BASE,
    MEMTABLES,
    MULTIPLIER,
    SIZE,
    Catalogue,
    OptionKind,
    one_of,
)

COLUMN_FAMILY_OPTIONS: dict[str, tuple[OptionKind, str]] = {
    "blob_garbage_collection_age_cutoff": (DOUBLE, "0.250000"),
    "compression": (one_of("kNoCompression", "kSnappyCompression", "kZSTD"), "kSnappyCompression"),
    "disable_auto_compactions": (BOOL, "false"),
    "enable_blob_garbage_collection": (BOOL, "false"),
    "hard_pending_compaction_bytes_limit": (SIZE, "274877906944"),
    "level0_file_num_compaction_trigger": (INT, "4"),
    "level0_slowdown_writes_trigger": (FILES, "20"),
    "level0_stop_writes_trigger": (FILES, "36"),
    "max_bytes_for_level_base": (LEVEL_BASE, "268435456"),
    "max_bytes_for_level_multiplier": (MULTIPLIER, "10.000000"),
    "max_compaction_bytes": (SIZE, "1677721600"),
    "max_write_buffer_number": (MEMTABLES, "2"),
    "soft_pending_compaction_bytes_limit": (SIZE, "68719476736"),
    "target_file_size_base": (SIZE, "67108864"),
    "target_file_size_multiplier": (INT, "1"),
    "write_buffer_size": (SIZE, "67108864"),
}
"""What SetOptions takes: kind and default by name."""

COLUMN_FAMILY_OPTIONS_SHOWN = {
    "compaction_style": "kCompactionStyleLevel",
    "level_compaction_dynamic_level_bytes": "false",
    "min_write_buffer_number_to_merge": "1",
    "num_levels": "7",
}
"""What a snapshot shows although nothing changes it."""

_OLD_STYLE = dataclasses.replace(INT, low=-1, high=1024)
DATABASE_OPTIONS: dict[str, tuple[OptionKind, str]] = {
    "bytes_per_sync": (SIZE, "0"),
    "compaction_readahead_size": (SIZE, "0"),
    "delayed_write_rate": (SIZE, "16777216"),
    "max_background_compactions": (_OLD_STYLE, "-1"),
    "max_background_flushes": (_OLD_STYLE, "-1"),
    "max_background_jobs": (dataclasses.replace(INT, low=1, high=1024), "2"),
    "max_subcompactions": (INT, "1"),
    "max_total_wal_size": (SIZE, "0"),
    "wal_bytes_per_sync": (SIZE, "0"),
}
"""What SetDBOptions takes."""

CATALOGUE = Catalogue(
    column_family={name: kind for name, (kind, _) in COLUMN_FAMILY_OPTIONS.items()},
    database={name: kind for name, (kind, _) in DATABASE_OPTIONS.items()},
    not_live=frozenset(
        {
            "bloom_locality",
            "comparator",
            "create_if_missing",
            "db_write_buffer_size",
            "use_direct_reads",
            *COLUMN_FAMILY_OPTIONS_SHOWN,
        }
    ),
)


def refusal_of_rocksdb(options: dict[str, str]) -> str | None:
    """Return RocksDB's own words about values that parse and that it refuses all the same, as this pair."""
    cutoff = float(options.get("blob_garbage_collection_age_cutoff", "0"))
    if options.get("enable_blob_garbage_collection") == "true" and cutoff > 1:
        return "Invalid argument: The age cutoff for blob garbage collection should be in the range [0.0, 1.0]."
    return None


def family_defaults() -> dict[str, str]:
    """Return what a column family has that was opened without options."""
    return defaults(COLUMN_FAMILY_OPTIONS) | COLUMN_FAMILY_OPTIONS_SHOWN


def defaults(options: dict[str, tuple[OptionKind, str]]) -> dict[str, str]:
    """Return every option with its default."""
    return {name: default for name, (_, default) in options.items()}
