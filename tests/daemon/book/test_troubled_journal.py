"""A journal that cannot be written, opened or read: nothing new is changed, restores go on, and nothing is lost."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from pathlib import Path
from typing import Any

import pytest

from adocd.daemon.book import book as book_module
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal import content, opening
from adocd.daemon.book.journal.errors import (
    JournalError,
    JournalForeign,
    JournalLocked,
    JournalUnopenable,
    JournalUnwritable,
)
from adocd.model.knob import MIB
from adocd.model.policy import Policy, Shaping
from tests.daemon.book.journal.support import A, decision, noise, overwrite
from tests.daemon.book.journal.test_full_disk import file_size_limit
from tests.daemon.book.runs import JOBS, Time, in_two_runs, opened, override, pause
from tests.daemon.book.slow import held
from tests.daemon.harness import ADOC, Scene, outcomes, overflowing, ticks, until, with_agent, write_buffer_size
from tests.support.waiting import PATIENCE_S

DAY_S = 86400.0
POLICY = Policy("adoc", {"threads_max": 8}, dry_run=True, shaping=Shaping(step_factor=2.0))


# -- a journal that cannot be written for a while


def test_what_could_not_be_written_is_written_as_soon_as_it_can(
    path: Path, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restore during an incident must hold after a restart, though the disk was full when it was said."""

    async def first(book: Book) -> None:
        pinned = override(time, None)
        await book.pin(pinned)
        replace_all = content.replace_all

        def full(*_: object) -> None:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

        monkeypatch.setattr(content, "replace_all", full)
        book.pauses.enter(pause(A))
        assert book.unpin(A, pinned.option, None)
        await until(lambda: book.problem is not None, "it cannot be written")
        assert book.unsaved == 2
        with pytest.raises(JournalError):
            await book.intend(A, "/db", "s1", {JOBS: "4"}.items(), {JOBS: "2"})
        monkeypatch.setattr(content, "replace_all", replace_all)
        book.save()
        assert await book.not_durable() is None
        assert book.unsaved == 0

    async def second(book: Book) -> None:
        assert book.pauses.of(A) is not None
        assert book.overrides_of(A) == ()

    in_two_runs(path, time, first, second)


# -- a journal that cannot be opened


def test_without_a_journal_nothing_new_is_allowed_and_operators_are_told_why(path: Path, time: Time) -> None:
    path.mkdir(parents=True)  # no file, so no journal

    async def run() -> None:
        async with opened(path, time) as book:
            assert book.problem is not None
            assert str(path) in book.problem
            assert book.path == path
            for asked in (
                book.intend(A, "/db", "s1", {JOBS: "4"}.items(), {JOBS: "2"}),
                book.set_policy(A, "/db", POLICY, "ann"),
                book.reset_policy(A),
            ):
                with pytest.raises(JournalError):
                    await asked
            with pytest.raises(JournalError):
                await book.pin(override(time, None))
            book.pauses.enter(pause(A))
            assert book.pauses.of(A) is not None, "stopping always works"
            book.decided(A, decision(1), path="/db")
            with pytest.raises(JournalError):
                await book.decisions(A, 10)

    asyncio.run(run())


def test_what_was_left_tuned_is_restored_though_the_journal_can_only_be_read(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def first(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "it is tuned")
        loop._attached = None  # the daemon dies, and the database's process with it

    async def second(scene: Scene) -> None:
        assert scene.book.problem is not None
        loop = await scene.attach(ADOC)
        await ticks(loop, 3)
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "it is put back")
        sentences = await ticks(loop, 4)
        assert sentences[-1] == f"nothing new is changed: {scene.book.problem}"
        assert write_buffer_size(database) == str(64 * MIB)

    with_agent(database, tmp_path, first)
    database.reopen(keep_options=True)
    (lock,) = (tmp_path / "state").glob("*.lock")
    lock.unlink()
    lock.mkdir()  # stands in the way of root, too
    with_agent(database, tmp_path, second)


async def until_it_can_be_written(book: Book) -> None:
    await until(lambda: book.problem is None and not book.unsaved, "it can be written")


def test_a_first_start_on_a_full_disk_begins_the_journal_when_there_is_room(path: Path, time: Time) -> None:
    async def first(book: Book) -> None:
        with pytest.raises(JournalError):
            await book.intend(A, "/db", "s1", {JOBS: "4"}.items(), {JOBS: "2"})
        with pytest.raises(JournalError):
            await book.pin(override(time, None))
        book.pauses.enter(pause(A))
        book.operated("pause", "ann", "a pause", target=A)
        book.save()
        await asyncio.sleep(0.1)
        assert book.problem is not None
        assert str(path) in book.problem
        assert book.unsaved == 2, "said, and in no file yet"
        assert [each.name for each in path.parent.iterdir()] == ["journal.sqlite.lock"], "nothing half is left"

    async def then(book: Book) -> None:
        assert book._journal is not None
        book._journal._worker._mend_after_s = 0.0  # ten seconds later
        book.save()
        await until_it_can_be_written(book)
        await book.intend(A, "/db", "s1", {JOBS: "4"}.items(), {JOBS: "2"})
        book.decided(A, decision(1), path="/db")
        assert book.rescued is None

    async def run() -> None:
        with file_size_limit(1024):
            book = await Book.open(path, run="the first", clocks=time.clocks)
            await first(book)
        await then(book)
        await book.close()
        async with opened(path, time) as book:
            assert set(book.left(A)) == {JOBS}
            assert book.pauses.of(A) is not None
            assert [each.sentence for each in book.operations] == ["a pause"]
            assert len(await book.decisions(A, 10)) == 1

    asyncio.run(run())


