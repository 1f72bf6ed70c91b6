"""Laws in the loop of a database: what they set and give back, pins, limiters that move, and what they need."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from adocd.controllers import registry
from adocd.controllers.manual import Manual
from adocd.controllers.mimd import DRAINS
from adocd.controllers.tide.law import Tide
from adocd.daemon.control import owner
from adocd.model.knob import MIB
from adocd.model.policy import ParameterValue, Policy
from adocd.model.values import RATE_LIMITER
from tests.controllers.laws import MB
from tests.daemon.harness import (
    Scene,
    landed,
    loop_settings,
    options,
    overflowing,
    pin,
    rules,
    session_of,
    ticked_until,
    ticks,
    until,
    with_agent,
)
from tests.support.fake_changes import FakeCapabilities
from tests.support.fake_database import FakeDatabase

MIMD: dict[str, ParameterValue] = {"mimd.max_bytes_per_s": 400 * MB, "mimd.refill_period_ms": 1}


def limited(path: Path, rate: int = 150 * MB) -> FakeDatabase:
    """A database whose memtables overflow, with a limiter and its ticker."""
    database = FakeDatabase(path, rate_limiter_bytes_per_s=rate)
    database.measurements.column_families["default"]["rocksdb.num-immutable-mem-table"] = 2
    database.measurements.tickers = {DRAINS: 0}
    return database


def test_adoc_and_mimd_turn_a_database_together_and_give_it_back(tmp_path: Path) -> None:
    database = limited(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("adoc+mimd", {**MIMD, "adoc.batch_max_bytes": 128 * MIB}), loop_settings())
        await ticks(loop, 8)
        await until(lambda: options(database)["write_buffer_size"] == str(128 * MIB), "adoc turns the batch")
        assert database.options.rate_limiter_bytes_per_s in (200 * MB, 20 * MB)
        assert {"mimd.begin", "adoc.memory"} <= {rule for joined in rules(loop) for rule in joined.split("+")}
        await loop.stop()
        assert database.options.rate_limiter_bytes_per_s == 150 * MB
        assert options(database)["write_buffer_size"] == str(64 * MIB)

    with_agent(database, tmp_path, body)


def test_one_look_that_lacks_what_the_law_needs_takes_neither_the_lease_nor_its_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent for rocksdict reports no sizes of levels while a column family has many files."""
    monkeypatch.setattr(Tide, "period_s", 0.05)
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("tide"))
        await ticked_until(loop, lambda: options(database)["write_buffer_size"] == str(128 * MIB), "the flood is met")
        database.measurements.level_bytes["default"] = None
        sentence = (await ticks(loop, 3))[-1]
        assert "cannot work here" not in sentence
        database.measurements.level_bytes["default"] = [0] * 7
        await ticks(loop, 3)
        assert database.keeper.lease() is not None
        assert options(database)["write_buffer_size"] == str(128 * MIB)
        assert not [path for method, path, _ in scene.agent.requests if method == "DELETE" and "/lease" in path]
        await loop.stop()

    with_agent(database, tmp_path, body)


def test_a_law_that_declines_says_so_and_what_it_has_set_goes_back(tmp_path: Path) -> None:
    """RocksDB's own tuning moves the limiter: the law stops instead of fighting it."""
    database = limited(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("mimd", {"max_bytes_per_s": 400 * MB, "refill_period_ms": 1}))
        await ticks(loop, 3)
        await until(lambda: database.options.rate_limiter_bytes_per_s != 150 * MB, "it begins")
        await landed(loop)
        database.options.rate_limiter_bytes_per_s = 399 * MB
        for _ in range(6):
            sentence = (await ticks(loop, 1))[-1]
        assert sentence.startswith("mimd decides nothing: rate_limiter_bytes_per_s is 399000000, not ")
        assert "somebody else changed it, or the limiter's auto_tuned is on; open the database without it" in sentence
        turned = len(database.executed)
        database.options.rate_limiter_bytes_per_s = 99 * MB
        await ticks(loop, 4)
        assert len(database.executed) == turned, "what moves it now is left alone"

    with_agent(database, tmp_path, body)


def test_a_pin_on_the_limiter_is_ours_and_after_it_the_law_works_again(tmp_path: Path) -> None:
    database = limited(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("mimd", {"max_bytes_per_s": 400 * MB, "refill_period_ms": 1}))
        await ticks(loop, 3)
        await until(lambda: database.options.rate_limiter_bytes_per_s in (200 * MB, 20 * MB), "it begins")
        await pin(scene, "rate_limiter_bytes_per_s", str(50 * MB))
        for _ in range(6):
            sentence = (await ticks(loop, 1))[-1]
        assert database.options.rate_limiter_bytes_per_s == 50 * MB
        assert sentence.startswith("mimd decides nothing: an operator has pinned the limiter's rate"), sentence
        assert scene.book.unpin(None, "rate_limiter_bytes_per_s", None)
        turned = len(database.executed)
        await ticks(loop, 12)
        assert len(database.executed) > turned
        assert database.options.rate_limiter_bytes_per_s == 20 * MB, "nothing is ever drained"
        assert session_of(loop).law.declined is None

    with_agent(database, tmp_path, body)


