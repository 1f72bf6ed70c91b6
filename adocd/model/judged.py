"""A column family's overflows, as its figures and its options make them."""

from dataclasses import replace

from adocd.model.overflow import detect
from adocd.model.sample import ColumnFamilyOptions, ColumnFamilySample
from adocd.model.stall import counted


def judged(cf: ColumnFamilySample, options: ColumnFamilyOptions) -> ColumnFamilySample:
    """Give the same figures with these options, and the overflows that those make of them."""
    overflow = detect(
        l0_files=cf.l0_files,
        level0_slowdown_writes_trigger=options.level0_slowdown_writes_trigger,
        pending_compaction_bytes=cf.pending_compaction_bytes,
        soft_pending_compaction_bytes_limit=options.soft_pending_compaction_bytes_limit,
        immutable_memtables=cf.immutable_memtables,
        memtable_stalls=counted(cf.stall_counts, "memtable"),
    )
    return replace(cf, options=options, overflow=overflow)
