"""Memtables: the active one, those waiting for their flush, and the order in which flushes become files."""

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class Memtable:
    """An immutable memtable; `flush` is the number of the job that writes it, None while there is none."""

    bytes: int
    flush: int | None = None


@dataclass(slots=True)
class Memtables:
    """One column family's memtables (memtable_list.h).

    A full memtable is switched before the write that filled it is delayed or stopped (db_impl_write.cc,
    PreprocessWrite), so in a stall the active one is empty. A flush takes all immutable ones that no other flush has
    taken, and makes one file from them; flushes become visible in the order in which their memtables were switched
    (MemTableList::TryInstallMemtableFlushResults).
    """

    active_bytes: float = 0.0
    immutable: list[Memtable] = field(default_factory=list)
    _done: set[int] = field(default_factory=set)

    @property
    def unflushed(self) -> int:
        """Count the immutable memtables (rocksdb.num-immutable-mem-table), including those being flushed."""
        return len(self.immutable)

    @property
    def waiting(self) -> int:
        """Count the immutable memtables that no flush has taken."""
        return sum(memtable.flush is None for memtable in self.immutable)

    @property
    def immutable_bytes(self) -> int:
        """Return the total size of the immutable memtables in bytes."""
        return sum(memtable.bytes for memtable in self.immutable)

    def switch(self) -> int:
        """Make the active memtable immutable and begin a new one; return its size."""
        size = int(self.active_bytes)
        self.immutable.append(Memtable(size))
        self.active_bytes = 0.0
        return size

    def take(self, flush: int) -> int:
        """Assign all waiting memtables to a flush; return their size."""
        taken = [memtable for memtable in self.immutable if memtable.flush is None]
        for memtable in taken:
            memtable.flush = flush
        return sum(memtable.bytes for memtable in taken)

    def finish(self, flush: int) -> list[int]:
        """Note that a flush has ended; return the flushes whose files can be installed now, in order."""
        self._done.add(flush)
        installed: list[int] = []
        while self.immutable and self.immutable[0].flush in self._done:
            number = self.immutable.pop(0).flush
            if number is not None and number not in installed:
                installed.append(number)
        self._done.difference_update(installed)
        return installed
