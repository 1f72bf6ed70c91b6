"""What outlives the daemon: all comes back, times run by a clock that nobody sets, and restores need no journal."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adocd.daemon.book.book import Book
from adocd.daemon.book.journal import content
from adocd.daemon.book.journal.errors import JournalError
from adocd.daemon.book.journal.records import SENT_VALUES_KEPT, Pause
from adocd.model.policy import Policy, Shaping
from adocd.model.values import OptionName
from tests.daemon.book.journal.support import A, B, decision
from tests.daemon.book.runs import BATCH, JOBS, Time, in_two_runs, opened, override, pause

DAY_S = 86400.0
POLICY = Policy("adoc", {"threads_max": 8}, dry_run=True, shaping=Shaping(step_factor=2.0))


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
            os.unlink(path)
            os.mkdir(path)  # from here on nothing can be written
            await book.intend(A, "/db", "s1", {JOBS: "2"}.items(), {JOBS: "2"})
            with pytest.raises(JournalError, match="is a directory"):
                await book.intend(A, "/db", "s1", {JOBS: "4"}.items(), {JOBS: "2"})
            assert book.left(A) == {}
            assert book.problem is not None

    asyncio.run(run())


# -- time


def test_a_restore_of_many_options_is_one_commit(path: Path, time: Time, monkeypatch: pytest.MonkeyPatch) -> None:
    """One each would keep the changes of all other databases waiting."""
    options = [OptionName("column_family", "write_buffer_size", f"family-{n}") for n in range(900)]
    commits: list[int] = []
    settled = content.settled

    def counted(connection: sqlite3.Connection, target: str, originals: dict[OptionName, str | None]) -> int:
        commits.append(len(originals))
        return settled(connection, target, originals)

    monkeypatch.setattr(content, "settled", counted)

    async def run() -> None:
        async with opened(path, time) as book:
            await book.intend(A, "/a", "s1", dict.fromkeys(options, "2").items(), dict.fromkeys(options, "1"))
            book.forget(A, options[:-1])
            book.taken_over(A, options[-1], "3")
            await book.intend(B, "/b", "s1", {JOBS: "4"}.items(), {JOBS: "2"})
            assert sum(commits) == 900
            assert len(commits) <= 2, "the second has what came while the first was written"
            assert book._journal is not None
            assert [(t.target, t.original) for t in await book._journal.tuned()] == [(A, "3"), (B, "2")]

    asyncio.run(run())


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
