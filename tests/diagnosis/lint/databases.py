"""Facts of databases with RocksDB's defaults, so that a test names only what it is about."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from adocd.diagnosis.lint.facts import Facts, MemtableMemory
from adocd.model.capabilities import Capabilities
from adocd.model.database import AgentKind, DatabaseDetail, Info
from adocd.model.knob import MIB
from adocd.model.snapshot import ColumnFamilySnapshot, Counters, OptionValues
from adocd.probes.options_file import OptionsFile, parse
from tests.builders import CAPABILITIES, GIB, POOLS_ONLY, snapshot

#: OPTIONS files as RocksDB wrote them for a database opened with its own defaults, in the versions the agents have.
FILES = {version: (Path(__file__).parent / f"OPTIONS-{version}").read_text() for version in ("7.8.3", "9.8.4")}
#: Rules that speak of these defaults themselves; everything else is silent on them.
ON_DEFAULTS = {
    "7.8.3": {"changes-may-revert", "sync-comes-with-changes"},
    "9.8.4": {"changes-may-revert", "levels-are-dynamic", "agent-is-silent-during-stalls", "threads-out-of-reach"},
}
NOT_LIVE = (
    "compaction_style",
    "num_levels",
    "level_compaction_dynamic_level_bytes",
    "min_write_buffer_number_to_merge",
)
MEASURED = Counters(*range(9))


def defaults(version: str = "7.8.3", families: tuple[str, ...] = ("default",)) -> Facts:
    """Facts of a database with a version's defaults: the native agent's 7.8.3, or the Python agent's 9.8.4."""
    one = parse(FILES[version])
    default = one.column_families["default"]
    file = OptionsFile(one.database, dict.fromkeys(families, default))
    live = {name: value for name, value in default.items() if name not in NOT_LIVE}
    options = OptionValues(
        database={name: one.database[name] for name in _REPORTED},
        column_families=dict.fromkeys(families, live),
        thread_pools={"low": 1, "high": 1, "bottom": 0},
    )
    capabilities = CAPABILITIES if version == "7.8.3" else POOLS_ONLY
    kind = "native" if version == "7.8.3" else "python"
    written = ColumnFamilySnapshot(
        {"rocksdb.cur-size-all-mem-tables": 32 * MIB}, {"memtable_stops": 0, "l0_stops": 0, "pending_bytes_stops": 0}
    )
    return Facts(
        info=Info("1.8", AgentKind(kind, "0.1.0"), version, "host", 1, "program", "user", capabilities),
        detail=DatabaseDetail(
            "0123456789abcdef", "/db", "identity", "s1", 0.0, families, capabilities, originals=options
        ),
        snapshot=snapshot(options=options, column_families=dict.fromkeys(families, written), counters=MEASURED),
        memory=MemtableMemory(budget_bytes=8 * GIB, limit_bytes=32 * GIB),
        options_file=file,
    )


def with_options(facts: Facts, database: dict[str, str] | None = None, **family: str) -> Facts:
    """Set live options: database-wide ones, and of every column family."""
    options = facts.snapshot.options
    changed = replace(
        options,
        database={**options.database, **(database or {})},
        column_families={name: {**values, **family} for name, values in options.column_families.items()},
    )
    return replace(facts, snapshot=replace(facts.snapshot, options=changed))


def with_file(facts: Facts, database: dict[str, str] | None = None, **family: str) -> Facts:
    """Set options that only the OPTIONS file has."""
    file = facts.options_file
    assert isinstance(file, OptionsFile)
    families = {name: {**values, **family} for name, values in file.column_families.items()}
    return replace(facts, options_file=OptionsFile({**file.database, **(database or {})}, families))


def with_capabilities(facts: Facts, **members: Any) -> Facts:
    """Change what can be changed and seen."""
    capabilities: Capabilities = replace(facts.detail.capabilities, **members)
    return replace(facts, detail=replace(facts.detail, capabilities=capabilities))


def with_version(facts: Facts, version: str) -> Facts:
    """Run another RocksDB."""
    return replace(facts, info=replace(facts.info, rocksdb_version=version))


def with_snapshot(facts: Facts, **members: Any) -> Facts:
    """Measure something else."""
    return replace(facts, snapshot=replace(facts.snapshot, **members))


_REPORTED = (
    "bytes_per_sync",
    "delayed_write_rate",
    "max_background_compactions",
    "max_background_flushes",
    "max_background_jobs",
    "max_total_wal_size",
    "wal_bytes_per_sync",
)
