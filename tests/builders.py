"""Samples and snapshots with sensible values, so that a test names only what it is about."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adocd.model.capabilities import Capabilities
from adocd.model.judged import judged
from adocd.model.knob import MIB
from adocd.model.overflow import PRECEDENCE
from adocd.model.sample import ColumnFamilyOptions, ColumnFamilySample, Sample
from adocd.model.snapshot import ColumnFamilySnapshot, Counters, OptionValues, Restore, Snapshot, Stall
from adocd.model.threads import ThreadsBy

GIB = 1 << 30

#: RocksDB's defaults, as an OPTIONS file has them.
FAMILY_OPTIONS = {
    "write_buffer_size": str(64 * MIB),
    "max_write_buffer_number": "2",
    "min_write_buffer_number_to_merge": "1",
    "level0_file_num_compaction_trigger": "4",
    "level0_slowdown_writes_trigger": "20",
    "level0_stop_writes_trigger": "36",
    "soft_pending_compaction_bytes_limit": str(64 * GIB),
    "hard_pending_compaction_bytes_limit": str(256 * GIB),
    "target_file_size_base": str(64 * MIB),
    "max_bytes_for_level_base": str(256 * MIB),
    "disable_auto_compactions": "false",
}
DATABASE_OPTIONS = {
    "max_background_jobs": "2",
    "max_background_flushes": "-1",
    "max_background_compactions": "-1",
    "delayed_write_rate": str(16 * MIB),
}


#: What the native agent can change, as far as the daemon asks for it.
CAPABILITIES = Capabilities(
    column_family_options=tuple(FAMILY_OPTIONS),
    database_options=tuple(DATABASE_OPTIONS),
    rate_limiter=True,
    thread_pools=("low", "high", "bottom"),
)
#: What the Python agent can change: no option of the database, but the pools beneath them.
POOLS_ONLY = replace(CAPABILITIES, database_options=(), rate_limiter=False, responds_during_stall=False)


def option_values(families: tuple[str, ...] = ("default",)) -> OptionValues:
    """RocksDB's defaults."""
    return OptionValues(database=DATABASE_OPTIONS, column_families=dict.fromkeys(families, FAMILY_OPTIONS))


def column_family(
    name: str = "default",
    *,
    l0_files: int = 0,
    immutable_memtables: int = 0,
    pending_compaction_bytes: int = 0,
    memtable_stops: int = 0,
    stalls: Mapping[str, int] | None = None,
    memtables_bytes: int = 32 * MIB,
    further_levels: tuple[int, ...] = (),
    **options: int | str,
) -> ColumnFamilySample:
    """A column family with RocksDB's default options, except for `options`; `stalls` are counted in the window.

    `further_levels` are the numbers of files in the levels below level 0.
    """
    counts = {"memtable_stops": memtable_stops} | dict(stalls or {})
    live = replace(
        ColumnFamilyOptions(
            write_buffer_size_bytes=64 * MIB,
            max_write_buffer_number=2,
            min_write_buffer_number_to_merge=1,
            level0_file_num_compaction_trigger=4,
            level0_slowdown_writes_trigger=20,
            level0_stop_writes_trigger=36,
            soft_pending_compaction_bytes_limit=64 * GIB,
            hard_pending_compaction_bytes_limit=256 * GIB,
            target_file_size_base_bytes=64 * MIB,
            max_bytes_for_level_base_bytes=256 * MIB,
            disable_auto_compactions=False,
        ),
        **options,  # type: ignore[arg-type]
    )
    cf = ColumnFamilySample(
        name=name,
        l0_files=l0_files,
        immutable_memtables=immutable_memtables,
        active_memtable_bytes=memtables_bytes,
        memtables_bytes=memtables_bytes,
        pending_compaction_bytes=pending_compaction_bytes,
        level_files=(l0_files, *further_levels),
        stall_counts=counts,
        options=live,
        overflow=(),
    )
    return judged(cf, live)


def sample(*families: ColumnFamilySample, **members: Any) -> Sample:
    """A sample of a database that writes without stalls, except for `members`."""
    families = families or (column_family(),)
    found = {o for cf in families for o in cf.overflow}
    whole = Sample(
        target="0123456789abcdef",
        session="s1",
        sequence=2,
        monotonic_s=101.0,
        interval_s=1.0,
        writes_per_s=1000.0,
        written_bytes_per_s=1e6,
        stalled_fraction=0.0,
        waited_fraction=0.0,
        waited_s=0.0,
        stopped_fraction=0.0,
        delayed_fraction=0.0,
        condition="normal",
        stopped_s=0.0,
        delayed_s=0.0,
        counters=Counters(),
        delayed_write_rate_bytes_per_s=0,
        running_flushes=0,
        running_compactions=0,
        background_jobs=2,
        background_jobs_max=None,
        threads_by=ThreadsBy.OPTION,
        options=OptionValues(
            database=DATABASE_OPTIONS, column_families={cf.name: _written(cf.options) for cf in families}
        ),
        column_families=families,
        events=(),
        overflow=tuple(o for o in PRECEDENCE if o in found),
    )
    return replace(whole, **members)


def snapshot(**members: Any) -> Snapshot:
    """A snapshot of a database with one column family and nothing going on, except for `members`."""
    whole = Snapshot(
        database="0123456789abcdef",
        session="s1",
        sequence=1,
        monotonic_s=100.0,
        age_s=0.0,
        collect_s=0.00002,
        stall=Stall("normal", 90.0, 0.0, 0.0),
        counters=Counters(writes=0, written_bytes=0, stall_micros=0),
        properties={},
        tickers=None,
        options=option_values(),
        column_families={"default": ColumnFamilySnapshot(properties={"rocksdb.num-files-at-level0": 0})},
        lease=None,
        restore=Restore("none"),
        change_in_flight=False,
        events=(),
        last_event=0,
        lost_events=0,
    )
    return replace(whole, **members)


def _written(options: ColumnFamilyOptions) -> dict[str, str]:
    return FAMILY_OPTIONS | {
        "write_buffer_size": str(options.write_buffer_size_bytes),
        "max_write_buffer_number": str(options.max_write_buffer_number),
        "min_write_buffer_number_to_merge": str(options.min_write_buffer_number_to_merge),
        "level0_file_num_compaction_trigger": str(options.level0_file_num_compaction_trigger),
        "level0_slowdown_writes_trigger": str(options.level0_slowdown_writes_trigger),
        "level0_stop_writes_trigger": str(options.level0_stop_writes_trigger),
        "soft_pending_compaction_bytes_limit": str(options.soft_pending_compaction_bytes_limit),
        "hard_pending_compaction_bytes_limit": str(options.hard_pending_compaction_bytes_limit),
        "target_file_size_base": str(options.target_file_size_base_bytes),
        "max_bytes_for_level_base": str(options.max_bytes_for_level_base_bytes),
        "disable_auto_compactions": "true" if options.disable_auto_compactions else "false",
        "compaction_style": options.compaction_style,
    }
