"""Somebody else at the journal's files while it is open: noticed by the next look, and written anew from memory.

What counts is what the next daemon finds, so each test looks at a copy of the files as they are then: as a crash of
the daemon would leave them.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from adocd.daemon.book.book import Book, Clocks
from adocd.daemon.book.journal import file
from adocd.daemon.book.journal.errors import JournalError
from adocd.daemon.book.journal.records import Operation
from adocd.daemon.book.journal.schema import transaction
from adocd.model.policy import Policy
from adocd.model.values import of_database, of_family
from tests.daemon.book.journal.support import NOW_UNIX_S, A, B, decision, noise, override, overwrite, pause
from tests.daemon.book.journal.test_full_disk import file_size_limit
from tests.support.waiting import PATIENCE_S

JOBS, BATCH = of_database("max_background_jobs"), of_family("default", "write_buffer_size")
CLOCKS = Clocks(lambda: 1000.0, lambda: NOW_UNIX_S)
Deed = Callable[[Path, Path], None]


def log_of(path: Path) -> Path:
    return file.beside(path, "-wal")


def swap(path: Path, other: Path) -> None:
    """Put another file in its place."""
    os.replace(other, path)


def write_into(path: Path, other: Path) -> None:
    """Copy another file into it, in place."""
    with path.open("r+b") as stream:
        stream.write(other.read_bytes())
        stream.truncate()


def remove(*paths: Path) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def content_of(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


#: What somebody does to the journal's file, given an older copy of it; and how that is called.
DEEDS: dict[str, tuple[Deed, str]] = {
    "truncated": (lambda path, _: os.truncate(path, 0), "truncated"),
    "cut in half": (lambda path, _: os.truncate(path, path.stat().st_size // 2), "truncated"),
    "noise over its beginning": (lambda path, _: overwrite(path, 0, noise(100)), "written to"),
    "noise over a page": (lambda path, _: overwrite(path, 4096, noise(4096)), "written to"),
    "something appended": (lambda path, _: overwrite(path, path.stat().st_size, noise(10)), "written to"),
    "an older one copied into it": (write_into, "written to"),
    "an older one put in its place": (swap, "replaced"),
    "removed": (lambda path, _: remove(path), "removed"),
    "its log truncated": (lambda path, _: os.truncate(log_of(path), 0), "truncated"),
    "its log cut in half": (lambda path, _: os.truncate(log_of(path), log_of(path).stat().st_size // 2), "truncated"),
    "noise in its log": (lambda path, _: overwrite(log_of(path), 5000, noise(500)), "written to"),
    "its log removed": (lambda path, _: log_of(path).unlink(), "removed"),
    "all of it removed": (lambda path, _: remove(*file.with_sides(path)), "removed"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "journal.sqlite"


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Book]:
    book = await Book.open(path, run="a test", clocks=CLOCKS)
    try:
        yield book
    finally:
        await book.close()


async def fill(book: Book) -> None:
    await book.intend(A, "/db", "s1", {JOBS: "4", BATCH: "128"}.items(), {JOBS: "2", BATCH: "64"})
    await book.intend(B, "/other", "s2", {JOBS: "8"}.items(), {JOBS: "3"})
    await book.set_policy(A, "/db", Policy("adoc", {"threads_max": 8}), "ann")
    await book.pin(override())
    book.pauses.enter(replace(pause(B), state="restored"))
    book.operated("pin", "ann", "a pin", target=A)
    await settled(book)


async def settled(book: Book) -> None:
    """Wait until all that was said is written."""
    async with asyncio.timeout(PATIENCE_S):
        while book.unsaved:  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0.005)


async def mended(book: Book, before: str | None = None) -> str:
    """Look as the daemon does every two seconds, until the journal was written anew."""
    async with asyncio.timeout(PATIENCE_S):
        while book.rescued in (None, before) or book.problem is not None:
            book.save()
            await asyncio.sleep(0.02)
    assert book.rescued is not None
    return book.rescued


def crash(path: Path, directory: Path) -> None:
    directory.mkdir()
    for part in file.with_sides(path):
        if part.exists() and not part.name.endswith("-shm"):
            shutil.copyfile(part, directory / part.name)


async def remembered(path: Path, directory: Path) -> dict[str, object]:
    """Kill the daemon here, start another, and say what that one knows."""
    crash(path, directory)
    async with opened(directory / path.name) as book:
        assert book.rescued is None, "the new file is whole"
        return known(book)


def known(book: Book) -> dict[str, object]:
    return {
        "tuned": {(target, name): (t.original, t.sent) for target in (A, B) for name, t in book.left(target).items()},
        "policies": (book.policy_of(A), book.policy_of(B)),
        "overrides": book.overrides,
        "pause": book.pauses.of(B),
        "operations": tuple(book.operations),
    }


def set_aside(path: Path) -> list[Path]:
    return [each for each in path.parent.glob("*.damaged-*") if not each.name.endswith(("-wal", "-shm"))]


def with_book(path: Path, use: Callable[[Book], Awaitable[None]]) -> None:
    async def run() -> None:
        async with opened(path) as book:
            await fill(book)
            await use(book)

    asyncio.run(run())


@pytest.mark.parametrize("name", DEEDS)
def test_it_is_noticed_and_nothing_is_lost(path: Path, tmp_path: Path, name: str) -> None:
    deed, done = DEEDS[name]

    async def use(book: Book) -> None:
        older = tmp_path / "older"
        shutil.copyfile(path, older)
        before = known(book)
        deed(path, older)
        left = content_of(path)
        said = await mended(book)
        assert f"was {done} by somebody else" in said
        assert "a new one begins with what the daemon remembers: 3 tuned options, 1 policies, 1 overrides, 1" in said
        aside = set_aside(path)
        assert [each.read_bytes() for each in aside] == ([] if left is None else [left]), "kept as it was left"
        assert known(book) == before == await remembered(path, tmp_path / "now")

        # And what comes after is in the new file, nowhere else.
        await book.pin(override(B))
        book.forget(A, [JOBS])
        await settled(book)
        assert await remembered(path, tmp_path / "later") == known(book) != before
        assert len(set_aside(path)) == len(aside), "it is mended once"

    with_book(path, use)


def test_a_write_does_not_wait_for_the_next_look(path: Path, tmp_path: Path) -> None:
    """Originals above all: they must be in a file that can be read before the change is sent."""

    async def use(book: Book) -> None:
        os.truncate(path, 0)
        name = of_family("new", "write_buffer_size")
        writes = (
            book.intend(A, "/db", "s1", {name: "9"}.items(), {name: "7"}),
            book.pin(override(B)),
            book.set_policy(B, "/other", Policy("fixed"), "ann"),
        )
        await asyncio.gather(*writes)
        found = await remembered(path, tmp_path / "now")
        assert found == known(book)
        assert len(book.overrides) == 2
        assert name in book.left(A)
        assert len(set_aside(path)) == 1

    with_book(path, use)


def test_whoever_is_at_it_again_and_again_does_not_fill_the_disk(path: Path, tmp_path: Path) -> None:
    async def use(book: Book) -> None:
        os.truncate(path, 0)
        await mended(book)
        for _ in range(20):
            os.truncate(path, 0)
            book.save()
            await asyncio.sleep(0.02)
            with pytest.raises(JournalError, match="was truncated by somebody else"):
                await book.pin(override(B))
        assert book.problem is not None, "until then nothing new is changed"
        assert len(set_aside(path)) == 1
        assert book._journal is not None
        book._journal._worker._mend_after_s = 0.0  # ten seconds later
        await mended(book, book.rescued)
        assert await remembered(path, tmp_path / "now") == known(book)
        assert len(set_aside(path)) == 2

    with_book(path, use)


def test_without_room_for_a_new_one_the_problem_stays_until_there_is(path: Path, tmp_path: Path) -> None:
    async def use(book: Book) -> None:
        os.truncate(path, 0)
        with file_size_limit(1024):
            with pytest.raises(JournalError, match="was truncated by somebody else, and no new one can be made: "):
                await book.pin(override(B))
            assert book.problem is not None
            assert content_of(path) == b"", "nothing was moved while there is nothing to take its place"
        assert book._journal is not None
        book._journal._worker._mend_after_s = 0.0
        await mended(book)
        assert await remembered(path, tmp_path / "now") == known(book)

    with_book(path, use)


def test_a_write_of_somebody_else_in_the_middle_of_ours_is_not_taken_for_ours(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(connection: sqlite3.Connection) -> AbstractContextManager[None]:
        os.truncate(log_of(path), 0)
        return transaction(connection)

    async def use(book: Book) -> None:
        with monkeypatch.context() as patched:
            patched.setattr("adocd.daemon.book.journal.worker.transaction", slow)
            await book.pin(override(B))
        assert "by somebody else" in await mended(book)
        assert await remembered(path, tmp_path / "now") == known(book)
        assert len(book.overrides) == 2

    with_book(path, use)


def test_the_journals_own_writes_and_mere_looks_are_nobodys(path: Path) -> None:
    async def use(book: Book) -> None:
        for n in range(300):
            book.decided(A, decision(n, reason="x" * 10_000), path="/db")  # with checkpoints of its log
            if n % 10 == 0:
                book.save()
                await book.decisions(A, 10)
                content_of(path)
                os.chmod(path, 0o600)
                await asyncio.sleep(0.01)
            if n % 100 == 0:
                assert book._journal is not None
                await book._journal.flush()
        await settled(book)
        assert (book.problem, book.rescued) == (None, None)

    with_book(path, use)


def test_the_audit_trail_goes_on_counting(path: Path, tmp_path: Path) -> None:
    async def use(book: Book) -> None:
        remove(path)
        await mended(book)
        book.operated("pause", "ann", "a pause", target=A)
        await settled(book)
        found = (await remembered(path, tmp_path / "now"))["operations"]
        assert isinstance(found, tuple)
        assert [each.id for each in found if isinstance(each, Operation)] == [1, 2]

    with_book(path, use)
