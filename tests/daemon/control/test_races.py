"""What happens between two steps of the loop: an operator, another holder, a slow RocksDB."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adocd.controllers.adoc import Adoc
from adocd.model.knob import MIB
from adocd.model.policy import Policy
from tests.daemon.harness import ADOC, Scene, outcomes, overflowing, ticks, until, with_agent, write_buffer_size
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually


def test_a_lease_revoked_between_snapshot_and_renewal_still_pauses(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "the change is applied")

        def revoke_first(method: str, path: str, body: object) -> None:
            if method == "PUT":
                scene.agent.intercept = None
                database.keeper.release(None, None, restore=True, force=True)
                # Else the daemon may still see its values, and puts them back itself.
                eventually(lambda: write_buffer_size(database) == str(64 * MIB), what="the originals are back")

        scene.agent.intercept = revoke_first
        sentences = await ticks(loop, 2)
        assert "lease" in sentences[0]
        assert sentences[1].startswith("paused: an operator revoked the lease")
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "the originals are back")
        await ticks(loop, 2)
        assert loop.remembered.decisions.count == 1

    with_agent(database, tmp_path, body)


def test_a_column_family_that_goes_between_sample_and_change_takes_nothing_from_the_others(tmp_path: Path) -> None:
    """The agent refuses the whole change. RocksDB was not asked, so nothing waits a minute as if that had refused."""
    database = overflowing(tmp_path / "db")
    database.add_column_family("gone")
    database.measurements.column_families["gone"]["rocksdb.num-immutable-mem-table"] = 2

    async def body(scene: Scene) -> None:
        def drop_first(method: str, path: str, body: object) -> None:
            if method == "PATCH":
                scene.agent.intercept = None
                database.drop_column_family("gone")

        scene.agent.intercept = drop_first
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["failed"], "the change is refused")
        await ticks(loop, 3)
        await until(lambda: outcomes(loop)[-1] == "applied", "the other column family has its change")
        assert write_buffer_size(database) != str(64 * MIB)

    with_agent(database, tmp_path, body)


def test_a_policy_set_in_the_middle_of_a_cycle_waits_for_its_end(tmp_path: Path) -> None:
    """Otherwise the old law's decision could be sent after its operator had set a dry run."""
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("fixed"))
        await ticks(loop, 2)
        scene.agent.hang()
        tick = asyncio.create_task(loop.tick())
        await asyncio.sleep(0.05)
        setting = asyncio.create_task(loop.set_policy(ADOC))
        await asyncio.sleep(0.05)
        assert loop.status.policy == Policy("fixed")
        scene.agent.resume()
        assert (await tick).startswith("fixed")
        await setting
        assert loop.status.policy == ADOC

    with_agent(database, tmp_path, body)


def test_nothing_is_acquired_while_an_earlier_leases_change_is_in_flight(tmp_path: Path) -> None:
    """What that change will have touched is not known yet, so no plan could lead back from it."""
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        with database.hold_changes():
            await ticks(loop, 2, in_flight=True)
            await until(lambda: database.session.snapshot(None)["change_in_flight"], "a change is in flight")
            await loop.set_policy(Policy("fixed"))
            await ticks(loop, 1, in_flight=True)
            await loop.set_policy(ADOC)
            sentence = (await ticks(loop, 2, in_flight=True))[-1]
            assert "still in flight" in sentence
            assert database.keeper.lease() is None
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "the originals are back")
        await ticks(loop, 3)
        await until(lambda: outcomes(loop)[-1] == "applied", "control goes on")

    with_agent(database, tmp_path, body)


def test_the_law_sees_all_of_its_window_however_often_the_loop_ticks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Adoc, "period_s", 0.5)
    database = FakeDatabase(tmp_path / "db")
    counts = database.measurements.stall_counts["default"]
    assert counts is not None

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("adoc", dry_run=True))
        await ticks(loop, 3)
        counts["memtable_stops"] += 1
        await ticks(loop, 9)  # the stop is long over when the law's period has passed
        assert [record.rule for record in loop.remembered.decisions] == ["adoc.memory"]

    with_agent(database, tmp_path, body)


def test_the_brake_is_released_though_the_law_goes_on_deciding(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")
    l0 = database.measurements.column_families["default"]
    l0["rocksdb.num-files-at-level0"] = 25
    database.measurements.stall("delayed", delayed_rate_bytes_per_s=3 * MIB)

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: database.options.database["delayed_write_rate"] == str(3 * MIB), "the rate is carried")
        l0["rocksdb.num-files-at-level0"] = 0
        database.measurements.stall("normal")
        await ticks(loop, 3)
        await until(lambda: database.options.database["delayed_write_rate"] == str(16 * MIB), "the rate is given back")

    with_agent(database, tmp_path, body)
