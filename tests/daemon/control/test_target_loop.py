"""One target's loop against a fake agent: the fake makes situations that a real RocksDB would not make on demand."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import pytest

from adocd.controllers import registry
from adocd.controllers.adoc import Adoc
from adocd.daemon.control.target_loop import TargetLoop
from adocd.model.capabilities import Capabilities
from adocd.model.knob import MIB
from adocd.model.policy import Policy
from adocd.model.values import of_family
from tests.daemon.harness import (
    ADOC,
    FIXED,
    Scene,
    loop_settings,
    outcomes,
    overflowing,
    session_of,
    ticked_until,
    ticks,
    until,
    with_agent,
    write_buffer_size,
)
from tests.support.fake_changes import FakeCapabilities
from tests.support.fake_database import FakeDatabase


def test_fixed_watches_and_never_takes_a_lease(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("fixed"))
        sentences = await ticks(loop, 3)
        assert sentences[0] == "measuring"
        assert sentences[-1] == "fixed: 0 writes/s, writes normal, memory overflow"
        assert all(method == "GET" for method, _, _ in scene.agent.requests)
        assert len(loop.remembered.samples) == 2

    with_agent(database, tmp_path, body)


def test_adoc_turns_its_knobs_and_a_clean_stop_restores_them(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        sentences = await ticks(loop, 2)
        assert sentences[1] == (
            "adoc.memory: setting batch_size 128 MiB (default): memory overflow in column family default: "
            "2 immutable memtables, 0 memtable stalls in the window"
        )
        await until(lambda: outcomes(loop) == ["applied"], "the change is applied")
        assert write_buffer_size(database) == str(128 * MIB)
        await loop.stop()
        assert write_buffer_size(database) == str(64 * MIB)
        assert database.keeper.lease() is None

    with_agent(database, tmp_path, body)


def test_a_law_is_called_once_a_period_however_often_the_loop_ticks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Adoc, "period_s", 0.5)
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        began_s = time.monotonic()
        await ticks(loop, 14)  # 0.84 s, and longer on a busy machine
        periods = (time.monotonic() - began_s) / (0.5 * 0.9)  # a period may end a tenth early
        assert 1 <= loop.remembered.decisions.count <= periods
        await loop.stop()

    with_agent(database, tmp_path, body)


def test_dry_run_decides_and_sends_nothing(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("adoc", dry_run=True))
        sentences = await ticks(loop, 2)
        assert sentences[1].startswith("dry run: adoc.memory would set batch_size 128 MiB (default)")
        assert outcomes(loop) == ["dry-run"]
        assert all(method == "GET" for method, _, _ in scene.agent.requests)

    with_agent(database, tmp_path, body)


def test_anothers_lease_is_respected_and_its_holder_named(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        first = await scene.attach(ADOC, loop_settings(holder="adocd@first:1"))
        second = await scene.attach(ADOC, loop_settings(holder="adocd@second:2"))
        await ticks(first, 2)
        sentence = (await ticks(second, 2))[-1]
        assert "adocd@first:1" in sentence
        assert second.remembered.decisions.count == 0
        await first.stop()

    with_agent(database, tmp_path, body)


def test_a_revoked_lease_pauses_the_target_until_it_is_resumed(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "the change is applied")
        other = await scene.attach(Policy("fixed"))
        await ticks(other, 1)
        await other.revoke()
        sentence = (await ticks(loop, 1))[-1]
        assert sentence.startswith("paused: an operator revoked the lease")
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "the originals are back")
        await ticks(loop, 3)
        assert loop.remembered.decisions.count == 1
        assert scene.book.pauses.resume(loop.id, loop.path, "op")
        assert (await ticks(loop, 1))[-1].startswith("adoc")
        await loop.stop()

    with_agent(database, tmp_path, body)


def test_a_slow_change_blocks_neither_sampling_nor_the_lease(tmp_path: Path) -> None:
    """Under a stall SetOptions takes many seconds; the loop must not notice."""
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC, loop_settings(lease_ttl_s=4.0))
        with database.hold_changes():
            await ticks(loop, 2, in_flight=True)
            sentences = await ticks(loop, 80, in_flight=True)  # longer than the lease
            assert all(sentence.startswith("a change has been in flight for") for sentence in sentences)
            assert len(loop.remembered.samples) == 81
            assert outcomes(loop) == ["in-flight"]
            assert database.keeper.lease() is not None
        await until(lambda: outcomes(loop) == ["applied"], "the change is applied")
        await loop.stop()

    with_agent(database, tmp_path, body)


def test_a_database_that_closes_under_control_is_let_go_and_followed_again(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        first = session_of(loop)
        database.reopen()
        database.measurements.column_families["default"]["rocksdb.num-immutable-mem-table"] = 2
        sentences = await ticks(loop, 3)
        assert session_of(loop) is not first
        assert "measuring" in sentences
        await until(lambda: loop.remembered.decisions.count >= 2, "the new session is under control")
        await loop.stop()

    with_agent(database, tmp_path, body)


def test_a_process_that_ends_closes_the_target(tmp_path: Path) -> None:
    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        scene.agent.close()
        assert (await ticks(loop, 1))[-1] == "the database was closed"
        assert loop.state == "closed"

    with_agent(overflowing(tmp_path / "db"), tmp_path, body)


def test_column_families_that_come_are_controlled_and_restored_too(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    def index_batch() -> str:
        return database.options.column_families["index"]["write_buffer_size"]

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "the change is applied")
        database.add_column_family("index")
        database.measurements.column_families["index"]["rocksdb.num-immutable-mem-table"] = 2
        await ticks(loop, 2)
        await until(lambda: index_batch() == str(128 * MIB), "the new one is changed")
        await loop.stop()
        assert index_batch() == write_buffer_size(database) == str(64 * MIB)

    with_agent(database, tmp_path, body)


def overflowing_twice(tmp_path: Path) -> FakeDatabase:
    """A database with a second column family, index, whose memtables wait as well."""
    database = overflowing(tmp_path / "db")
    database.add_column_family("index")
    database.measurements.column_families["index"]["rocksdb.num-immutable-mem-table"] = 2
    return database


async def changed_in_both(scene: Scene, database: FakeDatabase) -> TargetLoop:
    """Let adoc change both column families; then nothing presses any more."""
    loop = await scene.attach(ADOC)
    await ticks(loop, 2)
    await until(lambda: outcomes(loop) == ["applied"], "both families are changed")
    database.measurements.column_families["default"]["rocksdb.num-immutable-mem-table"] = 0
    return loop


@pytest.mark.parametrize("reads_ids", [True, False])
def test_a_column_family_that_is_created_anew_is_another_and_nobody_is_blamed(tmp_path: Path, reads_ids: bool) -> None:
    """An agent that cannot read RocksDB's ids of column families leaves it open who it was."""
    database = overflowing_twice(tmp_path)
    measured = database.measurements
    if not reads_ids:
        measured.ids = {}

    async def body(scene: Scene) -> None:
        loop = await changed_in_both(scene, database)
        database.drop_column_family("index")
        database.add_column_family("index")
        if not reads_ids:
            measured.ids = {}
        (sentence,) = await ticks(loop, 1)
        left = {str(option) for option in scene.book.left(loop.id)}
        assert "write_buffer_size (default)" in left
        if reads_ids:
            assert "standing back" not in sentence
            assert loop.remembered.decisions.vitals.deviations.total() == 0
            assert "write_buffer_size (index)" not in left
            assert database.options.column_families["index"]["write_buffer_size"] == str(64 * MIB)
        else:
            (first, *_) = loop.remembered.decisions
            assert str(first.detail).endswith(", or dropped the column family and created it anew")
        assert write_buffer_size(database) == str(128 * MIB), "the other family's batch stays"

    with_agent(database, tmp_path, body)


