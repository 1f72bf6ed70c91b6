"""What outlives the daemon: all comes back, times run by a clock that nobody sets, and restores need no journal."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adocd.daemon.book import book as book_module
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal import content, opening
from adocd.daemon.book.journal.errors import JournalError, JournalForeign, JournalLocked, JournalUnopenable
from adocd.daemon.book.journal.records import SENT_VALUES_KEPT, Pause
from adocd.model.knob import MIB
from adocd.model.policy import Policy, Shaping
from tests.daemon.book.journal.support import A, B, decision, noise, overwrite
from tests.daemon.book.journal.test_full_disk import file_size_limit
from tests.daemon.book.runs import BATCH, JOBS, Time, in_two_runs, opened, override, pause
from tests.daemon.book.slow import held
from tests.daemon.harness import ADOC, Scene, outcomes, overflowing, ticks, until, with_agent, write_buffer_size

DAY_S = 86400.0
POLICY = Policy("adoc", {"threads_max": 8}, dry_run=True, shaping=Shaping(step_factor=2.0))


def remove(path: Path) -> None:
    path.unlink()


def test_the_next_run_finds_all_of_it(path: Path, time: Time) -> None:
    async def first(book: Book) -> None:
        await book.intend(A, "/db", "s1", {JOBS: "4", BATCH: "128"}.items(), {JOBS: "2", BATCH: "64"})
        await book.set_policy(A, "/db", POLICY, "ann")
        await book.pin(override(time, 600.0))
        await book.pin(override(time, None, target=None))
        book.pauses.enter(pause(B, "restored"))
        book.decided(A, decision(1), path="/db")

    async def second(book: Book) -> None:
        assert {option: tuned.original for option, tuned in book.left(A).items()} == {JOBS: "2", BATCH: "64"}
        assert book.left(B) == {}
        assert book.policy_of(A) == POLICY
        assert book.policy_of(B) is None
        assert [pinned.override for pinned in book.overrides_of(A)] == [
            override(time, None, target=None),
            override(time, 600.0),
        ]
        assert [pinned.override.target for pinned in book.overrides_of(B)] == [None]
        found = book.pauses.of(B)
        assert found is not None
        assert (found.state, found.reason) == ("restored", "an incident")
        assert book.pauses.of(A) is None
        assert [known.reason for known in await book.decisions(A, 10)] == ["because"]
        assert (book.problem, book.rescued, book.path, book.lost_decisions) == (None, None, path, 0)

    in_two_runs(path, time, first, second)


def test_what_was_taken_back_is_gone_in_the_next_run(path: Path, time: Time) -> None:
    async def first(book: Book) -> None:
        await book.intend(A, "/db", "s1", {JOBS: "4", BATCH: "128"}.items(), {JOBS: "2", BATCH: "64"})
        book.forget(A, [JOBS])
        await book.set_policy(A, "/db", POLICY, "ann")
        assert await book.reset_policy(A)
        assert not await book.reset_policy(A)
        await book.pin(override(time, None))
        assert book.unpin(A, "max_background_jobs", None)
        assert not book.unpin(A, "max_background_jobs", None)
        book.pauses.enter(pause(A))
        assert book.pauses.resume(A, None, "ann")
        assert not book.pauses.resume(A, None, "ann")

    async def second(book: Book) -> None:
        assert set(book.left(A)) == {BATCH}
        assert (book.policy_of(A), book.overrides_of(A), book.pauses.of(A)) == (None, (), None)

    in_two_runs(path, time, first, second)


def test_going_back_to_an_original_needs_no_word(path: Path, time: Time) -> None:
    async def run() -> None:
        async with opened(path, time) as book:
            remove(path)
            os.mkdir(path)  # from here on nothing can be written
            await book.intend(A, "/db", "s1", {JOBS: "2"}.items(), {JOBS: "2"})
            with pytest.raises(JournalError, match="is a directory"):
                await book.intend(A, "/db", "s1", {JOBS: "4"}.items(), {JOBS: "2"})
            assert book.left(A) == {}
            assert book.problem is not None

    asyncio.run(run())


# -- time


def test_an_operators_hour_is_an_hour_whatever_the_wall_clock_does(path: Path, time: Time) -> None:
    async def run() -> None:
        async with opened(path, time) as book:
            pinned = await book.pin(override(time, 3600.0))
            for jump_s in (-3600.0, DAY_S, -10 * DAY_S):
                time.wall_s += jump_s
                assert book.expire() == ()
                assert book.remaining_s(pinned) == 3600.0
            time.pass_s(3599.0)
            assert book.expire() == ()
            assert book.remaining_s(pinned) == 1.0
            time.pass_s(1.0)
            assert [gone.option for gone in book.expire()] == ["max_background_jobs"]
            assert book.overrides_of(A) == ()
            assert book.remaining_s(pinned) == 0.0

    asyncio.run(run())


def test_time_goes_on_while_no_daemon_runs(path: Path, time: Time) -> None:
    async def first(book: Book) -> None:
        await book.pin(override(time, 60.0))
        await book.pin(override(time, 600.0, option="wal_bytes_per_sync"))
        await book.pin(override(time, None, option="bytes_per_sync"))
        time.pass_s(100.0)

    async def second(book: Book) -> None:
        assert [gone.option for gone in book.expire()] == ["max_background_jobs"]
        left = {pinned.override.option: book.remaining_s(pinned) for pinned in book.overrides_of(A)}
        assert left == {"wal_bytes_per_sync": 500.0, "bytes_per_sync": None}

    in_two_runs(path, time, first, second)


def test_a_wall_clock_that_is_behind_after_a_restart_makes_no_pin_longer(path: Path, time: Time) -> None:
    async def first(book: Book) -> None:
        await book.pin(override(time, 3600.0))
        time.wall_s -= 30 * DAY_S

    async def second(book: Book) -> None:
        (pinned,) = book.overrides_of(A)
        assert book.remaining_s(pinned) == 3600.0

    in_two_runs(path, time, first, second)


@pytest.mark.parametrize(
    ("is_running", "days"),
    [(True, -30), (True, 30), (False, -30)],
    ids=["back", "forward", "back while no daemon runs"],
)
def test_a_pins_time_goes_on_over_restarts_after_somebody_has_set_the_wall_clock(
    path: Path, time: Time, is_running: bool, days: int
) -> None:
    """Otherwise each restart would give it its whole time again, until a clock that was set back is where it was."""

    async def first(book: Book) -> None:
        await book.pin(override(time, 3600.0))
        time.wall_s += days * DAY_S
        if is_running:
            assert book.expire() == ()
            time.pass_s(600.0)

    async def then(book: Book) -> None:
        (pinned,) = book.overrides_of(A)
        left_s.append(book.remaining_s(pinned))
        assert (pinned.override.value, pinned.override.reason, pinned.override.who) == ("4", "a test", "ann")
        time.pass_s(1000.0)

    async def last(book: Book) -> None:
        assert [gone.option for gone in book.expire()] == ["max_background_jobs"]
        assert book.overrides_of(A) == ()

    left_s: list[float | None] = []
    in_two_runs(path, time, first, then)
    in_two_runs(path, time, then, then)
    time.pass_s(600.0)
    in_two_runs(path, time, last, nothing_is_pinned)
    assert left_s == ([3000.0, 2000.0, 1000.0] if is_running else [3600.0, 2600.0, 1600.0])


async def nothing_is_pinned(book: Book) -> None:
    assert book.overrides == ()


# -- pauses of all


def test_a_pause_of_all_and_one_that_goes_on(path: Path, time: Time) -> None:
    async def first(book: Book) -> None:
        book.pauses.enter(pause(None))
        assert book.pauses.resume(A, "/db", "ann")
        assert book.pauses.of(A) is None
        assert book.pauses.of(B) is not None

    async def second(book: Book) -> None:
        assert book.pauses.of(A) is None
        assert book.pauses.of(B) is not None
        book.pauses.enter(pause(None, "restored"))
        found = book.pauses.of(A)
        assert found is not None, "a new pause of all is of all"
        assert found.state == "restored"
        assert book.pauses.resume(None, None, "ann")
        assert (book.pauses.of(A), book.pauses.of(B)) == (None, None)
        assert not book.pauses.resume(None, None, "ann")

    async def third(book: Book) -> None:
        assert (book.pauses.of(A), book.pauses.of(B)) == (None, None)

    in_two_runs(path, time, first, second)
    in_two_runs(path, time, third, third)


def test_a_restore_of_all_takes_the_place_of_those_of_each_in_one_commit(
    path: Path, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A daemon that is killed in between would have lost some of them, and not have the one of all yet."""
    seen = list[list[Pause]]()
    replace_all = content.replace_all

    def noted(connection: sqlite3.Connection, kind: Any, documents: tuple[Pause, ...]) -> None:
        seen.append(sorted(documents, key=repr))
        replace_all(connection, kind, documents)

    async def first(book: Book) -> None:
        for target in (A, B):
            book.pauses.enter(pause(target, "restored"))
        assert await book.not_durable() is None
        monkeypatch.setattr(content, "replace_all", noted)
        book.pauses.enter(pause(None, "restored"))
        assert await book.not_durable() is None
        assert seen == [[pause(None, "restored")]]

    async def second(book: Book) -> None:
        assert book.pauses.entries == (pause(None, "restored"),)

    in_two_runs(path, time, first, second)


