"""What is whose: the host's own options stay its own, an operator's restore holds, and a blind loop loses its lease."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adocd.controllers import registry
from adocd.daemon.book.journal.records import Pause
from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.control import owner
from adocd.daemon.control.steering import Steering
from adocd.daemon.control.target_loop import TargetLoop
from adocd.model.decision import Setting
from adocd.model.knob import MIB, Knob
from adocd.model.policy import Policy
from tests.daemon.harness import (
    FIXED,
    Scene,
    loop_settings,
    options,
    outcomes,
    overflowing,
    pin,
    ticked_until,
    ticks,
    until,
    with_agent,
    write_buffer_size,
)
from tests.daemon.laws import Theirs, decision
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import PATIENCE_S

ONE_STEP = Policy("adoc", {"batch_max_bytes": 128 * MIB})
SWITCH = "disable_auto_compactions"
SLOWDOWN = "level0_slowdown_writes_trigger"


def host_sets(database: FakeDatabase, option: str, value: str) -> None:
    database.set_option(option, value, "default")


def test_a_dead_daemon_does_not_bring_a_bulk_load_of_the_hosts_back(tmp_path: Path) -> None:
    """The host switches compaction off and on by itself, between a change of ours and our end."""
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ONE_STEP, loop_settings(lease_ttl_s=3.0))
        await ticks(loop, 1)
        host_sets(database, SWITCH, "true")
        await ticks(loop, 3)
        assert write_buffer_size(database) == str(128 * MIB)
        host_sets(database, SWITCH, "false")
        await ticks(loop, 2)
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "the lease expires and the agent restores")
        assert options(database)[SWITCH] == "false"

    with_agent(database, tmp_path, body)


def test_what_the_law_has_set_back_is_the_hosts_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The law turns compaction off and on; then the host does the same, around a bulk load, and nobody objects."""
    database = overflowing(tmp_path / "db")
    decided = [decision(Setting(Knob.AUTO_COMPACTION, on, "default")) for on in (0, 1)]

    class Turns(Theirs):
        knobs = frozenset({Knob.AUTO_COMPACTION})

        @staticmethod
        def decide() -> Any:
            return decided.pop(0) if decided else None

    monkeypatch.setitem(registry.LAWS, "theirs", Turns)

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("theirs"))
        await ticked_until(loop, lambda: outcomes(loop) == ["applied", "applied"], "the law has turned it off and on")
        assert options(database)[SWITCH] == "false"
        host_sets(database, SWITCH, "true")
        await ticks(loop, 6)
        assert options(database)[SWITCH] == "true", "the law had no wish left"
        host_sets(database, SWITCH, "false")
        await ticks(loop, 6)
        await loop.stop()
        assert options(database)[SWITCH] == "false", "and nothing brings the bulk load back"

    with_agent(database, tmp_path, body)


async def switched_off_and_on(
    scene: Scene, database: FakeDatabase, meanwhile: Callable[[], object] = lambda: None
) -> TargetLoop:
    """Attach a loop; an operator's pin turns compaction off, and ends."""
    loop = await scene.attach(Policy("adoc"))
    await ticks(loop, 2)
    await pin(scene, SWITCH, "true")
    await ticked_until(loop, lambda: options(database)[SWITCH] == "true", "it is pinned")
    meanwhile()
    await ticks(loop, 2)
    assert scene.book.unpin(None, SWITCH, None)
    await ticked_until(loop, lambda: options(database)[SWITCH] == "false", "it goes back")
    return loop


@pytest.mark.parametrize("end", ["another policy", "a stop"])
def test_a_value_that_we_once_sent_may_be_the_hosts_own(tmp_path: Path, end: str) -> None:
    """The host turns compaction off for a bulk load."""
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await switched_off_and_on(scene, database)
        host_sets(database, SWITCH, "true")
        await ticks(loop, 4)
        if end == "a stop":
            await loop.stop()
        else:
            await loop.set_policy(FIXED)
            await ticks(loop, 6)
        assert options(database)[SWITCH] == "true", "nobody ends the bulk load"

    with_agent(database, tmp_path, body)


