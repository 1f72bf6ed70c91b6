"""From a path to an open journal, whatever is found there. Blocking; for the journal's own thread."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from adocd.daemon.journal import file, rescue
from adocd.daemon.journal.documents import KINDS
from adocd.daemon.journal.errors import SQLITE_ERRORS, JournalDamaged, JournalUnopenable, JournalUnwritable
from adocd.daemon.journal.rescue import Rescue
from adocd.daemon.journal.schema import MIGRATIONS, Migration


@dataclass(frozen=True, slots=True)
class Opened:
    """An open journal: the connection, the lock's descriptor, and which file it is."""

    path: Path
    connection: sqlite3.Connection
    lock: int
    file_id: tuple[int, int]
    rescue: Rescue | None

    def see_that_it_is_there(self) -> None:
        """Raise JournalUnwritable when the file was removed: SQLite would go on writing to nowhere."""
        if _file_id(self.path) != self.file_id:
            raise JournalUnwritable(f"the journal {self.path} was removed or replaced under us: restart adocd")

    def close(self) -> None:
        """Close it; what is committed is safe whatever happens here."""
        with suppress(*SQLITE_ERRORS):
            self.connection.close()
        os.close(self.lock)


def open_or_rescue(
    path: Path, wall_clock: Callable[[], float], migrations: tuple[Migration, ...] = MIGRATIONS
) -> Opened:
    """Lock and open the journal, begin one where there is none, and replace a damaged one. Raises JournalError."""
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
        return Opened(path, connection, lock, _file_id(path), rescued)
    except BaseException as error:
        os.close(lock)
        if isinstance(error, OSError):
            raise JournalUnopenable(f"the journal {path} cannot be opened: {error.strerror}") from None
        raise


def _file_id(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return -1, -1
    return status.st_dev, status.st_ino
