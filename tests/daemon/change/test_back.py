"""What a restore says is back has been read after its end, and compared."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adocd.daemon.change.back import PATIENCE_S, Unlike, restore, unlike
from adocd.daemon.change.panic import restore_to_leave
from adocd.daemon.control.target_loop import TargetLoop
from adocd.model.knob import MIB
from adocd.model.snapshot import Snapshot
from adocd.model.values import of_database, of_family, of_pool
from tests.daemon.change.test_ledger import Journaled
from tests.daemon.harness import (
    FIXED,
    Scene,
    options,
    pin,
    session_of,
    ticked_until,
    ticks,
    until,
    with_agent,
    write_buffer_size,
)
from tests.support.fake_database import FakeDatabase

SIZE, SLOWDOWN = of_family("default", "write_buffer_size"), of_family("default", "level0_slowdown_writes_trigger")
RATE, SYNC, POOL = of_database("delayed_write_rate"), of_database("bytes_per_sync"), of_pool("low")
OPENED_WITH = {SIZE: "64", SLOWDOWN: "20", RATE: "0", SYNC: "0", POOL: "1"}


async def with_small_memtables(scene: Scene, database: FakeDatabase) -> TargetLoop:
    """Attach a loop, and pin the memtables' size."""
    loop = await scene.attach(FIXED)
    await ticks(loop, 2)
    await pin(scene, "write_buffer_size", str(32 * MIB))
    await ticked_until(loop, lambda: write_buffer_size(database) == str(32 * MIB), "it is pinned")
    return loop


def test_what_cannot_be_set_to_its_original_and_what_grows_by_itself_is_no_difference() -> None:
    now = {SIZE: "64", SLOWDOWN: "20", RATE: str(16 * MIB), SYNC: str(1 << 62), POOL: "4"}
    assert unlike(now, OPENED_WITH, {}) == ()


def test_the_journal_knows_what_is_ours_and_where_it_led_from() -> None:
    now = OPENED_WITH | {SIZE: "128", SLOWDOWN: "30", POOL: "9"}
    left = {SIZE: Journaled("32", ("128",)), POOL: Journaled("1", ("9",))}
    assert unlike(now, OPENED_WITH, left) == (
        Unlike(str(SLOWDOWN), "30", "20", is_ours=False),
        Unlike(str(POOL), "9", "1", is_ours=True),
        Unlike(str(SIZE), "128", "32", is_ours=True),
    )
    assert {option.is_ours for option in unlike(now, OPENED_WITH, None)} == {None}, "without a journal nobody knows"


def test_a_plan_that_ends_without_a_value_is_not_believed(tmp_path: Path) -> None:
    """A step of the agent's fails for good: its plan is done, and the value is still there."""
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await with_small_memtables(scene, database)
        database.fail_next("column_family", "no space left on device")
        restored = await loop.revoke()
        assert restored.restore.state == "done"
        assert restored.unlike is not None
        assert [(option.option, option.is_ours) for option in restored.unlike] == [(str(SIZE), True)]

    with_agent(database, tmp_path, body)


def test_a_restore_that_waits_is_not_compared_and_not_waited_for(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        await pin(scene, "level0_stop_writes_trigger", "100")
        await ticks(loop, 3)
        database.measurements.column_families["default"]["rocksdb.num-files-at-level0"] = 60
        restored = await loop.revoke()
        assert restored.restore.state == "waiting"
        assert restored.unlike is None

    with_agent(database, tmp_path, body)


def test_an_agent_that_is_to_leave_has_longer_for_its_restore(tmp_path: Path) -> None:
    """Its SetOptions call takes longer than the two seconds for which everybody else waits."""
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        await with_small_memtables(scene, database)
        with database.hold_changes():
            restoring = asyncio.create_task(restore_to_leave(scene.agent.socket_path))
            await asyncio.sleep(PATIENCE_S + 0.5)
            assert not restoring.done()
        result = await restoring
        assert [restored["state"] for restored in result.restored.values()] == ["done"]
        assert list(result.unlike.values()) == [[]]

    with_agent(database, tmp_path, body)


def test_an_agent_that_is_to_leave_has_time_for_memtables_that_wait(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")
    memtables = database.measurements.column_families["default"]

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        await pin(scene, "max_write_buffer_number", "6")
        await ticked_until(loop, lambda: options(database)["max_write_buffer_number"] == "6", "it is pinned")
        memtables["rocksdb.num-immutable-mem-table"] = 2
        restoring = asyncio.create_task(restore_to_leave(scene.agent.socket_path))
        await until(lambda: database.keeper.restore()["state"] == "waiting", "the restore waits")
        assert options(database)["max_write_buffer_number"] == "6"
        await asyncio.sleep(0.2)
        assert not restoring.done()
        memtables["rocksdb.num-immutable-mem-table"] = 1
        result = await restoring
        assert [restored["state"] for restored in result.restored.values()] == ["done"]
        assert list(result.unlike.values()) == [[]]
        assert options(database)["max_write_buffer_number"] == "2"

    with_agent(database, tmp_path, body)


def test_a_restore_without_a_journal_compares_with_the_values_of_the_open(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        database.set_option("write_buffer_size", str(96 * MIB), "default")
        restored = await restore(session_of(loop).target, None)
        assert restored.restore.state == "none"
        assert restored.unlike is not None
        assert [(o.option, o.original, o.is_ours) for o in restored.unlike] == [(str(SIZE), str(64 * MIB), None)]

    with_agent(database, tmp_path, body)


def test_a_restore_that_ends_at_the_last_moment_is_compared_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        target = session_of(loop).target
        asked = target.snapshot

        async def late(since: int | None) -> Snapshot:
            await asyncio.sleep(1.2)
            monkeypatch.setattr(target, "snapshot", asked)
            return await asked(since)

        monkeypatch.setattr(target, "snapshot", late)
        assert (await restore(target, {}, patience_s=1.0)).unlike == ()

    with_agent(database, tmp_path, body)


def test_an_agent_that_cannot_be_read_is_not_said_to_be_back(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        database.sampling.clear()
        revoking = asyncio.create_task(loop.revoke())
        restored = await revoking
        assert restored.unlike is None, "what was read is from before the restore"
        database.sampling.set()

    with_agent(database, tmp_path, body)