def test_what_was_resumed_after_a_restore_of_all_is_not_paused(path: Path, time: Time) -> None:
    async def run() -> None:
        async with opened(path, time) as book:
            book.pauses.enter(pause(None, "restored"))
            book.pauses.enter(pause(B, "restored"))
            assert book.pauses.resume(A, "/db", "ann")
            assert {id_: kept.paused for id_, kept in book.kept.items()} == {A: False, B: True}

    asyncio.run(run())


def test_a_pause_of_all_is_also_one_of_what_was_paused_by_itself_after_a_resume(path: Path, time: Time) -> None:
    async def run() -> None:
        async with opened(path, time) as book:
            book.pauses.enter(pause(None, "restored"))
            assert book.pauses.resume(A, "/db", "ann")
            book.pauses.enter(replace(pause(A), who="adocd itself"))
            book.pauses.enter(pause(None))
            entry = book.pauses.entry(A)
            assert entry is not None
            assert (entry.state, entry.who) == ("paused", "ann")

    asyncio.run(run())


@pytest.mark.parametrize("meant", [A, None], ids=["that one", "all"])
def test_a_target_that_was_resumed_after_a_restore_of_all_can_be_paused(
    path: Path, time: Time, meant: str | None
) -> None:
    async def first(book: Book) -> None:
        book.pauses.enter(pause(None, "restored"))
        assert book.pauses.resume(A, "/db", "ann")
        book.pauses.enter(pause(meant))

    async def second(book: Book) -> None:
        found, other = book.pauses.of(A), book.pauses.of(B)
        assert found is not None
        assert found.state == "paused"
        assert other is not None
        assert other.state == "restored", "a pause takes nothing of a restore back"

    in_two_runs(path, time, first, second)


