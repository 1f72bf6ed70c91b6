"""Detects a column family's overflows from its figures and options."""

from dataclasses import replace

from adocd.model.overflow import detect
from adocd.model.sample import ColumnFamilyOptions, ColumnFamilySample
from adocd.model.stall import counted


def judged(cf: ColumnFamilySample, options: ColumnFamilyOptions) -> ColumnFamilySample:
    """Return the figures with these options, and the overflows that result."""
    if cf.options is not options:
        cf = replace(cf, options=options)
    overflow = detect(
        l0_files=cf.l0_delay_trigger_count,
        level0_slowdown_writes_trigger=options.level0_slowdown_writes_trigger,
        pending_compaction_bytes=cf.pending_compaction_bytes,
        soft_pending_compaction_bytes_limit=options.soft_pending_compaction_bytes_limit,
        compaction_holds_writes=options.compaction_holds_writes,
        memtables_wait=cf.memtables_wait,
        memtable_stalls=counted(cf.stall_counts, "memtable"),
    )
    return cf if overflow == cf.overflow else replace(cf, overflow=overflow)