def test_a_column_family_that_was_gone_for_some_time_is_not_given_what_the_law_wanted_of_its_namesake(
    tmp_path: Path,
) -> None:
    database = overflowing_twice(tmp_path)

    async def body(scene: Scene) -> None:
        loop = await changed_in_both(scene, database)
        database.drop_column_family("index")
        await ticks(loop, 2)
        assert {o.name for o in session_of(loop).steering.wanted if o.scope == "column_family"} == {"default"}
        sent = len(database.executed)
        database.add_column_family("index")
        await ticks(loop, 2)
        assert not [change for change in database.executed[sent:] if change.get("column_family") == "index"]
        assert database.options.column_families["index"]["write_buffer_size"] == str(64 * MIB)

    with_agent(database, tmp_path, body)


def test_a_column_family_whose_handle_comes_back_gets_its_original_back(tmp_path: Path) -> None:
    """While the program holds no handle the agent cannot see it, and forgets its original; its options stay tuned."""
    database = overflowing_twice(tmp_path)

    def index_batch() -> str:
        return database.options.column_families["index"]["write_buffer_size"]

    async def body(scene: Scene) -> None:
        loop = await changed_in_both(scene, database)
        database.lose_handle("index")
        await ticks(loop, 2)
        assert of_family("index", "write_buffer_size") in scene.book.left(loop.id)
        database.return_handle("index")
        assert index_batch() == str(128 * MIB)
        await ticked_until(loop, lambda: index_batch() == str(64 * MIB), "its original is back")

    with_agent(database, tmp_path, body)


