"""Which column families' memtables count: those that are written to."""

from adocd.model.sample import ColumnFamilySample

#: A smaller memtable holds no writes worth counting, because an idle column family takes next to no memory.
IDLE_MEMTABLE_BYTES = 64 * 1024


def is_written(cf: ColumnFamilySample) -> bool:
    """Whether a column family's memtables hold writes worth counting."""
    return cf.memtables_bytes > IDLE_MEMTABLE_BYTES
