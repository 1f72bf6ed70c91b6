"""A lease that a session knows nothing of, and looks from before: nothing of ours becomes an original."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from adocd.daemon.book.journal.records import Pause
from adocd.daemon.change.back import restore
from adocd.daemon.control import cycle
from adocd.daemon.control.target_loop import TargetLoop
from adocd.model.change import ColumnFamilyChange, RestoreStep
from adocd.model.knob import MIB
from adocd.model.snapshot import Lease, Restore, Snapshot
from adocd.model.values import of_family
from adocd.targets.agent import Agent, AgentTarget
from adocd.targets.errors import Silent, Unreachable
from tests.daemon.control.test_lapsed import MANY_FILES, ORIGINALS, PINS, pinned, values
from tests.daemon.harness import (
    ADOC,
    FIXED,
    Scene,
    loop_settings,
    options,
    overflowing,
    pin,
    session_of,
    ticked_until,
    ticks,
    until,
    with_agent,
    write_buffer_size,
)
from tests.support.fake_database import FakeDatabase

SIZE = of_family("default", "write_buffer_size")


async def attach_anew(scene: Scene, loop: TargetLoop) -> None:
    """Let one request fail as a broken connection does, and find the database again, as the fleet does."""

    async def broken(events_after: int | None) -> Snapshot:
        raise Unreachable("closed the connection before it had answered")

    session_of(loop).target.snapshot = broken  # type: ignore[method-assign]
    assert await ticks(loop, 1) == ["the database was closed"]
    client = Agent(scene.agent.socket_path)
    info, (database,) = await client.info(), await client.databases()
    loop.attach(client.target(database), info)
    await client.close()


def test_a_law_goes_on_from_the_originals_after_a_broken_connection(tmp_path: Path) -> None:
    """The lease lives on meanwhile; what was changed under it is not the owner's."""
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC, loop_settings(lease_ttl_s=3.0))
        await ticks(loop, 2)
        await until(lambda: write_buffer_size(database) == str(128 * MIB), "ADOC acts")
        await attach_anew(scene, loop)
        await ticks(loop, 20)
        assert session_of(loop).ledger.baseline[SIZE] == str(64 * MIB)
        assert session_of(loop).held.current is not None, "it acts again"
        await until(lambda: database.keeper.restore()["state"] == "done", "the daemon is gone for good")
        assert write_buffer_size(database) == str(64 * MIB)

    with_agent(database, tmp_path, body)


def test_a_lease_that_ends_between_the_look_and_the_request_is_not_taken_over(tmp_path: Path) -> None:
    """A daemon is killed, and the next one stands still just then: the agent has begun to restore."""
    database = FakeDatabase(tmp_path / "db")
    l0 = database.measurements.column_families["default"]

    async def body(scene: Scene) -> None:
        killed = await scene.attach(FIXED, loop_settings(lease_ttl_s=5.0))
        await ticks(killed, 2)
        await pinned(scene, killed, database)
        l0["rocksdb.num-files-at-level0"] = MANY_FILES
        await ticks(killed, 1)
        loop = await scene.attach(FIXED, loop_settings(holder="adocd@test:2"))
        assert "adocd@test:1 holds the lease" in (await ticks(loop, 2))[1]
        target = session_of(loop).target
        hold, asked = target.hold_lease, 0

        async def slow(holder: str, ttl_s: float, epoch: int | None) -> Lease:
            nonlocal asked
            asked += epoch is None
            if epoch is None and asked == 1:
                await until(lambda: database.keeper.restore()["state"] == "waiting", "the lease has ended")
            return await hold(holder, ttl_s, epoch)

        target.hold_lease = slow  # type: ignore[method-assign]
        await ticked_until(loop, lambda: asked > 0 and values(database) == PINS, "the pins are in force again")
        await pin(scene, "write_buffer_size", str(32 * MIB))
        await ticks(loop, 3)
        l0["rocksdb.num-files-at-level0"] = 2
        for option in PINS:
            assert scene.book.unpin(None, option, None)
        await ticked_until(loop, lambda: values(database) == ORIGINALS, "the originals are back")

    with_agent(database, tmp_path, body)