def test_what_rocksdb_may_have_reverted_is_not_the_hosts(tmp_path: Path) -> None:
    """A compaction that began before the option went back ends after it, and what it began with shows again."""
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await switched_off_and_on(scene, database, meanwhile=lambda: database.jobs.begin("compaction"))
        host_sets(database, SWITCH, "true")
        await ticks(loop, 2)
        await loop.stop()
        assert options(database)[SWITCH] == "false"

    with_agent(database, tmp_path, body)


def test_what_adocd_has_not_touched_may_change_at_any_time(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        host_sets(database, SLOWDOWN, "25")
        await ticks(loop, 2)
        await loop.set_policy(ONE_STEP)
        await ticked_until(loop, lambda: write_buffer_size(database) == str(128 * MIB), "it is tuned")
        host_sets(database, SLOWDOWN, "30")
        await ticks(loop, 2)
        await loop.set_policy(FIXED)
        await ticks(loop, 2)
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "it is restored")
        assert options(database)[SLOWDOWN] == "30"

    with_agent(database, tmp_path, body)


def test_what_rocksdb_rejected_is_its_hosts_still(tmp_path: Path) -> None:
    """Otherwise adocd would put the original back over what the host sets later, and count growth that never came."""
    database = overflowing(tmp_path / "db")
    database.fail_next("column_family", "Invalid argument: no")

    async def body(scene: Scene) -> None:
        settings = loop_settings()
        loop = await scene.attach(ONE_STEP, settings)
        await ticked_until(loop, lambda: "rejected" in outcomes(loop), "it is rejected")
        database.measurements.column_families["default"]["rocksdb.num-immutable-mem-table"] = 0
        await ticks(loop, 2)
        assert settings.neighbours.memtables_beside("another") == 0, "it is idle, and has not grown"
        host_sets(database, "write_buffer_size", str(96 * MIB))
        await ticks(loop, 10)
        assert write_buffer_size(database) == str(96 * MIB)
        await loop.stop()
        assert write_buffer_size(database) == str(96 * MIB)

    with_agent(database, tmp_path, body)


def test_what_somebody_has_taken_over_stays_his_however_often_he_changes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "STAND_BACK_S", 0.2)
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ONE_STEP)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "it is tuned")
        database.measurements.column_families["default"]["rocksdb.num-immutable-mem-table"] = 0
        for mib in (96, 100, 101):
            host_sets(database, "write_buffer_size", str(mib * MIB))
            await ticks(loop, 6)
            assert write_buffer_size(database) == str(mib * MIB)
        await loop.stop()
        assert write_buffer_size(database) == str(101 * MIB), "the armed way back has followed him"

    with_agent(database, tmp_path, body)


def test_an_option_that_was_put_back_is_its_hosts_again(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("adoc"))
        await ticks(loop, 2)
        await pin(scene, SWITCH, "true")
        await ticks(loop, 3)
        assert options(database)[SWITCH] == "true"
        assert scene.book.unpin(None, SWITCH, None)
        await ticks(loop, 3)
        assert options(database)[SWITCH] == "false"
        host_sets(database, SWITCH, "true")
        await ticks(loop, 5)
        assert options(database)[SWITCH] == "true"

    with_agent(database, tmp_path, body)