def test_a_journal_that_can_be_opened_again_keeps_what_it_had(path: Path, time: Time) -> None:
    async def run() -> None:
        async with opened(path, time) as book:
            await book.intend(A, "/db", "s1", {JOBS: "4"}.items(), {JOBS: "2"})
            await book.pin(override(time, None))
            book.operated("pin", "ann", "a pin", target=A)
        (lock,) = path.parent.glob("*.lock")
        lock.unlink()
        lock.mkdir()
        async with opened(path, time) as book:
            assert book.problem is not None
            assert [each.sentence for each in book.operations] == ["a pin"], "it can be read"
            assert book.unpin(A, "max_background_jobs", None)
            book.operated("unpin", "ann", "no pin", target=A)
            lock.rmdir()
            book.save()
            await until_it_can_be_written(book)
        async with opened(path, time) as book:
            assert set(book.left(A)) == {JOBS}
            assert book.overrides == ()
            assert [(each.id, each.sentence) for each in book.operations] == [(1, "a pin"), (2, "no pin")]

    asyncio.run(run())


async def until_said(book: Book, words: str) -> None:
    await until(lambda: words in (book.problem or ""), words)


def test_a_journal_that_appears_after_the_start_is_left_as_it_is(path: Path, time: Time) -> None:
    """As on a disk that is mounted late: what it has is not known, and must not be lost."""
    away = path.parent.with_name("not-mounted")

    async def run() -> None:
        async with opened(path, time) as book:
            await book.intend(A, "/db", "s1", {JOBS: "4"}.items(), {JOBS: "2"})
        os.rename(path.parent, away)
        os.symlink("nowhere", path.parent)
        async with opened(path, time) as book:
            assert book.problem is not None
            assert book.left(A) == {}
            os.unlink(path.parent)
            os.rename(away, path.parent)
            book.save()
            await until_said(book, "appeared after the daemon had started")
            with pytest.raises(JournalError):
                await book.intend(A, "/db", "s1", {JOBS: "8"}.items(), {JOBS: "4"})
        async with opened(path, time) as book:
            assert {option: each.original for option, each in book.left(A).items()} == {JOBS: "2"}

    asyncio.run(run())


