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
    l0_stalls: int,
    pending_compaction_bytes: int,
    soft_pending_compaction_bytes_limit: int,
    pending_bytes_stalls: int,
    immutable_memtables: int,
    memtable_stalls: int,
) -> tuple[Overflow, ...]:
    """Name the overflows of one column family in one window, in the paper's precedence.

    Level 0 overflows when its files reach the slowdown trigger (files); redundancy when the estimated pending
    compaction bytes reach the soft limit (bytes; a limit of 0 means that RocksDB has it off, options.h). Memory
    overflows when a memtable fills before the one before it is flushed: a memtable-limit stall in the window, or two
    or more immutable memtables that wait for their flush. It cannot be read off the active memtable, because RocksDB
    switches that one before it delays.

    The figures are those at the window's end. `l0_stalls`, `pending_bytes_stalls` and `memtable_stalls` are how often
    RocksDB itself counted a slowdown or stop for that reason within the window: each means that the condition held in
    it, also where a compaction or flush has carried it away since.
    """
    found = []
    if l0_stalls > 0 or 0 < level0_slowdown_writes_trigger <= l0_files:
        found.append(Overflow.LEVEL0)
    if pending_bytes_stalls > 0 or 0 < soft_pending_compaction_bytes_limit <= pending_compaction_bytes:
        found.append(Overflow.REDUNDANCY)
    if memtable_stalls > 0 or immutable_memtables >= 2:
        found.append(Overflow.MEMORY)
    return tuple(found)
