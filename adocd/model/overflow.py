"""Data overflow as the ADOC paper defines it (adoc-fast23, sections 4 and 5)."""

from enum import StrEnum


class Overflow(StrEnum):
    """A component of the LSM tree that receives data faster than flushes and compactions remove it."""

    MEMORY = "memory"
    LEVEL0 = "level0"
    REDUNDANCY = "redundancy"


#: The order in which the paper handles simultaneous overflows (section 5: "L0O, RDO, MMO order").
PRECEDENCE = (Overflow.LEVEL0, Overflow.REDUNDANCY, Overflow.MEMORY)


def detect(
    *,
    l0_files: int,
    level0_slowdown_writes_trigger: int,
    pending_compaction_bytes: int,
    soft_pending_compaction_bytes_limit: int,
    compaction_holds_writes: bool,
    memtables_wait: bool,
    memtable_stalls: int,
) -> tuple[Overflow, ...]:
    """Return the overflows of one column family in one window, in the paper's order of precedence.

    Level 0 overflows when its files, or the sorted runs of universal compaction
    (`ColumnFamilySample.l0_delay_trigger_count`), reach the slowdown trigger; redundancy when the estimated pending
    compaction bytes reach the soft limit (0 means off, options.h); neither while RocksDB holds no writes for them
    (`ColumnFamilyOptions.compaction_holds_writes`). Memory overflows when a memtable fills before the previous one is
    flushed: a memtable-limit stall in the window (`memtable_stalls`, a count), or memtables that wait for flushes
    (`ColumnFamilySample.memtables_wait`). The active memtable does not show it, because RocksDB switches memtables
    before it delays writes.

    The first two are judged at the window's end, because the paper's tuner checks once per window: a level 0 that
    reached its trigger in between and was compacted again is no reason to tune. A stall in between is still recorded
    with its cause (adocd.diagnosis.stalls).
    """
    found = []
    if compaction_holds_writes and 0 < level0_slowdown_writes_trigger <= l0_files:
        found.append(Overflow.LEVEL0)
    if compaction_holds_writes and 0 < soft_pending_compaction_bytes_limit <= pending_compaction_bytes:
        found.append(Overflow.REDUNDANCY)
    if memtables_wait or memtable_stalls > 0:
        found.append(Overflow.MEMORY)
    return tuple(found)
