"""Requests that meet in front of a slow journal: memory and file agree in every order."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.journal import Journal
from adocd.daemon.book.journal.records import Override, Tuned
from adocd.model.values import OptionName
from tests.daemon.book.journal.support import A
from tests.daemon.book.runs import BATCH, JOBS, Time, in_two_runs, override, pause
from tests.daemon.book.slow import held, turns


@pytest.fixture(autouse=True)
def _answers_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the journal become slow only after an operator's request has seen it answer."""

    async def answered(journal: Journal) -> None:
        pass

    monkeypatch.setattr(Journal, "look", answered)


@pytest.mark.parametrize("removed", ["expired", "unpinned", "forgotten", "pinned by another"])
def test_a_pin_that_is_renewed_while_the_old_one_goes_is_in_the_journal(path: Path, time: Time, removed: str) -> None:
    async def first(book: Book) -> None:
        await book.pin(override(time, 60.0))
        time.pass_s(60.0)
        others: list[asyncio.Task[Any]] = []
        with held(book):
            renewed = asyncio.create_task(book.pin(override(time, 600.0)))
            await turns()
            if removed == "expired":
                assert len(book.expire()) == 1
            elif removed == "unpinned":
                assert book.unpin(A, "max_background_jobs", None)
            elif removed == "forgotten":
                others.append(asyncio.create_task(book.forget_target(A)))
            else:
                assert len(book.expire()) == 1
                others.append(asyncio.create_task(book.pin(override(time, 900.0))))
            await turns()
        await asyncio.gather(renewed, *others)
        left.append(book.overrides)
        assert bool(left[0]) == (removed != "forgotten"), "it was asked for last, and so has the last word"
        assert await in_the_file(path, book) == left[0]

    async def second(book: Book) -> None:
        assert book.overrides == left[0]

    left: list[tuple[Override, ...]] = []
    in_two_runs(path, time, first, second)


def test_a_pin_is_in_the_journal_though_another_came_and_went_before_it_was_written(path: Path, time: Time) -> None:
    async def first(book: Book) -> None:
        before = ExitStack()
        before.enter_context(held(book))
        other = asyncio.create_task(book.pin(override(time, 60.0)))
        await turns()
        with held(book):
            pinning = asyncio.create_task(book.pin(override(time, 600.0)))
            await turns()
            before.close()
            await other
            assert book.unpin(A, "max_background_jobs", None)
            await turns()
        await pinning
        await second(book)

    async def second(book: Book) -> None:
        assert book.overrides == (override(time, 600.0),)

    in_two_runs(path, time, first, second)


async def in_the_file(path: Path, book: Book) -> tuple[Override, ...]:
    """Read the journal as a daemon that is killed now leaves it."""
    assert book.path == path
    assert book._journal is not None
    return await book._journal.overrides()


@pytest.mark.parametrize("said", ["it is restored", "another is restored", "its owner has set it"])
def test_what_is_said_of_an_option_while_a_change_waits_for_the_journal_is_remembered_as_it_is_written(
    path: Path, time: Time, said: str
) -> None:
    """An original that the memory has and the journal lacks is lost if the daemon is killed after the change."""

    async def first(book: Book) -> None:
        await book.intend(A, "/db", "s1", {JOBS: "4", BATCH: "128"}.items(), {JOBS: "2", BATCH: "64"})
        with held(book):
            change = asyncio.create_task(book.intend(A, "/db", "s1", {JOBS: "8"}.items(), {JOBS: "2"}))
            await turns()
            if said == "its owner has set it":
                book.taken_over(A, JOBS, "3")
            else:
                book.forget(A, [JOBS if said == "it is restored" else BATCH])
            await turns()
        await change
        assert book.left(A)[JOBS].original == ("3" if said == "its owner has set it" else "2")
        assert book.left(A)[JOBS].is_newest("8")
        assert (BATCH in book.left(A)) == (said != "another is restored")
        assert book._journal is not None
        assert {tuned.option_name: tuned for tuned in await book._journal.tuned(A)} == book.left(A)
        left.update(book.left(A))

    async def second(book: Book) -> None:
        assert book.left(A) == left

    left: dict[OptionName, Tuned] = {}
    in_two_runs(path, time, first, second)


def test_a_change_of_options_that_are_known_is_announced_anew_when_one_is_forgotten_meanwhile(
    path: Path, time: Time
) -> None:
    async def first(book: Book) -> None:
        await book.intend(A, "/db", "s1", {JOBS: "4"}.items(), {JOBS: "2"})
        with held(book):
            both = {JOBS: "4", BATCH: "128"}
            change = asyncio.create_task(book.intend(A, "/db", "s1", both.items(), {JOBS: "2", BATCH: "64"}))
            await turns()
            book.forget(A, [JOBS])
            await turns()
        await change

    async def second(book: Book) -> None:
        assert {option: tuned.original for option, tuned in book.left(A).items()} == {JOBS: "2", BATCH: "64"}

    in_two_runs(path, time, first, second)


def test_a_restore_that_is_asked_for_while_a_target_is_forgotten_stays(path: Path, time: Time) -> None:
    async def first(book: Book) -> None:
        book.pauses.enter(pause(A))
        with held(book):
            forgetting = asyncio.create_task(book.forget_target(A))
            await turns()
            book.pauses.enter(pause(A, "restored"))
        await forgetting
        await second(book)

    async def second(book: Book) -> None:
        found = book.pauses.of(A)
        assert found is not None
        assert found.state == "restored"

    in_two_runs(path, time, first, second)
