"""The daemon stands still for longer than its lease: the agent restores, and nobody is blamed for what that sets."""

from __future__ import annotations

import asyncio
from pathlib import Path

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
    session_of,
    ticked_until,
    ticks,
    until,
    with_agent,
    write_buffer_size,
)
from tests.support.fake_database import FakeDatabase

SWITCH, STOP, HARD = "disable_auto_compactions", "level0_stop_writes_trigger", "hard_pending_compaction_bytes_limit"
#: What an operator pins, and what the options were.
PINS = {STOP: "100", HARD: str(200 << 30), SWITCH: "true"}
ORIGINALS = {STOP: "36", HARD: str(256 << 30), SWITCH: "false"}
OUT_OF_THE_WAY = {STOP: str(1 << 30), HARD: "0", SWITCH: "false"}
LEASE_TTL_S = 3.0
#: So many files that neither the stop trigger nor a restore step that waits for them goes down.
MANY_FILES = 50


def values(database: FakeDatabase) -> dict[str, str]:
    return {option: options(database)[option] for option in PINS}


async def pinned(scene: Scene, loop: TargetLoop, database: FakeDatabase) -> None:
    for option, value in PINS.items():
        await pin(scene, option, value)
    for _ in range(10):
        await ticks(loop, 1)
        if values(database) == PINS:
            return
    raise AssertionError(f"not pinned: {values(database)}")


async def lapsed(database: FakeDatabase) -> None:
    """Stand still until the agent has begun to restore, and waits for level 0."""
    await until(lambda: database.keeper.restore()["state"] == "waiting", "the lease expires and the restore waits")
    assert values(database) == OUT_OF_THE_WAY


def test_what_the_agent_sets_after_a_lapse_is_never_taken_for_somebody_elses(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")
    l0 = database.measurements.column_families["default"]

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED, loop_settings(lease_ttl_s=LEASE_TTL_S))
        await ticks(loop, 2)
        await pinned(scene, loop, database)
        l0["rocksdb.num-files-at-level0"] = MANY_FILES
        await lapsed(database)
        sentences = await ticks(loop, 6)
        assert not any("standing back" in sentence for sentence in sentences), sentences
        assert values(database) == PINS, "pins are in force again at once"
        left = scene.book.left(loop.id)
        assert {o.option: tuned.original for o, tuned in left.items()} == ORIGINALS
        assert not loop.remembered.vitals.deviations, "nobody is blamed"

        for option in PINS:
            assert scene.book.unpin(None, option, None)
        l0["rocksdb.num-files-at-level0"] = 2
        await ticks(loop, 6)
        await until(lambda: values(database) == ORIGINALS, "the originals are back")
        await ticks(loop, 3)
        assert scene.book.left(loop.id) == {}

    with_agent(database, tmp_path, body)


def test_a_policy_that_ends_during_the_agents_restore_leaves_nothing(tmp_path: Path) -> None:
    """The daemon has stood still, its pins are gone when it goes on, and level 0 holds the restore up."""
    database = FakeDatabase(tmp_path / "db")
    l0 = database.measurements.column_families["default"]

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED, loop_settings(lease_ttl_s=LEASE_TTL_S))
        await ticks(loop, 2)
        await pinned(scene, loop, database)
        l0["rocksdb.num-files-at-level0"] = MANY_FILES
        await lapsed(database)
        await ticks(loop, 1)
        for option in PINS:
            assert scene.book.unpin(None, option, None)
        await ticks(loop, 5)
        assert scene.book.left(loop.id), "what has not been seen back is not forgotten"
        l0["rocksdb.num-files-at-level0"] = 2
        await until(lambda: values(database) == ORIGINALS, "the originals are back")
        await ticks(loop, 3)
        assert scene.book.left(loop.id) == {}

    with_agent(database, tmp_path, body)


def test_a_change_that_ends_after_its_lease_is_no_way_back(tmp_path: Path) -> None:
    """Its restore step fails: the daemon must see that what it set is still there, though operators restored."""
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 1)
        with database.hold_changes():
            await ticks(loop, 1)
            await until(lambda: database.session.snapshot(None)["change_in_flight"], "the change is in flight")
            scene.book.pauses.enter(Pause(loop.id, loop.path, "restored", "bob restored", "bob", 0.0))
            revoking = asyncio.create_task(loop.revoke())
            await until(lambda: database.keeper.lease() is None, "the lease is revoked")
            database.fail_next("column_family", "no space left on device", applied=True)
            database.fail_next("column_family", "no space left on device")
        await revoking
        await until(lambda: outcomes(loop) == ["applied-unpersisted"], "the change ends after its lease")
        assert not session_of(loop).held.has_way_back
        await until(lambda: database.keeper.restore()["state"] == "done", "the agent is done")
        assert database.keeper.restore()["errors"]
        assert write_buffer_size(database) == str(128 * MIB), "the agent's step has failed"
        await ticks(loop, 4)
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "the daemon puts it back")

    with_agent(database, tmp_path, body)


def test_what_a_former_law_wanted_is_not_wanted_again(tmp_path: Path) -> None:
    """Its last change is answered after another law has been set, with an answer that takes the decision back."""
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "the first step is there")
        await asyncio.sleep(1.0)
        with database.hold_changes():
            await ticks(loop, 1)
            await until(lambda: database.session.snapshot(None)["change_in_flight"], "the second one is in flight")
            assert "write_buffer_size" in {o.option for o in session_of(loop).steering.wanted}
            await loop.set_policy(Policy("stability"))
            await session_of(loop).flight.abandon()
        await ticked_until(
            loop, lambda: write_buffer_size(database) == str(64 * MIB), "nobody wants ADOC's batch any more"
        )
        assert "write_buffer_size" not in {o.option for o in session_of(loop).steering.wanted}

    with_agent(database, tmp_path, body)