def test_the_hosts_own_values_stay_while_the_agent_restores_ours(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")
    l0 = database.measurements.column_families["default"]

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        host_sets(database, "target_file_size_base", str(80 * MIB))
        await pin(scene, "level0_stop_writes_trigger", "100")
        await ticks(loop, 3)
        l0["rocksdb.num-files-at-level0"] = 60
        assert scene.book.unpin(None, "level0_stop_writes_trigger", None)
        await ticks(loop, 3)
        assert loop.status.snapshot is not None
        assert loop.status.snapshot.restore.state == "waiting"
        await pin(scene, "max_background_jobs", "6")
        await ticks(loop, 4)
        assert database.options.database["max_background_jobs"] == "6"
        assert options(database)["target_file_size_base"] == str(80 * MIB)
        assert options(database)["level0_stop_writes_trigger"] == "100", "60 files are there"
        l0["rocksdb.num-files-at-level0"] = 5
        await ticks(loop, 2)
        await until(lambda: options(database)["level0_stop_writes_trigger"] == "36", "it goes back")

    with_agent(database, tmp_path, body)


def test_a_pause_takes_nothing_of_a_restore_back(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        await pin(scene, "write_buffer_size", str(32 * MIB))
        await ticks(loop, 3)
        scene.book.pauses.enter(Pause(loop.id, loop.path, "restored", "bob restored", "bob", 0.0))
        await loop.revoke()
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "it is restored")
        for target in (None, loop.id):
            scene.book.pauses.enter(Pause(target, None, "paused", "carol paused", "carol", 0.0))
        sentence = (await ticks(loop, 4))[-1]
        assert sentence == "paused: bob restored"
        assert write_buffer_size(database) == str(64 * MIB)

    with_agent(database, tmp_path, body)


def test_a_loop_that_sees_nothing_new_loses_its_lease(tmp_path: Path) -> None:
    """Else compaction would stay off for as long as the agent's sampler is stuck."""
    database = FakeDatabase(tmp_path / "db")
    limits = CompactionLimits(off_s=3.0)

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED, loop_settings(compaction=limits, lease_ttl_s=3.0))
        await ticks(loop, 2)
        await pin(scene, SWITCH, "true")
        await ticks(loop, 3)
        assert options(database)[SWITCH] == "true"
        database.sampling.clear()
        deadline_s = time.monotonic() + PATIENCE_S
        while options(database)[SWITCH] == "true":
            assert time.monotonic() < deadline_s, "compaction stays off"
            sentence = (await ticks(loop, 1))[-1]
        assert sentence.startswith("no new measurement for")
        database.sampling.set()

    with_agent(database, tmp_path, body)


def test_a_loop_that_fails_in_every_cycle_loses_its_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ONE_STEP, loop_settings(lease_ttl_s=3.0))
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "it is tuned")

        def fails(self: Steering, sample: object) -> None:
            raise ZeroDivisionError

        with monkeypatch.context() as patched:
            patched.setattr(Steering, "observe", fails)
            running = asyncio.create_task(loop.run())
            await until(lambda: write_buffer_size(database) == str(64 * MIB), "the lease expires")
            assert loop.status.sentence.startswith("the cycle failed")
            running.cancel()

    with_agent(database, tmp_path, body)


def test_the_last_pin_counts_and_one_of_a_family_beats_one_of_all(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        await pin(scene, "write_buffer_size", str(32 * MIB), family="default")
        await pin(scene, "write_buffer_size", str(48 * MIB))
        await pin(scene, "write_buffer_size", str(40 * MIB), family="default")
        await ticks(loop, 4)
        assert write_buffer_size(database) == str(40 * MIB)

    with_agent(database, tmp_path, body)


def test_memtables_that_wait_for_their_flush_are_not_made_too_many(tmp_path: Path) -> None:
    """RocksDB stops writes when max_write_buffer_number memtables wait."""
    database = FakeDatabase(tmp_path / "db")
    memtables = database.measurements.column_families["default"]

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("adoc", {"tune_batch": False}))
        await ticks(loop, 2)
        await pin(scene, "max_write_buffer_number", "6")
        await ticked_until(loop, lambda: options(database)["max_write_buffer_number"] == "6", "it is pinned")
        memtables["rocksdb.num-immutable-mem-table"] = 5
        assert scene.book.unpin(None, "max_write_buffer_number", None)
        await ticks(loop, 4)
        assert options(database)["max_write_buffer_number"] == "6"
        memtables["rocksdb.num-immutable-mem-table"] = 1
        await ticked_until(loop, lambda: options(database)["max_write_buffer_number"] == "2", "it goes back")

    with_agent(database, tmp_path, body)
