"""The audit trail while the journal cannot be written: nothing waits for it, and what waits is bounded."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from adocd.daemon.book.audit import Audit
from adocd.daemon.book.journal import content
from adocd.daemon.watch.events import Events
from tests.daemon.harness import CLOCKS, open_book, until


def test_a_full_disk_loses_the_oldest_entries_and_holds_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = content.put_operations

    def full(*_: object, **__: object) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    async def run() -> None:
        events = Events()
        feed = events.read()
        book = await open_book(tmp_path)
        audit = Audit(book, events, CLOCKS.wall)
        monkeypatch.setattr(content, "put_operations", full)
        for number in range(3000):
            audit.note("pause", "alice", f"number {number}", target="a", path="/a")
            if number % 100 == 0:
                await asyncio.sleep(0)
        assert len(book.operations) == 3000, "memory has them all"
        assert len(feed.take(5000, 0.0)) == 3000
        await until(lambda: book.problem is not None, "it is found out")
        assert book.unsaved == 1
        monkeypatch.setattr(content, "put_operations", put)

        def is_saved() -> bool:
            book.save()  # as the fleet does twice a second: the attempt before may still be failing
            return book.unsaved == 0

        await until(is_saved, "it is written")
        await book.close()

        anew = await open_book(tmp_path)
        assert [operation.id for operation in anew.operations] == list(range(2001, 3001))
        assert anew.operated("pause", "alice", "one more").id == 3001
        await anew.close()

    asyncio.run(run())