def test_the_value_in_force_is_never_pushed_out_of_those_that_were_sent(path: Path, time: Time) -> None:
    """A database that reloads its OPTIONS file would come up with a value that nobody knows as ours."""

    async def first(book: Book) -> None:
        for value in ["1", *map(str, range(2, SENT_VALUES_KEPT + 1)), "1", "again"]:
            await book.intend(A, "/db", "session", [(JOBS, value)], {JOBS: "original"})

    async def second(book: Book) -> None:
        assert book.left(A)[JOBS].is_ours("1")

    in_two_runs(path, time, first, second)


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
        await asyncio.sleep(0.1)
        assert book.problem is not None
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
    async with asyncio.timeout(10):
        while book.problem is not None or book.unsaved:  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0.01)


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


async def eventually_said(book: Book, words: str) -> None:
    for _ in range(600):
        if words in (book.problem or ""):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(book.problem)


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
            await eventually_said(book, "appeared after the daemon had started")
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
        remove(path)  # and what is written anew cannot be opened at first
        opens = opening.open_or_rescue

        def fails(*_: object) -> None:
            raise JournalUnopenable("too many open files")

        monkeypatch.setattr(opening, "open_or_rescue", fails)
        book._journal._worker._mend_after_s = 0.0
        book.save()
        await eventually_said(book, "too many open files")
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
            await eventually_said(book, "appeared after the daemon had started")
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
