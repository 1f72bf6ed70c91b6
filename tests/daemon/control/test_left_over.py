"""What a killed daemon or a killed database leaves tuned, and the journal that knows of it (HAZARDS 17)."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from adocd.daemon.book import book
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal import content
from adocd.daemon.book.journal.errors import JournalFull
from adocd.daemon.book.journal.records import Pause
from adocd.daemon.control.target_loop import TargetLoop
from adocd.model.knob import MIB
from adocd.model.policy import Policy
from tests.daemon.harness import (
    ADOC,
    FIXED,
    Scene,
    loop_settings,
    options,
    outcomes,
    overflowing,
    pin,
    rules,
    ticked_until,
    ticks,
    until,
    with_agent,
    write_buffer_size,
)
from tests.support.fake_database import FakeDatabase


async def tuned(scene: Scene) -> TargetLoop:
    """Attach a loop whose law has changed something."""
    loop = await scene.attach(ADOC)
    await ticks(loop, 2)
    await until(lambda: outcomes(loop) == ["applied"], "it is tuned")
    return loop


# -- what an earlier open left tuned (HAZARDS 17)


@pytest.mark.parametrize("policy", [FIXED, ADOC, Policy("adoc", dry_run=True)], ids=["fixed", "adoc", "dry-run"])
def test_values_that_an_earlier_open_left_tuned_are_put_back(tmp_path: Path, policy: Policy) -> None:
    """The host was killed while it was tuned, and loads its OPTIONS file."""
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await tuned(scene)
        database.reopen(keep_options=True)
        assert write_buffer_size(database) == str(128 * MIB)
        await loop.set_policy(policy)
        await ticks(loop, 4)
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "it is put back")
        assert rules(loop)[-1] == "actuator.put_back"
        if policy is FIXED:
            await ticks(loop, 3)
            assert database.keeper.lease() is None
            assert scene.book.left(loop.id) == {}

    with_agent(database, tmp_path, body)


def test_a_stop_right_after_an_open_puts_back_what_was_left_tuned(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await tuned(scene)
        database.reopen(keep_options=True)
        await loop.stop()
        assert write_buffer_size(database) == str(64 * MIB)
        assert scene.book.left(loop.id) == {}

    with_agent(database, tmp_path, body)


def test_a_stop_forgets_nothing_that_is_still_tuned(tmp_path: Path) -> None:
    """The put-back fails, so the next daemon has to find it."""
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await tuned(scene)
        database.reopen(keep_options=True)
        for _ in range(100):
            database.fail_next("column_family", "IO error: no")
        await loop.stop()
        assert write_buffer_size(database) == str(128 * MIB)
        assert "write_buffer_size" in {option.option for option in scene.book.left(loop.id)}

    with_agent(database, tmp_path, body)


@pytest.mark.parametrize("is_written", [True, False], ids=["in the OPTIONS file", "in no OPTIONS file"])
def test_what_is_back_in_no_options_file_may_come_up_tuned_and_is_not_forgotten(
    tmp_path: Path, is_written: bool
) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await tuned(scene)
        if not is_written:
            database.fail_next("column_family", "IO error: no OPTIONS file", applied=True)
        scene.book.pauses.enter(Pause(loop.id, loop.path, "restored", "bob restored", "bob", 0.0))
        await loop.revoke()
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "it is restored")
        await ticks(loop, 4)
        assert ("write_buffer_size" in {option.option for option in scene.book.left(loop.id)}) is not is_written

    with_agent(database, tmp_path, body)


def test_a_stop_does_not_wait_for_standing_back(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await tuned(scene)
        database.set_option("write_buffer_size", str(96 * MIB), "default")
        assert (await ticks(loop, 1))[-1].startswith("standing back")
        database.reopen(keep_options=True)
        await loop.stop()
        assert options(database)["target_file_size_base"] == str(64 * MIB)
        assert write_buffer_size(database) == str(96 * MIB)

    with_agent(database, tmp_path, body)


def test_what_somebody_has_changed_meanwhile_is_left_alone(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await tuned(scene)
        database.set_option("write_buffer_size", str(96 * MIB), "default")
        database.reopen(keep_options=True)
        await loop.set_policy(FIXED)
        await ticks(loop, 5)
        assert write_buffer_size(database) == str(96 * MIB)
        assert options(database)["target_file_size_base"] == str(64 * MIB)
        assert scene.book.left(loop.id) == {}

    with_agent(database, tmp_path, body)


def test_what_the_host_changes_by_itself_is_where_the_way_back_leads(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        database.set_option("write_buffer_size", str(96 * MIB), "default")
        await ticks(loop, 1)
        await loop.set_policy(ADOC)
        await ticks(loop, 2)
        await until(lambda: write_buffer_size(database) == str(160 * MIB), "it is tuned")
        await loop.stop()
        assert write_buffer_size(database) == str(96 * MIB)

    with_agent(database, tmp_path, body)


def test_what_the_way_back_has_set_meanwhile_is_put_back_too(tmp_path: Path) -> None:
    """The daemon dies while compaction is off, the agent raises the stop trigger, and then the host dies."""
    database = FakeDatabase(tmp_path / "db")
    l0 = database.measurements.column_families["default"]

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        await pin(scene, "disable_auto_compactions", "true")
        await ticks(loop, 2)
        await until(lambda: options(database)["disable_auto_compactions"] == "true", "compaction is off")
        l0["rocksdb.num-files-at-level0"] = 60
        database.keeper.release(None, None, restore=True, force=True)
        await until(
            lambda: options(database)["level0_stop_writes_trigger"] == str(1 << 30), "the stop is out of the way"
        )
        assert scene.book.unpin(None, "disable_auto_compactions", None)
        database.reopen(keep_options=True)
        await ticks(loop, 5)
        await until(lambda: options(database)["level0_stop_writes_trigger"] == "36", "it is put back")
        assert options(database)["hard_pending_compaction_bytes_limit"] == str(256 << 30)
        await ticks(loop, 3)
        assert scene.book.left(loop.id) == {}

    with_agent(database, tmp_path, body)


# -- the journal


def test_originals_are_durable_before_the_first_change(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")
    known: list[set[str]] = []

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        database.before_step = lambda *_: known.append({o.option for o in scene.book.left(loop.id)})
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "it is tuned")
        assert known == [{"write_buffer_size", "target_file_size_base", "max_bytes_for_level_base"}]
        await loop.stop()
        assert scene.book.left(loop.id) == {}

    with_agent(database, tmp_path, body)


def test_nothing_new_is_changed_while_the_journal_cannot_be_written_and_restores_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await tuned(scene)
        monkeypatch.setattr(Book, "problem", "the disk is full")
        sentences = await ticks(loop, 3)
        assert sentences[-1] == "nothing new is changed: the disk is full"
        assert loop.remembered.decisions.count == 1
        await loop.set_policy(FIXED)
        await ticks(loop, 2)
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "it goes back all the same")

    with_agent(database, tmp_path, body)


def test_a_journal_that_hangs_holds_up_no_restore(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its file system does not answer, for example NFS: a write neither succeeds nor fails."""
    database, answers, intend = overflowing(tmp_path / "db"), threading.Event(), content.intend

    def hanging(*args: Any) -> Any:
        answers.wait(60)
        return intend(*args)

    async def body(scene: Scene) -> None:
        loop = await tuned(scene)
        monkeypatch.setattr(book, "ANSWERS_WITHIN_S", 0.3)
        monkeypatch.setattr(content, "intend", hanging)
        await ticked_until(loop, lambda: outcomes(loop)[-1] == "refused", "a change has waited for the journal")
        assert scene.book.problem == f"the journal {scene.book.path} has not answered for 0.3 s"
        await loop.set_policy(FIXED)
        await ticked_until(loop, lambda: write_buffer_size(database) == str(64 * MIB), "it goes back all the same")
        answers.set()
        await until(lambda: scene.book.problem is None, "the journal can be written again")

    try:
        with_agent(database, tmp_path, body)
    finally:
        answers.set()


