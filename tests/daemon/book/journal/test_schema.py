"""Versions of the file: each step whole or not at all, and nothing newer than ours is touched."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adocd.daemon.book.journal import file, opening
from adocd.daemon.book.journal.errors import JournalTooNew
from adocd.daemon.book.journal.schema import MIGRATIONS, migrate, version_of
from tests.daemon.book.journal.support import EVERYTHING, counts, fill_with_everything, with_journal


def one_more(connection: sqlite3.Connection) -> None:
    connection.execute("ALTER TABLE decisions ADD COLUMN note TEXT NOT NULL DEFAULT ''")
    connection.execute("CREATE TABLE notes (note TEXT)")


def another(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO notes VALUES ('the next one')")


def breaks(connection: sqlite3.Connection) -> None:
    connection.execute("INSERT INTO notes VALUES ('half of it')")
    connection.execute("INSERT INTO nowhere VALUES (1)")


def open_with(path: Path, *further: object) -> opening.OpenedJournal:
    return opening.open_or_rescue(path, lambda: 0.0, (*MIGRATIONS, *further))  # type: ignore[arg-type]


def test_an_older_file_is_brought_up_to_date_and_keeps_everything(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with_journal(path, fill_with_everything)
    opened = open_with(path, one_more, another)
    try:
        assert opened.rescue is None
        assert version_of(opened.connection) == len(MIGRATIONS) + 2
        assert opened.connection.execute("SELECT note FROM notes").fetchall() == [("the next one",)]
        assert opened.connection.execute("SELECT count(*) FROM documents").fetchone() == (sum(EVERYTHING.values()),)
    finally:
        opened.close()


def test_a_step_that_fails_leaves_the_version_before(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with_journal(path, fill_with_everything)
    with closing(file.connect(path)) as connection:
        with pytest.raises(sqlite3.OperationalError, match="no such table: nowhere"):
            migrate(connection, path, (*MIGRATIONS, one_more, breaks))
        assert version_of(connection) == len(MIGRATIONS) + 1
        assert connection.execute("SELECT count(*) FROM notes").fetchone() == (0,)
    open_with(path, one_more, another).close()


def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    with_journal(path, fill_with_everything)
    open_with(path, one_more).close()
    before = path.read_bytes()
    with pytest.raises(JournalTooNew, match="is of schema version 3, and this adocd knows versions up to 2: use the"):
        with_journal(path, counts)
    assert path.read_bytes() == before
    assert sorted(name.name for name in tmp_path.iterdir()) == ["journal", "journal.lock"]


def test_the_released_versions_never_change(tmp_path: Path) -> None:
    """Who edits a step that users' files have already been through breaks them; add a step instead."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, tmp_path, MIGRATIONS[:2])
        tables = [
            (name, [column[1] for column in connection.execute(f"PRAGMA table_info({name})")])
            for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
        ]
    assert tables == [
        ("decisions", ["id", "target", "run", "sequence", "unix_s", "content"]),
        ("documents", ["kind", "key", "content", "checksum"]),
        ("operations", ["id", "content"]),
        ("sqlite_sequence", ["name", "seq"]),
    ]
