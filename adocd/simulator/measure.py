"""The simulated agent's measurements of the database, under RocksDB's names."""

from adocd.model.snapshot import ColumnFamilySnapshot, Counters, OptionValues
from adocd.simulator.database import FAMILY, SimulatedDatabase

#: The agents' names of RocksDB's stall counts (agents/admin-api.yaml, stall_counts).
_STALL_COUNTS = tuple(
    f"{cause}_{kind}" for cause in ("memtable", "l0", "pending_bytes") for kind in ("stops", "slowdowns")
)


def counters(database: SimulatedDatabase) -> Counters:
    """Read the cumulative counters."""
    account, written = database.account, database.written_bytes
    return Counters(
        writes=written // database.setup.entry_bytes,
        written_bytes=written,
        wal_bytes=written,
        stall_micros=account.stall_micros,
        flushes=account.flushes,
        flush_written_bytes=account.flush_written_bytes,
        compactions=account.compactions,
        compaction_read_bytes=account.compaction_read_bytes,
        compaction_written_bytes=account.compaction_written_bytes,
    )


def tickers(database: SimulatedDatabase, of: Counters) -> dict[str, int]:
    """Read the subset of RocksDB's tickers that the simulator has; its clients never read."""
    return {
        "rocksdb.number.keys.written": of.writes or 0,
        "rocksdb.bytes.written": of.written_bytes or 0,
        "rocksdb.bytes.read": 0,
        "rocksdb.number.keys.read": 0,
        "rocksdb.number.multiget.keys.read": 0,
        "rocksdb.number.db.seek": 0,
        "rocksdb.wal.bytes": of.wal_bytes or 0,
        "rocksdb.flush.write.bytes": of.flush_written_bytes or 0,
        "rocksdb.compact.read.bytes": int(database.account.ticked_read_bytes),
        "rocksdb.compact.write.bytes": int(database.account.ticked_written_bytes),
        "rocksdb.stall.micros": of.stall_micros or 0,
        "rocksdb.number.rate_limiter.drains": 0 if database.limiter is None else database.limiter.drains,
    }


def properties(database: SimulatedDatabase) -> dict[str, int]:
    """Read the properties of the whole database (db.h, DB::Properties)."""
    controller = database.controller
    return {
        "rocksdb.is-write-stopped": int(controller.condition == "stopped"),
        "rocksdb.actual-delayed-write-rate": controller.rate_bytes_per_s if controller.condition == "delayed" else 0,
        "rocksdb.num-running-flushes": len(database.flushes),
        "rocksdb.num-running-compactions": len(database.compactions),
        "rocksdb.background-errors": 0,
    }


def family(database: SimulatedDatabase) -> ColumnFamilySnapshot:
    """Read the properties of the column family."""
    memtables, levels, sizes = database.memtables, database.levels, database.levels.sizes
    active = int(memtables.active_bytes)
    found = {f"rocksdb.num-files-at-level{number}": files for number, files in enumerate(levels.files)}
    found |= {
        "rocksdb.num-immutable-mem-table": memtables.unflushed,
        "rocksdb.mem-table-flush-pending": int(memtables.waiting > 0),
        "rocksdb.compaction-pending": int(levels.scores(database.in_force)[0][0] >= 1),
        "rocksdb.cur-size-active-mem-table": active,
        "rocksdb.cur-size-all-mem-tables": active + memtables.immutable_bytes,
        "rocksdb.estimate-pending-compaction-bytes": database.pending_bytes,
        "rocksdb.base-level": 1,
        "rocksdb.live-sst-files-size": sum(sizes),
    }
    counts = database.controller.counts
    return ColumnFamilySnapshot(found, {name: counts[name] for name in _STALL_COUNTS}, level_bytes=sizes)


def options(database: SimulatedDatabase) -> OptionValues:
    """Read the options back."""
    return OptionValues(
        database.options.written(),
        {FAMILY: database.shown.written()},
        None if database.limiter is None else database.limiter.bytes_per_s,
    )
