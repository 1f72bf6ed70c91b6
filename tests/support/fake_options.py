"""The options that the fake agent's databases have: names, kinds and defaults of RocksDB 7.8.3."""

from __future__ import annotations

import re

SIZE, INT, BOOL, DOUBLE, TEXT = "size", "int", "bool", "double", "text"

COLUMN_FAMILY_OPTIONS: dict[str, tuple[str, str]] = {
    "blob_garbage_collection_age_cutoff": (DOUBLE, "0.250000"),
    "compression": (TEXT, "kSnappyCompression"),
    "disable_auto_compactions": (BOOL, "false"),
    "enable_blob_garbage_collection": (BOOL, "false"),
    "hard_pending_compaction_bytes_limit": (SIZE, "274877906944"),
    "level0_file_num_compaction_trigger": (INT, "4"),
    "level0_slowdown_writes_trigger": (INT, "20"),
    "level0_stop_writes_trigger": (INT, "36"),
    "max_bytes_for_level_base": (SIZE, "268435456"),
    "max_bytes_for_level_multiplier": (DOUBLE, "10.000000"),
    "max_compaction_bytes": (SIZE, "1677721600"),
    "max_write_buffer_number": (INT, "2"),
    "soft_pending_compaction_bytes_limit": (SIZE, "68719476736"),
    "target_file_size_base": (SIZE, "67108864"),
    "target_file_size_multiplier": (INT, "1"),
    "write_buffer_size": (SIZE, "67108864"),
}
"""What SetOptions takes: kind and default by name."""

DATABASE_OPTIONS: dict[str, tuple[str, str]] = {
    "bytes_per_sync": (SIZE, "0"),
    "compaction_readahead_size": (SIZE, "0"),
    "delayed_write_rate": (SIZE, "16777216"),
    "max_background_compactions": (INT, "-1"),
    "max_background_flushes": (INT, "-1"),
    "max_background_jobs": (INT, "2"),
    "max_subcompactions": (INT, "1"),
    "max_total_wal_size": (SIZE, "0"),
    "wal_bytes_per_sync": (SIZE, "0"),
}
"""What SetDBOptions takes."""

NOT_LIVE = frozenset(
    {
        "bloom_locality",
        "comparator",
        "create_if_missing",
        "db_write_buffer_size",
        "level_compaction_dynamic_level_bytes",
        "min_write_buffer_number_to_merge",
        "num_levels",
        "use_direct_reads",
    }
)
"""Options that exist but that RocksDB 7.8.3 does not change while it runs."""


def parses_exactly(kind: str, value: str) -> bool:
    """Tell whether RocksDB would read `value` as exactly what it says: no suffix, no exponent, no wrap-around."""
    if kind == BOOL:
        return value in ("true", "false")
    if kind == DOUBLE:
        return re.fullmatch(r"(0|[1-9]\d{0,14})\.\d{6}", value) is not None
    if kind == TEXT:
        return re.fullmatch(r"k[A-Za-z0-9]+", value) is not None
    if kind == INT:
        return re.fullmatch(r"0|-?[1-9]\d{0,9}", value) is not None and -(2**31) <= int(value) < 2**31
    return re.fullmatch(r"0|[1-9]\d{0,19}", value) is not None and int(value) < 2**64


def refusal_of_rocksdb(options: dict[str, str]) -> str | None:
    """Return RocksDB's own words about values that parse and that it refuses all the same, as this pair."""
    cutoff = float(options.get("blob_garbage_collection_age_cutoff", "0"))
    if options.get("enable_blob_garbage_collection") == "true" and cutoff > 1:
        return "Invalid argument: The age cutoff for blob garbage collection should be in the range [0.0, 1.0]."
    return None


def defaults(options: dict[str, tuple[str, str]]) -> dict[str, str]:
    """Return every option with its default."""
    return {name: default for name, (_, default) in options.items()}


def fnv1a64(data: bytes) -> str:
    """FNV-1a, 64 bits, 16 lower-case hexadecimal digits."""
    value = 0xCBF29CE484222325
    for byte in data:
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return f"{value:016x}"


def database_id(host: str, path: str, db_identity: str) -> str:
    """Return the id that survives restarts, as the contract defines it."""
    return fnv1a64(b"\0".join(part.encode() for part in (host, path, db_identity)))
