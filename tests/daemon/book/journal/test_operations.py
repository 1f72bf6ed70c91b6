"""The audit trail in the journal: the newest stay, damaged ones are left out, and a full one costs little."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from adocd.daemon.book.journal import content
from adocd.daemon.book.journal.journal import Journal
from adocd.daemon.book.journal.records import Operation
from adocd.daemon.book.journal.schema import migrate
from tests.daemon.book.journal.support import with_journal

ONE = Operation(1, 1000.0, "alice", "pause", "a", "/a", 'alice paused it: "äöü" \N{SNOWMAN}')


def test_it_is_there_after_a_restart(tmp_path: Path) -> None:
    async def write(journal: Journal) -> None:
        await journal.operated([ONE])
        await journal.operated([replace(ONE, id=2, target=None, path=None)])

    async def read(journal: Journal) -> None:
        assert await journal.operations() == (ONE, replace(ONE, id=2, target=None, path=None))

    with_journal(tmp_path / "journal", write)
    with_journal(tmp_path / "journal", read)


def test_only_the_newest_are_kept(tmp_path: Path) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, tmp_path)
        for number in range(1, 31):
            content.put_operations(connection, [replace(ONE, id=number)], kept=10)
        assert [operation.id for operation in content.operations(connection)] == list(range(21, 31))


def test_a_damaged_entry_is_left_out(tmp_path: Path) -> None:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, tmp_path)
        for number in (1, 2, 3, 4):
            content.put_operations(connection, [replace(ONE, id=number)], kept=10)
        connection.execute("UPDATE operations SET content = '[' WHERE id = 1")
        connection.execute("""UPDATE operations SET content = '{"who": 1}' WHERE id = 2""")
        connection.execute("UPDATE operations SET content = '[1]' WHERE id = 3")
        assert [operation.id for operation in content.operations(connection)] == [4]
