"""Data overflow as the ADOC paper defines it (adoc-fast23, sections 4 and 5)."""

from enum import StrEnum


class Overflow(StrEnum):
    """A component of the tree that takes in more than flushes and compactions carry away."""

    MEMORY = "memory"
    LEVEL0 = "level0"
    REDUNDANCY = "redundancy"


#: The order in which the paper handles overflows that come together (section 5: "L0O, RDO, MMO order").
PRECEDENCE = (Overflow.LEVEL0, Overflow.REDUNDANCY, Overflow.MEMORY)


def detect(
    *,
    l0_files: int,
    level0_slowdown_writes_trigger: int,
    pending_compaction_bytes: int,
    soft_pending_compaction_bytes_limit: int,
    immutable_memtables: int,
    memtable_stalls: int,
) -> tuple[Overflow, ...]:
    """Name the overflows of one column family in one window, in the paper's precedence.

    Level 0 overflows when its files reach the slowdown trigger (files); redundancy when the estimated pending
    compaction bytes reach the soft limit (bytes; a limit of 0 means that RocksDB has it off, options.h). Memory
    overflows when a memtable fills before the one before it is flushed: a memtable-limit stall in the window
    (`memtable_stalls`, a count), or two or more immutable memtables that wait for their flush. It cannot be read
    off the active memtable, because RocksDB switches that one before it delays.

    The first two are asked of the window's end, as the paper's tuner looks once a window: a level 0 that touched its
    trigger in between and was compacted again is no reason to tune. What was a stall in between is seen all the same,
    with its cause (adocd.diagnosis.watch).
    """
    found = []
    if level0_slowdown_writes_trigger > 0 and l0_files >= level0_slowdown_writes_trigger:
        found.append(Overflow.LEVEL0)
    if 0 < soft_pending_compaction_bytes_limit <= pending_compaction_bytes:
        found.append(Overflow.REDUNDANCY)
    if memtable_stalls > 0 or immutable_memtables >= 2:
        found.append(Overflow.MEMORY)
    return tuple(found)
