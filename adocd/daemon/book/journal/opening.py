"""Opens the journal at a path, whatever is found there. Blocking; for the journal's own thread."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from adocd.daemon.book.journal import file, rescue, stamp
from adocd.daemon.book.journal.documents import KINDS
from adocd.daemon.book.journal.errors import SQLITE_ERRORS, JournalDamaged, JournalUnopenable
from adocd.daemon.book.journal.rescue import Rescue
from adocd.daemon.book.journal.schema import MIGRATIONS, Migration
from adocd.daemon.book.journal.stamp import Stamp


@dataclass(slots=True)
class OpenedJournal:
    """An open journal: its connection, the descriptors of lock and file, and the files' state after our last write."""

    path: Path
    connection: sqlite3.Connection
    lock: int
    descriptor: int
    rescue: Rescue | None
    stamp: Stamp = field(init=False)

    def __post_init__(self) -> None:
        """Record the files' present state."""
        self.stamp = stamp.take(self.path)

    def see_that_it_is_ours(self) -> None:
        """Raise JournalTampered if somebody else has changed the files."""
        stamp.compare(self.path, self.stamp)

    def has_written(self) -> None:
        """Record the files' state after our write; a change that it cannot have made is noticed by the next check."""
        self.stamp = stamp.after_writing(self.path, self.descriptor, self.stamp)

    def close(self) -> None:
        """Close the journal; committed data is safe whatever happens here.

        If the database was moved or removed, SQLite writes nothing back, and does not touch the file that now has its
        log's name (pager.c, sqlite3PagerClose).
        """
        with suppress(*SQLITE_ERRORS):
            self.connection.close()
        os.close(self.descriptor)
        os.close(self.lock)


def open_or_rescue(
    path: Path, wall_clock: Callable[[], float], migrations: tuple[Migration, ...] = MIGRATIONS
) -> OpenedJournal:
    """Lock and open the journal; create it if missing, replace it if damaged. Raises JournalError."""
    lock = file.lock(path)
    try:
        rescue.clean_up(path)
        rescued, old = None, None
        if rescue.is_unfinished(path):
            old = rescue.finish(path, wall_clock())
        elif not os.path.lexists(path):
            file.create(path, lambda _: None)
        try:
            connection = file.open_checked(path, migrations)
        except JournalDamaged as error:
            rescued = rescue.set_aside(path, str(error), wall_clock())
            connection = file.open_checked(path, migrations)
        if rescued is None and old is not None:
            reason = f"adocd ended while it set the damaged journal {path} aside"
            rows = {name: len(kind.all(connection)) for name, kind in KINDS.items()}
            rescued = Rescue(reason, old, rows, unreadable=None)
        return OpenedJournal(path, connection, lock, os.open(path, os.O_RDONLY | os.O_CLOEXEC), rescued)
    except BaseException as error:
        os.close(lock)
        if isinstance(error, OSError):
            raise JournalUnopenable(f"the journal {path} cannot be opened: {error.strerror}") from None
        raise