def test_a_decision_that_cannot_be_journaled_leaves_what_was_wanted_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await tuned(scene)

        async def full(*_: object) -> None:
            raise JournalFull("the disk is full")

        monkeypatch.setattr(Book, "intend", full)
        await ticks(loop, 4)
        assert "refused" in outcomes(loop)
        assert set(outcomes(loop)[1:]) <= {"refused", "in-flight"}
        assert all(record.rule == "adoc.memory" for record in loop.remembered.decisions)
        assert write_buffer_size(database) == str(128 * MIB), "nothing went back because of it"

    with_agent(database, tmp_path, body)


def test_a_new_daemon_finds_in_the_journal_what_the_one_before_left(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def first(scene: Scene) -> None:
        loop = await tuned(scene)
        loop._attached = None  # the daemon dies, and the database's process with it

    async def second(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 3)
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "it is put back")
        await ticks(loop, 3)
        assert scene.book.left(loop.id) == {}

    with_agent(database, tmp_path, first)
    database.reopen(keep_options=True)
    with_agent(database, tmp_path, second)


def test_a_pool_that_a_killed_daemon_left_tuned_is_no_neighbours_original(tmp_path: Path) -> None:
    """Two databases of one process have one pair of pools."""
    ours, beside = FakeDatabase(tmp_path / "ours"), FakeDatabase(tmp_path / "beside")
    pools = beside.options.thread_pools = ours.options.thread_pools
    for database in (ours, beside):
        database.originals.thread_pools["low"] = pools["low"] = 15

    async def body(scene: Scene) -> None:
        scene.agent.add(beside)
        killed = loop_settings(holder="adocd@old:1", lease_ttl_s=6.0)
        loop = await scene.attach(FIXED, killed, ours)
        await pin(scene, "thread_pool_low", "3", target=loop)
        await ticked_until(loop, lambda: pools["low"] == 3, "it is pinned")
        assert scene.book.unpin(loop.id, "thread_pool_low", None)
        settings = loop_settings()
        again, other = [await scene.attach(FIXED, settings, each) for each in (ours, beside)]
        await pin(scene, "thread_pool_low", "6", target=other)
        for _ in range(3):
            await ticks(other, 1)
            await ticks(again, 1)
        assert pools["low"] == 3, "the other one has to wait"
        await until(lambda: pools["low"] == 15, "the killed daemon's lease ends")
        await ticks(again, 3)
        await ticked_until(other, lambda: pools["low"] == 6, "now it is pinned")
        assert scene.book.unpin(other.id, "thread_pool_low", None)
        await ticked_until(other, lambda: pools["low"] == 15, "it goes back")

    with_agent(ours, tmp_path, body)