def test_a_panic_that_was_not_answered_and_then_resumed_begins_from_the_originals(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        await pinned(scene, loop, database)

        async def silent() -> Restore:
            raise Silent("did not answer DELETE within 2 s")

        session_of(loop).target.revoke_lease = silent  # type: ignore[method-assign]
        scene.book.pauses.enter(Pause(loop.id, loop.path, "restored", "bob restored", "bob", 0.0))
        with pytest.raises(Silent):
            await loop.revoke()
        scene.book.pauses.resume(loop.id, loop.path, "bob")
        await ticks(loop, 3)
        await pin(scene, "write_buffer_size", str(32 * MIB))
        await ticks(loop, 3)
        for option in PINS:
            assert scene.book.unpin(None, option, None)
        await ticked_until(loop, lambda: values(database) == ORIGINALS, "the originals are back")

    with_agent(database, tmp_path, body)


def test_a_panic_during_a_standstill_is_not_undone(tmp_path: Path) -> None:
    """The agents are told directly, and so much happens since that the event of it is lost; also after the lapse."""
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED, loop_settings(lease_ttl_s=3.0))
        await ticks(loop, 2)
        await pinned(scene, loop, database)
        await until(lambda: database.keeper.lease() is None, "the lease has lapsed")
        client = Agent(scene.agent.socket_path)
        (known,) = await client.databases()
        assert (await restore(client.target(known), None)).unlike == ()
        await client.close()
        for _ in range(1100):
            database.session.emit("flush_end", detail="a busy host")
        await ticks(loop, 4)
        assert values(database) == ORIGINALS
        assert loop.status.paused is not None

    with_agent(database, tmp_path, body)


def test_a_daemon_that_stood_still_since_its_look_looks_again(tmp_path: Path) -> None:
    """Its owner may have changed anything meanwhile."""
    database = FakeDatabase(tmp_path / "db")
    clock = time.monotonic
    stood_still_s = [0.0]

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED, loop_settings(clock=lambda: clock() + stood_still_s[0]))
        await ticks(loop, 2)
        target = session_of(loop).target
        look = target.snapshot

        async def then_stands_still(events_after: int | None) -> Snapshot:
            seen = await look(events_after)
            stood_still_s[0] += cycle.LOOK_IS_OLD_S + 1
            database.set_option("write_buffer_size", str(96 * MIB), "default")
            return seen

        await pin(scene, "write_buffer_size", str(32 * MIB))
        target.snapshot = then_stands_still  # type: ignore[method-assign]
        (sentence,) = await ticks(loop, 1)
        target.snapshot = look  # type: ignore[method-assign]
        assert "stood still" in sentence
        assert session_of(loop).held.current is None
        await ticks(loop, 3)
        await until(lambda: write_buffer_size(database) == str(32 * MIB), "the pin is in force")
        assert scene.book.left(loop.id)[SIZE].original == str(96 * MIB)

    with_agent(database, tmp_path, body)


def test_a_slow_renewal_makes_no_look_old(tmp_path: Path) -> None:
    """Else an agent that answers slowly keeps its lease, and nothing is done under it: no guard, and no pin's end."""
    database = FakeDatabase(tmp_path / "db")
    clock = time.monotonic
    took_s = [0.0]

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED, loop_settings(clock=lambda: clock() + took_s[0]))
        await pin(scene, "write_buffer_size", str(32 * MIB))
        await ticks(loop, 2)
        await until(lambda: write_buffer_size(database) == str(32 * MIB), "the pin is in force")
        target = session_of(loop).target
        hold = target.hold_lease

        async def slowly(holder: str, ttl_s: float, epoch: int | None) -> Lease:
            took_s[0] += cycle.LOOK_IS_OLD_S + 1
            return await hold(holder, ttl_s, epoch)

        target.hold_lease = slowly  # type: ignore[method-assign]
        await pin(scene, "write_buffer_size", str(48 * MIB))
        renewals = took_s[0]
        for _ in range(4):
            took_s[0] += 2.0  # a quarter of the lease has gone
            assert "stood still" not in (await ticks(loop, 1))[0]
        assert took_s[0] > renewals + 8.0 + cycle.LOOK_IS_OLD_S, "it was renewed"
        await until(lambda: write_buffer_size(database) == str(48 * MIB), "the new pin is in force")

    with_agent(database, tmp_path, body)


# -- whose value it is


