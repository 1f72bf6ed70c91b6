"""Which memtables count: those of column families that are written."""

from adocd.model.sample import ColumnFamilySample

#: A memtable smaller than this holds no writes worth counting; a column family that is not written costs nothing.
IDLE_MEMTABLE_BYTES = 64 * 1024


def is_written(cf: ColumnFamilySample) -> bool:
    """Whether a column family's memtables hold writes worth counting."""
    return cf.memtables_bytes > IDLE_MEMTABLE_BYTES
