"""Which column families' memtables count, those that are written to; and how much memory they may take."""

from adocd.model.sample import ColumnFamilySample

#: A smaller memtable holds no writes worth counting, because an idle column family takes next to no memory.
IDLE_MEMTABLE_BYTES = 64 * 1024
#: Memtables may take 1/4 of the memory that the process can have.
MEMORY_SHARE = 4


def is_written(cf: ColumnFamilySample) -> bool:
    """Whether a column family's memtables hold writes worth counting."""
    return cf.memtables_bytes > IDLE_MEMTABLE_BYTES