@pytest.mark.parametrize("can_change", [False, True])
def test_only_who_can_change_a_database_can_tell_that_a_column_family_is_gone(
    tmp_path: Path, *, can_change: bool
) -> None:
    """Files from outside may not tell of all of them."""
    database = overflowing_twice(tmp_path)

    async def body(scene: Scene) -> None:
        loop = await changed_in_both(scene, database)
        attached = loop._attached
        assert attached is not None
        session, snapshot = attached.session, attached.snapshot
        assert session is not None
        assert snapshot is not None
        capabilities = session.detail.capabilities if can_change else Capabilities()
        detail = replace(session.detail, column_families=("default",), capabilities=capabilities)
        families = {"default": snapshot.column_families["default"]}
        attached._forget_families(session, detail, replace(snapshot, column_families=families))
        known = {option.name for option in scene.book.left(loop.id) if option.scope == "column_family"}
        assert ("index" in known) is not can_change

    with_agent(database, tmp_path, body)


@pytest.mark.parametrize(("applied", "outcome"), [(True, "applied-unpersisted"), (False, "rejected")])
def test_an_error_means_unknown_and_what_reads_back_decides(tmp_path: Path, applied: bool, outcome: str) -> None:
    database = overflowing(tmp_path / "db")
    database.fail_next("column_family", "IO error: No space left on device", applied=applied)

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == [outcome], outcome)
        (record,) = loop.remembered.decisions
        assert record.detail is not None
        assert "No space left" in record.detail
        await loop.stop()
        assert write_buffer_size(database) == str(64 * MIB)

    with_agent(database, tmp_path, body)


def test_a_delay_is_not_released_by_a_change_of_threads(tmp_path: Path) -> None:
    """Any SetDBOptions resets the adapted rate; so it carries the rate in force, and gives it back afterwards."""
    database = FakeDatabase(tmp_path / "db")
    l0 = database.measurements.column_families["default"]
    l0["rocksdb.num-files-at-level0"] = 25
    database.measurements.stall("delayed", delayed_rate_bytes_per_s=3 * MIB)

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "the change is applied")
        assert database.options.database["max_background_jobs"] == "4"
        assert database.options.database["delayed_write_rate"] == str(3 * MIB)
        l0["rocksdb.num-files-at-level0"] = 0
        database.measurements.stall("normal")
        await ticks(loop, 2)
        await until(lambda: outcomes(loop)[1:] == ["applied"], "the rate is given back")
        assert database.options.database["delayed_write_rate"] == database.originals.database["delayed_write_rate"]
        assert [record.rule for record in loop.remembered.decisions] == ["adoc.level0", "actuator.delayed_write_rate"]
        await loop.stop()

    with_agent(database, tmp_path, body)


def test_a_law_that_fails_harms_its_own_target_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    database = overflowing(tmp_path / "db")

    def fails(self: Adoc, sample: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Adoc, "step", fails)

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        running = asyncio.create_task(loop.run())
        await until(lambda: loop.status.policy == Policy("fixed"), "it falls back")
        await until(lambda: loop.status.sentence.startswith("fixed:"), "the loop goes on")
        running.cancel()
        await loop.stop()

    with_agent(database, tmp_path, body)
    assert "adoc failed: it raised ZeroDivisionError; the policy falls back to fixed" in caplog.text