def test_a_journal_that_began_after_the_start_is_no_strangers_later(
    path: Path, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        with file_size_limit(1024):
            book = await Book.open(path, run="the first", clocks=time.clocks)
        assert book._journal is not None
        book.save()
        await until_it_can_be_written(book)
        await book.pin(override(time, None))
        os.unlink(path)  # and what is written anew cannot be opened at first
        opens = opening.open_or_rescue

        def fails(*_: object) -> None:
            raise JournalUnopenable("too many open files")

        monkeypatch.setattr(opening, "open_or_rescue", fails)
        book._journal._worker._mend_after_s = 0.0
        book.save()
        await until_said(book, "too many open files")
        monkeypatch.setattr(opening, "open_or_rescue", opens)
        book._journal._worker._mend_after_s = 0.0
        book.save()
        await until_it_can_be_written(book)
        assert len(book.overrides) == 1
        await book.close()

    asyncio.run(run())


def test_a_journal_with_an_audit_trail_alone_is_left_as_it_is_too(path: Path, time: Time) -> None:
    away = path.parent.with_name("not-mounted")

    async def run() -> None:
        async with opened(path, time) as book:
            book.operated("pause", "ann", "an old one")
        os.rename(path.parent, away)
        os.symlink("nowhere", path.parent)
        async with opened(path, time) as book:
            os.unlink(path.parent)
            os.rename(away, path.parent)
            book.operated("pause", "ann", "a new one")
            book.save()
            await until_said(book, "appeared after the daemon had started")
        async with opened(path, time) as book:
            assert [each.sentence for each in book.operations] == ["an old one"]

    asyncio.run(run())


def test_an_unfinished_repair_is_read_where_it_cannot_be_finished(path: Path, time: Time) -> None:
    async def run() -> None:
        async with opened(path, time) as book:
            await book.intend(A, "/db", "s1", {JOBS: "4"}.items(), {JOBS: "2"})
        os.rename(path, f"{path}.rescued")  # killed between the two renames
        lock = path.with_name(f"{path.name}.lock")
        lock.unlink()
        lock.mkdir()
        async with opened(path, time) as book:
            assert book.problem is not None
            assert set(book.left(A)) == {JOBS}
            lock.rmdir()
            book.save()
            await until_it_can_be_written(book)
        async with opened(path, time) as book:
            assert set(book.left(A)) == {JOBS}

    asyncio.run(run())


def test_one_that_cannot_even_be_read_is_left_alone_until_a_restart(path: Path, time: Time) -> None:
    """Nobody knows what must be in it: to write it anew would forget that."""
    path.mkdir(parents=True)

    async def run() -> None:
        async with opened(path, time) as book:
            os.rmdir(path)
            book.save()
            await asyncio.sleep(0.1)
            assert book.problem is not None
            assert not list(path.parent.glob(path.name))

    asyncio.run(run())


def test_a_damaged_journal_is_set_aside_and_said(path: Path, time: Time) -> None:
    async def first(book: Book) -> None:
        await book.set_policy(A, "/db", POLICY, "ann")

    async def second(book: Book) -> None:
        assert book.rescued is not None
        assert f"it is now {path}.damaged-" in book.rescued
        assert book.problem is None
        await book.set_policy(A, "/db", POLICY, "ann")

    async def run() -> None:
        async with opened(path, time) as book:
            await first(book)
        overwrite(path, 0, noise(4 * 1024))
        async with opened(path, time) as book:
            await second(book)

    asyncio.run(run())


def test_one_daemon_has_it(path: Path, time: Time) -> None:
    async def run() -> None:
        async with opened(path, time):
            with pytest.raises(JournalLocked, match="is in use by process"):
                await Book.open(path, run="another", clocks=time.clocks)

    asyncio.run(run())


def test_another_programs_database_is_no_journal(path: Path, time: Time) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE theirs (x)")
    other.close()
    with pytest.raises(JournalForeign):
        asyncio.run(Book.open(path, run="a test", clocks=time.clocks))


def test_a_stop_does_not_wait_for_a_journal_that_hangs(
    path: Path, time: Time, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    answers, replace_all = threading.Event(), content.replace_all
    monkeypatch.setattr(book_module, "ANSWERS_WITHIN_S", 0.3)

    def hanging(*args: Any) -> None:
        answers.wait(60)
        replace_all(*args)

    async def run() -> None:
        async with opened(path, time) as book:
            monkeypatch.setattr(content, "replace_all", hanging)
            book.pauses.enter(pause(A))
            await book.close()
            assert "does not answer" in caplog.text
            answers.set()

    try:
        asyncio.run(run())
    finally:
        answers.set()


@pytest.mark.parametrize("hangs", ["since long", "since now"])
def test_what_operators_ask_for_while_the_journal_hangs_is_refused_and_not_done_later(
    path: Path, time: Time, monkeypatch: pytest.MonkeyPatch, hangs: str
) -> None:
    """Otherwise one request would hold up those for all other databases, and be done when nobody expects it."""

    async def run() -> None:
        async with opened(path, time) as book:
            await book.set_policy(A, "/db", Policy("adoc"), "tests")
            with held(book), monkeypatch.context() as impatient:
                impatient.setattr(book_module, "ANSWERS_WITHIN_S", 0.3)
                if hangs == "since long":
                    book.save()
                    time.pass_s(1.0)
                asked = (
                    book.pin(override(time, 60.0)),
                    book.set_policy(A, "/db", Policy("tide"), "tests"),
                    book.reset_policy(A),
                    book.forget_target(A),
                )
                async with asyncio.timeout(PATIENCE_S):
                    refused = await asyncio.gather(*asked, return_exceptions=True)
            assert {str(each) for each in refused} == {f"the journal {path} has not answered for 0.3 s"}
            assert {type(each) for each in refused} == {JournalUnwritable}
            await until(lambda: book.problem is None, "it answers")
            await book.pin(override(time, 60.0, option="max_open_files"))
            assert [each.option for each in book.overrides] == ["max_open_files"]
            assert book.policy_of(A) == Policy("adoc")
            assert book._journal is not None
            assert [each.option for each in await book._journal.overrides()] == ["max_open_files"]
            assert [each.policy() for each in await book._journal.policies()] == [Policy("adoc")]

    asyncio.run(run())


def test_a_journal_that_hangs_is_said_at_once_and_is_a_problem_soon(
    path: Path, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book_module, "_TOLD_WITHIN_S", 0.05)

    async def run() -> None:
        async with opened(path, time) as book:
            assert await book.not_durable() is None
            with held(book):
                book.pauses.enter(pause(A))
                problems = [await book.not_durable(), book.problem]
                time.pass_s(book_module.ANSWERS_WITHIN_S + 1)
                problems += [await book.not_durable(), book.problem]
            monkeypatch.setattr(book_module, "_TOLD_WITHIN_S", 30.0)
            assert await book.not_durable() is None
            overdue = f"the journal {path} has not answered for 5 s"
            assert problems == [f"the journal {path} has not answered yet", None, overdue, overdue]

    asyncio.run(run())