def test_what_the_owner_changes_after_we_have_put_it_back_is_the_original(tmp_path: Path) -> None:
    """All under one lease; then we change it again, and the journal is all that is left."""
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        await pin(scene, "write_buffer_size", str(32 * MIB))
        await pinned(scene, loop, database)
        assert scene.book.unpin(None, "write_buffer_size", None)
        await ticked_until(loop, lambda: write_buffer_size(database) == str(64 * MIB), "it is put back")
        database.set_option("write_buffer_size", str(96 * MIB), "default")
        await ticks(loop, 2)
        await pin(scene, "write_buffer_size", str(32 * MIB))
        await ticked_until(loop, lambda: write_buffer_size(database) == str(32 * MIB), "it is changed again")
        assert scene.book.left(loop.id)[SIZE].original == str(96 * MIB)

    with_agent(database, tmp_path, body)


def test_a_family_that_went_and_came_back_under_one_lease_is_its_owners(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")
    database.add_column_family("index")

    def size() -> str:
        return database.options.column_families["index"]["write_buffer_size"]

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        await pin(scene, "write_buffer_size", str(32 * MIB))
        await ticked_until(loop, lambda: size() == str(32 * MIB), "it is pinned")
        database.drop_column_family("index")
        await ticks(loop, 2)
        database.add_column_family("index")
        database.set_option("write_buffer_size", str(32 * MIB), "index")  # as its owner wants it
        await ticks(loop, 3)
        assert scene.book.unpin(None, "write_buffer_size", None)
        await ticks(loop, 6)
        assert write_buffer_size(database) == str(64 * MIB)
        assert size() == str(32 * MIB)

    with_agent(database, tmp_path, body)


def test_a_former_value_of_ours_is_never_taken_for_the_owners(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        for mib in (32, 48):
            await pin(scene, "write_buffer_size", str(mib * MIB))
            await ticks(loop, 3)
        for _ in range(4):
            assert write_buffer_size(database) == str(48 * MIB)
            database.set_option("write_buffer_size", str(32 * MIB), "default")
            await ticks(loop, 3)
        assert scene.book.left(loop.id)[SIZE].original == str(64 * MIB)
        assert session_of(loop).ledger.baseline[SIZE] == str(64 * MIB)

    with_agent(database, tmp_path, body)


def test_a_look_that_began_before_a_change_ended_says_nothing_of_it(tmp_path: Path) -> None:
    """The agent reads options first, and then measures for a while."""
    database = FakeDatabase(tmp_path / "db")
    measure = database.measure

    def slowly() -> object:
        time.sleep(0.3)
        return measure()

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 4)
        database.measure = slowly  # type: ignore[method-assign, assignment]
        for n in range(6):
            await pin(scene, "write_buffer_size", str((32 + n) * MIB))
            await ticks(loop, 5, in_flight=True)
        assert loop.remembered.vitals.deviations.total() == 0
        assert scene.book.left(loop.id)[SIZE].original == str(64 * MIB)

    with_agent(database, tmp_path, body)


def test_what_was_read_before_a_restore_ended_is_not_compared(tmp_path: Path) -> None:
    """The sampler is stuck, and the caller stands still between the agent's answer and its own clock."""
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        target = session_of(loop).target
        assert isinstance(target, AgentTarget)
        await target.snapshot(None)
        database.sampling.clear()
        lease = await target.hold_lease("x", 10, None)
        there, back = ({"write_buffer_size": str(size * MIB)} for size in (32, 64))
        step = RestoreStep(ColumnFamilyChange("default", back))
        await target.change("x", lease.epoch, (ColumnFamilyChange("default", there),), (step,))
        database.fail_next("column_family", "no space left on device")
        look, seen_ended = target.snapshot, 0

        async def then_stands_still(events_after: int | None) -> Snapshot:
            nonlocal seen_ended
            seen = await look(events_after)
            seen_ended += seen.restore.state == "done"
            if seen_ended == 2:
                await asyncio.sleep(2.5)
            return seen

        target.snapshot = then_stands_still  # type: ignore[method-assign]
        restored = await restore(target, {})
        database.sampling.set()
        assert options(database)["write_buffer_size"] == str(32 * MIB)
        assert restored.unlike is None, "nothing was read after the restore"

    with_agent(database, tmp_path, body)