def test_what_an_agent_does_to_a_rate_limiter_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    database = overflowing(tmp_path / "db")

    caplog.set_level("INFO")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 1)
        database.session.events.emit("limiter_woken", waiting=2, elapsed_s=3.2)
        database.session.events.emit("rate_limit_lifted", elapsed_s=0.6)
        await ticks(loop, 2)
        await loop.stop()

    with_agent(database, tmp_path, body)
    woken, lifted = [said for record in caplog.records if "rate limit" in (said := record.getMessage())]
    assert "granted nothing for 3 s while 2 requests waited, so the agent woke it" in woken
    assert "a change has waited for 0.6 s, so the rate limit is its owner's" in lifted


def test_a_reload_during_a_cycle_does_not_put_off_the_next_renewal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lease still has the old time, and the next cycle gives it the new one."""

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("fixed"), loop_settings(clock=lambda: 100.0))
        due: list[float] = []

        async def tick() -> str:
            loop.take_settings(replace(loop._settings, tick_s=60.0))
            return "reloaded meanwhile"

        async def rest(earliest_s: float, due_s: float) -> bool:
            due.append(due_s)
            loop._stopped = len(due) == 2
            return False

        old_s = loop._settings.tick_s
        monkeypatch.setattr(loop, "_tick_and_survive", tick)
        monkeypatch.setattr(loop, "_rest", rest)
        await loop.run()
        assert 100.0 < due[0] < 100.0 + 2 * old_s, "in the old time, and its phase"
        assert due[1] > 100.0 + 10 * old_s, "from then on it takes the new time"
        await loop.stop()

    with_agent(overflowing(tmp_path / "db"), tmp_path, body)


def test_an_agent_that_hangs_is_silent_and_not_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("fixed"))
        await ticks(loop, 2)
        scene.agent.hang()
        with monkeypatch.context() as impatient:
            impatient.setattr("adocd.targets.agent.READ_TIMEOUT_S", 0.2)
            assert (await ticks(loop, 1))[-1].startswith("the agent has been silent for")
        states = [loop.state]
        scene.agent.resume()
        assert (await ticks(loop, 1))[-1].startswith("fixed:")
        assert [*states, loop.state] == ["silent", "attached"]

    with_agent(database, tmp_path, body)


def test_a_policy_that_cannot_work_says_so_and_holds_no_lease(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db", database_options={"max_background_flushes": "2"})

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        sentence = (await ticks(loop, 2))[-1]
        assert sentence.startswith(
            "adoc cannot work here: max_background_jobs has no effect, because max_background_flushes"
        )
        assert database.keeper.lease() is None

    with_agent(database, tmp_path, body)


def test_threads_are_turned_by_the_pools_where_the_agent_can_do_no_more(tmp_path: Path) -> None:
    """As the Python agent: rocksdict has no SetDBOptions, and its pools start with what the program was opened with."""
    database = overflowing(tmp_path / "db", database_options={"max_background_jobs": "20"})
    database.options.thread_pools.update(low=15, high=5)
    database.originals.thread_pools.update(low=15, high=5)

    async def body(scene: Scene) -> None:
        scene.agent.capabilities = FakeCapabilities(
            database_options=(), rate_limiter=False, thread_pools=("low", "high")
        )
        loop = await scene.attach(Policy("adoc", {"tune_batch": False}))
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "the change is applied")
        assert database.options.thread_pools == {"low": 8, "high": 2, "bottom": 0}
        await loop.set_policy(Policy("fixed"))
        await ticks(loop, 1)
        await until(lambda: database.options.thread_pools["low"] == 15, "the originals are back")
        assert database.options.thread_pools["high"] == 5

    with_agent(database, tmp_path, body)


def test_setting_fixed_gives_the_options_back(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "the change is applied")
        await loop.set_policy(Policy("fixed"))
        await ticks(loop, 1)
        await until(lambda: write_buffer_size(database) == str(64 * MIB), "the originals are back")

    with_agent(database, tmp_path, body)


def test_a_bad_policy_changes_nothing(tmp_path: Path) -> None:
    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        with pytest.raises(registry.PolicyError):
            await loop.set_policy(Policy("adco"))
        assert loop.status.policy == ADOC

    with_agent(FakeDatabase(tmp_path / "db"), tmp_path, body)
