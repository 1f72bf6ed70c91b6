"""The journal's tables, and how a file of an older version gets them."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adocd.daemon.book.journal.errors import SQLITE_ERRORS, JournalTooNew

#: "adoc", in the file's header (PRAGMA application_id): tells a journal from another program's database.
APPLICATION_ID = 0x61646F63

Migration = Callable[[sqlite3.Connection], None]


def _version_1(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(
        "CREATE TABLE documents (kind TEXT NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL,"
        " checksum INTEGER NOT NULL, UNIQUE (kind, key))"
    )
    # AUTOINCREMENT: the order of decisions never depends on the wall clock, and no id is used twice.
    connection.execute(
        "CREATE TABLE decisions (id INTEGER PRIMARY KEY AUTOINCREMENT, target TEXT NOT NULL, run TEXT NOT NULL,"
        " sequence INTEGER NOT NULL, unix_s REAL NOT NULL, content TEXT NOT NULL,"
        " UNIQUE (target, run, sequence, unix_s))"
    )
    connection.execute("CREATE INDEX decisions_of_target ON decisions (target)")


def _version_2(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE operations (id INTEGER PRIMARY KEY, content TEXT NOT NULL)")


#: The n-th leads from version n to n + 1; each runs in one transaction with the new number. Never edit a released one.
MIGRATIONS: tuple[Migration, ...] = (_version_1, _version_2)


def migrate(connection: sqlite3.Connection, path: Path, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
    """Bring a file's schema up to date. Raises JournalTooNew, or sqlite3.Error of a step that left no trace."""
    version = version_of(connection)
    if version > len(migrations):
        raise JournalTooNew(
            f"the journal {path} is of schema version {version}, and this adocd knows versions up to "
            f"{len(migrations)}: use the newer adocd, or move the file away"
        )
    for number, step in enumerate(migrations[version:], start=version + 1):
        with transaction(connection):
            step(connection)
            connection.execute(f"PRAGMA user_version = {number}")


def version_of(connection: sqlite3.Connection) -> int:
    """Read the file's schema version; 0 is a file without any of our tables."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All or nothing, and durable when left without an error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk can already have ended the transaction.
        with suppress(*SQLITE_ERRORS):
            connection.execute("ROLLBACK")
        raise