def test_a_limiter_that_moves_by_itself_is_left_alone_whatever_else_moves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change by somebody else begins the law anew, in the same look or later: what moves it is still there."""
    monkeypatch.setattr(owner, "STAND_BACK_S", 0.2)
    database = limited(tmp_path / "db")
    given: dict[str, ParameterValue] = {**MIMD, "mimd.refill_period_ms": 1, "adoc.batch_max_bytes": 128 * MIB}

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("adoc+mimd", given))
        await ticks(loop, 8)
        await until(lambda: options(database)["write_buffer_size"] == str(128 * MIB), "adoc turns the batch")
        while database.options.rate_limiter_bytes_per_s != 20 * MB:  # where mimd stays: nothing is ever drained
            await ticks(loop, 1)
        await ticks(loop, 2)
        for moved in (96, 80):
            await landed(loop)
            database.options.rate_limiter_bytes_per_s = 399 * MB
            database.set_option("write_buffer_size", str(moved * MIB), "default")
            turned = options(database)["write_buffer_size"]
            sentence = (await ticks(loop, 1))[-1]
            assert sentence.startswith("standing back for"), sentence
            assert "write_buffer_size" in sentence
            await asyncio.sleep(0.3)
            while options(database)["write_buffer_size"] == turned:
                await ticks(loop, 1)
            await ticks(loop, 3)
            assert (session_of(loop).law.declined or "").startswith(
                "mimd decides nothing: rate_limiter_bytes_per_s is 399"
            )
            assert database.options.rate_limiter_bytes_per_s == 399 * MB

    with_agent(database, tmp_path, body)


def test_a_law_without_what_it_needs_is_refused_with_the_reason(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("mimd", {"max_bytes_per_s": 400 * MB}))
        sentence = (await ticks(loop, 3))[-1]
        assert sentence == (
            "mimd cannot work here: there is no rate limiter here that this agent can change, and none can be added "
            "later: open the database with one, or start its program by `adocd exec --rate-limiter BYTES_PER_S`"
        )
        assert database.executed == []

    with_agent(database, tmp_path, body)


def test_another_law_is_judged_by_what_will_be_there_once_this_one_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The toggle's old-style thread options make max_background_jobs dead, but only for as long as it turns them."""
    monkeypatch.setattr(Manual, "period_s", 0.05)
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("manual", {"flush_threads": 2, "compaction_threads": 3}))
        await ticks(loop, 3)
        await until(lambda: database.options.database["max_background_flushes"] == "2", "it is turned")
        await ticks(loop, 1)
        assert loop.out_of_reach(registry.create(Policy("adoc"))) is None

    with_agent(database, tmp_path, body)


def test_the_limiter_is_one_knob_of_the_process() -> None:
    assert str(RATE_LIMITER) == "rate_limiter_bytes_per_s"


@pytest.mark.parametrize("lifts", [True, False])
def test_a_limit_that_a_law_has_lowered_may_be_lifted_while_a_call_waits_and_a_pinned_one_may_not(
    tmp_path: Path, lifts: bool
) -> None:
    database = limited(tmp_path / "db")

    async def body(scene: Scene) -> None:
        def asked() -> list[bool | None]:
            return [body.get("lift_rate_limit") for method, _, body in scene.agent.requests if method == "PATCH"]

        scene.agent.capabilities = FakeCapabilities(lifts_rate_limit=lifts)
        loop = await scene.attach(Policy("mimd", {"max_bytes_per_s": 400 * MB, "refill_period_ms": 1}), loop_settings())
        await ticked_until(loop, lambda: database.options.rate_limiter_bytes_per_s == 20 * MB, "mimd holds it low")
        of_law = len(asked())
        await pin(scene, "rate_limiter_bytes_per_s", str(50 * MB))
        await ticked_until(loop, lambda: database.options.rate_limiter_bytes_per_s == 50 * MB, "its pin is set")
        await pin(scene, "write_buffer_size", str(128 * MIB))
        await ticked_until(loop, lambda: options(database)["write_buffer_size"] == str(128 * MIB), "the pin is set")
        assert 0 < of_law < len(asked())
        assert set(asked()[:of_law]) == {True if lifts else None}
        assert set(asked()[of_law:]) == {None}

    with_agent(database, tmp_path, body)


def test_a_lifted_limit_is_nobody_elses_though_the_answer_was_lost(tmp_path: Path) -> None:
    """The agent still executes the change, and lifts the limit meanwhile."""
    database = limited(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("mimd", {"max_bytes_per_s": 400 * MB, "refill_period_ms": 1}), loop_settings())
        await ticked_until(loop, lambda: database.options.rate_limiter_bytes_per_s == 20 * MB, "mimd holds it low")
        with database.hold_changes():
            await pin(scene, "write_buffer_size", str(128 * MIB))
            await ticked_until(loop, lambda: database.session.snapshot(None)["change_in_flight"], "the pin is sent")
            await session_of(loop).flight.abandon()
            database.options.rate_limiter_bytes_per_s = 150 * MB
            assert "the agent may still be executing a change whose answer was lost" in await ticks(
                loop, 4, in_flight=True
            )
            database.options.rate_limiter_bytes_per_s = 20 * MB
        await ticked_until(loop, lambda: options(database)["write_buffer_size"] == str(128 * MIB), "the pin is set")
        await ticks(loop, 3)
        assert session_of(loop).law.limited is None
        assert database.options.rate_limiter_bytes_per_s == 20 * MB

    with_agent(database, tmp_path, body)


def test_a_parameter_that_is_taken_out_of_a_policy_gives_its_option_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Manual, "period_s", 0.05)
    database = FakeDatabase(tmp_path / "db")

    def is_off() -> bool:
        return options(database)["disable_auto_compactions"] == "true"

    async def body(scene: Scene) -> None:
        both: dict[str, ParameterValue] = {"auto_compaction": False, "memtable_number": 4}
        loop = await scene.attach(Policy("manual", both))
        await ticked_until(loop, is_off, "compaction is off")
        await loop.set_policy(Policy("manual", {"memtable_number": 4}))
        await ticked_until(loop, lambda: not is_off(), "compaction is on again")
        assert options(database)["max_write_buffer_number"] == "4", "the other one stays"

    with_agent(database, tmp_path, body)
