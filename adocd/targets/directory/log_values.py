"""A LOG's figures under the names that agents use; figures not found in the LOG are left out."""

from collections.abc import Callable

from adocd.model.snapshot import ColumnFamilySnapshot, PeriodicDump
from adocd.probes.log.state import DumpRates
from adocd.probes.log.tree import Tree
from adocd.targets.directory.reading import DirectoryReading


def properties(reading: DirectoryReading) -> dict[str, int]:
    """Return the database-wide figures, by RocksDB's property names."""
    state = reading.state
    found = {
        "rocksdb.num-running-flushes": state.running_flushes,
        "rocksdb.num-running-compactions": state.running_compactions,
    }
    delayed = [state.trees[name] for name, stall in reading.stalls.items() if stall.condition == "delayed"]
    rates = [rate for tree in delayed if (rate := tree.delayed_rate_bytes_per_s) is not None]
    return found | ({"rocksdb.actual-delayed-write-rate": min(rates)} if rates else {})


def column_family(tree: Tree) -> ColumnFamilySnapshot:
    """Return a column family's figures, by RocksDB's property names."""
    figures = {
        "rocksdb.num-immutable-mem-table": tree.immutable_memtables,
        "rocksdb.estimate-pending-compaction-bytes": tree.pending_compaction_bytes,
    } | {f"rocksdb.num-files-at-level{level}": files for level, files in enumerate(tree.level_files or ())}
    known = {name: figure for name, figure in figures.items() if figure is not None}
    return ColumnFamilySnapshot(known, dict(tree.stall_counts))


def dump(rates: DumpRates | None, monotonic_s: Callable[[float], float]) -> PeriodicDump | None:
    """Return the last stats dump's rates, with its time on the daemon's clock."""
    if rates is None:
        return None
    return PeriodicDump(
        monotonic_s(rates.time_s),
        rates.interval_s,
        rates.writes_per_s,
        rates.written_bytes_per_s,
        rates.wal_bytes_per_s,
        rates.stalled_fraction,
    )
