"""The journal's tables, and the migration of files of older versions."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from adocd.daemon.book.journal.errors import SQLITE_ERRORS, JournalTooNew

#: "adoc" in the file's header (PRAGMA application_id) distinguishes a journal from another program's database.
APPLICATION_ID = 0x61646F63

Migration = Callable[[sqlite3.Connection], None]


def _version_1(connection: sqlite3.Connection) -> None:
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(
        "CREATE TABLE documents (kind TEXT NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL,"
        " checksum INTEGER NOT NULL, UNIQUE (kind, key))"
    )
    # AUTOINCREMENT, so that the order of decisions does not depend on the wall clock, and no id is used twice.
    connection.execute(
        "CREATE TABLE decisions (id INTEGER PRIMARY KEY AUTOINCREMENT, target TEXT NOT NULL, run TEXT NOT NULL,"
        " sequence INTEGER NOT NULL, unix_s REAL NOT NULL, content TEXT NOT NULL,"
        " UNIQUE (target, run, sequence, unix_s))"
    )
    connection.execute("CREATE INDEX decisions_of_target ON decisions (target)")


def _version_2(connection: sqlite3.Connection) -> None:
    connection.execute("CREATE TABLE operations (id INTEGER PRIMARY KEY, content TEXT NOT NULL)")


#: The n-th migrates from version n to n + 1, in one transaction with the version number. Never edit a released one.
MIGRATIONS: tuple[Migration, ...] = (_version_1, _version_2)


def migrate(connection: sqlite3.Connection, path: Path, migrations: tuple[Migration, ...] = MIGRATIONS) -> None:
    """Migrate a file's schema. Raises JournalTooNew, or sqlite3.Error from a step that was rolled back."""
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
    """Return the file's schema version; 0 means that it has none of our tables."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run the block as one transaction, durable if it ends without an error."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may already have rolled the transaction back.
        with suppress(*SQLITE_ERRORS):
            connection.execute("ROLLBACK")
        raise
