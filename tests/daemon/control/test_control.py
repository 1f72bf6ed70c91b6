"""Cycles under the lease: what others do, what operators pin and pause, what guards force."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from adocd_agent.events import RING_EVENTS

from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.errors import JournalFull
from adocd.daemon.book.journal.records import Pause
from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.control import owner
from adocd.daemon.control.target_loop import TargetLoop
from adocd.model.knob import MIB
from adocd.model.policy import Policy, Shaping
from tests.daemon.harness import (
    ADOC,
    FIXED,
    Scene,
    landed,
    loop_settings,
    options,
    outcomes,
    overflowing,
    pin,
    rules,
    session_of,
    ticked_until,
    ticks,
    until,
    with_agent,
    write_buffer_size,
)
from tests.support.fake_database import FakeDatabase

# -- what others do (HAZARDS 2)


def test_somebody_elses_change_is_respected_and_the_law_starts_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, "STAND_BACK_S", 0.4)
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "it is tuned")
        database.set_option("write_buffer_size", str(96 * MIB), "default")
        sentence = (await ticks(loop, 1))[-1]
        assert sentence.startswith("standing back for")
        assert "write_buffer_size (default) is 100663296, not 134217728: somebody else changed it" in sentence
        assert outcomes(loop)[0] == "changed-by-someone-else"
        (size,) = (tuned for o, tuned in scene.book.left(loop.id).items() if o.option == "write_buffer_size")
        assert size.original == str(96 * MIB), "it is not forgotten: the way back leads to the new value"
        await asyncio.sleep(0.5)
        await ticked_until(loop, lambda: write_buffer_size(database) == str(160 * MIB), "the law goes on from there")
        await loop.stop()
        assert write_buffer_size(database) == str(96 * MIB)
        assert options(database)["target_file_size_base"] == str(64 * MIB)

    with_agent(database, tmp_path, body)


def test_what_the_judge_has_condemned_rests_although_somebody_else_changes_an_option(tmp_path: Path) -> None:
    """Around a bulk load, say; otherwise the condemned change could come back within a trial's length."""
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(replace(ADOC, shaping=Shaping(judge_s=30.0)))
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "it is tuned")
        law = session_of(loop).law
        database.set_option("write_buffer_size", str(96 * MIB), "default")
        assert (await ticks(loop, 1))[-1].startswith("standing back for")
        assert session_of(loop).law is not law
        assert session_of(loop).law.judge is law.judge

    with_agent(database, tmp_path, body)


@pytest.mark.parametrize(("before", "remembers"), [(FIXED, True), (ADOC, False)], ids=["fixed", "adoc"])
def test_a_judge_does_not_compare_a_law_with_another_whose_values_go_back(
    tmp_path: Path, before: Policy, *, remembers: bool
) -> None:
    """Else a law is blamed for the restore of what the one before it had achieved."""
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(before)
        await ticks(loop, 2)
        if before is ADOC:
            await until(lambda: outcomes(loop) == ["applied"], "it is tuned")
        await loop.set_policy(Policy("stability", shaping=Shaping(judge_s=30.0)))
        assert bool(session_of(loop).law.judge._seconds) == remembers

    with_agent(database, tmp_path, body)


def test_a_value_that_rocksdb_takes_back_is_sent_again(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")
    database.revert_after_s["write_buffer_size"] = 0.2

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("adoc", {"batch_max_bytes": 128 * MIB}))
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "it is tuned")
        await until(lambda: bool(database.read_options()) and write_buffer_size(database) == str(64 * MIB), "reverted")
        del database.revert_after_s["write_buffer_size"]
        database.measurements.column_families["default"]["rocksdb.num-immutable-mem-table"] = 0
        await ticks(loop, 3)
        await until(lambda: write_buffer_size(database) == str(128 * MIB), "it is sent again")
        assert outcomes(loop)[0] == "reverted-by-engine"
        assert rules(loop)[1] == "adoc.again"

    with_agent(database, tmp_path, body)


def in_force(database: FakeDatabase, option: str) -> str:
    return database.jobs.in_force["default"][option]


def test_a_change_that_is_silently_taken_back_is_sent_once_more(tmp_path: Path) -> None:
    """facebook/rocksdb#13294: the job that ends last has copied the options before they were changed."""
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        first, second = database.jobs.begin("flush"), database.jobs.begin("compaction")
        await pin(scene, "disable_auto_compactions", "true")
        await ticks(loop, 2)
        await until(lambda: in_force(database, "disable_auto_compactions") == "true", "compaction is off")
        await ticks(loop, 1)
        third = database.jobs.begin("flush")
        database.jobs.end(first)
        database.jobs.end(second)
        assert in_force(database, "disable_auto_compactions") == "false", "and nothing shows it"
        assert options(database)["disable_auto_compactions"] == "true"
        await ticks(loop, 2)
        await until(lambda: in_force(database, "disable_auto_compactions") == "true", "it is in force again")
        assert rules(loop) == ["operator.override", "actuator.repeat"]
        database.jobs.end(third)
        await ticks(loop, 4)
        assert loop.remembered.decisions.count == 2, "a job that began after the change takes nothing back"
        await loop.stop()
        assert options(database)["disable_auto_compactions"] == "false"

    with_agent(database, tmp_path, body)


async def _off(scene: Scene, database: FakeDatabase) -> TargetLoop:
    """Switch compaction off by a pin, and see it happen."""
    loop = await scene.attach(FIXED)
    await ticks(loop, 2)
    await pin(scene, "disable_auto_compactions", "true")
    await ticks(loop, 2)
    await until(lambda: in_force(database, "disable_auto_compactions") == "true", "compaction is off")
    await ticks(loop, 1)
    return loop


async def _is_off_again(loop: TargetLoop, database: FakeDatabase) -> None:
    assert in_force(database, "disable_auto_compactions") == "false", "it is taken back"
    await ticks(loop, 3)
    await until(lambda: in_force(database, "disable_auto_compactions") == "true", "it is in force again")
    assert rules(loop) == ["operator.override", "actuator.repeat"]


def test_a_job_that_began_before_the_daemon_came_takes_nothing_back_for_long(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        job = database.jobs.begin("compaction")
        loop = await _off(scene, database)
        database.jobs.end(job)
        await _is_off_again(loop, database)

    with_agent(database, tmp_path, body)


def test_an_event_that_comes_with_a_cached_snapshot_is_seen(tmp_path: Path) -> None:
    """The agent answers with what it measured before; what has happened since comes with it, and only then."""
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        job = database.jobs.begin("flush")
        loop = await _off(scene, database)
        database.sampling.clear()
        database.jobs.end(job)
        assert await loop.tick() == "measuring"
        assert loop.status.snapshot is not None
        assert [event.kind for event in loop.status.snapshot.events] == ["flush_end"]
        database.sampling.set()
        await _is_off_again(loop, database)

    with_agent(database, tmp_path, body)


def test_a_job_whose_end_was_lost_is_reckoned_with(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        job = database.jobs.begin("flush")
        loop = await _off(scene, database)
        database.jobs.end(job)
        for _ in range(RING_EVENTS):
            database.session.events.emit("background_error", reason="nothing", detail="nothing")
        await _is_off_again(loop, database)

    with_agent(database, tmp_path, body)


def test_a_flush_that_failed_holds_nothing_up(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        flush, compaction = database.jobs.begin("flush"), database.jobs.begin("compaction")
        await pin(scene, "disable_auto_compactions", "true")
        await ticks(loop, 2)
        await until(lambda: in_force(database, "disable_auto_compactions") == "true", "compaction is off")
        await ticks(loop, 1)
        database.jobs.end(compaction)
        database.jobs.fail(flush)
        await _is_off_again(loop, database)

    with_agent(database, tmp_path, body)


def test_a_repeat_that_could_not_be_sent_is_due_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def full(*_: object) -> None:
        raise JournalFull("the disk is full")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        flush = database.jobs.begin("flush")
        await pin(scene, "disable_auto_compactions", "true")
        await ticks(loop, 3)
        assert in_force(database, "disable_auto_compactions") == "true"
        with monkeypatch.context() as patched:
            patched.setattr(Book, "intend", full)
            database.jobs.end(flush)
            await ticks(loop, 1)
            await until(lambda: outcomes(loop)[-1] == "refused", "the repeat is not sent")
            assert in_force(database, "disable_auto_compactions") == "false"
        await ticks(loop, 2)
        await until(lambda: in_force(database, "disable_auto_compactions") == "true", "it is sent after all")

    with_agent(database, tmp_path, body)


def test_what_the_owner_sets_after_a_change_that_could_not_be_sent_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def full(*_: object) -> None:
        raise JournalFull("the disk is full")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await pin(scene, "write_buffer_size", str(32 * MIB))
        await ticks(loop, 2)
        await until(lambda: write_buffer_size(database) == str(32 * MIB), "the pin is in force")
        with monkeypatch.context() as patched:
            patched.setattr(Book, "intend", full)
            await pin(scene, "write_buffer_size", str(48 * MIB))
            await ticks(loop, 1)
            await until(lambda: outcomes(loop)[-1] == "refused", "the new pin is not sent")
        database.set_option("write_buffer_size", str(96 * MIB), "default")
        await ticks(loop, 3)
        assert "changed-by-someone-else" in outcomes(loop)
        assert write_buffer_size(database) == str(96 * MIB)

    with_agent(database, tmp_path, body)


def test_nothing_is_sent_twice_where_nothing_was_running(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        database.jobs.end(database.jobs.begin("flush"))
        await pin(scene, "write_buffer_size", str(32 * MIB))
        await ticks(loop, 3)
        database.jobs.end(database.jobs.begin("compaction"))
        await ticks(loop, 4)
        assert rules(loop) == ["operator.override"]

    with_agent(database, tmp_path, body)


def test_what_comes_after_a_step_that_was_not_persisted_is_sent_next(tmp_path: Path) -> None:
    """A step that fails stops the list, also when it took effect (HAZARDS 3)."""
    database = FakeDatabase(tmp_path / "db")
    database.fail_next("column_family", "IO error: No space left on device", applied=True)

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        await pin(scene, "write_buffer_size", str(32 * MIB))
        await pin(scene, "max_background_jobs", "6")
        await ticks(loop, 3)
        assert outcomes(loop)[0] == "applied-unpersisted"
        await until(lambda: database.options.database["max_background_jobs"] == "6", "the second comes next")
        assert write_buffer_size(database) == str(32 * MIB)

    with_agent(database, tmp_path, body)


def test_what_rocksdb_rejects_is_not_sent_again_at_once(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")
    database.fail_next("column_family", "Invalid argument: no")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        await pin(scene, "write_buffer_size", str(32 * MIB))
        await ticks(loop, 6)
        assert outcomes(loop) == ["rejected"]

    with_agent(database, tmp_path, body)


# -- overrides and pauses


def test_a_pin_beats_the_law_and_goes_when_its_time_has_come(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await pin(scene, "write_buffer_size", str(32 * MIB), for_s=0.4)
        await ticks(loop, 2)
        await until(lambda: write_buffer_size(database) == str(32 * MIB), "it is pinned")
        await ticks(loop, 5)
        assert options(database)["target_file_size_base"] == str(64 * MIB), "a pin takes the whole knob from the law"
        assert outcomes(loop) == ["refused", "applied", "refused"], "and the law's word is kept once"
        assert next(iter(loop.remembered.decisions)).guards == (
            "override: write_buffer_size (default) is pinned to 33554432",
        )
        await asyncio.sleep(0.4)
        assert [override.option for override in scene.book.expire()] == ["write_buffer_size"]
        await ticks(loop, 1)
        await until(lambda: int(write_buffer_size(database)) >= 96 * MIB, "the law has it again")

    with_agent(database, tmp_path, body)


def test_a_pin_acts_though_the_law_only_watches_and_its_end_leads_back(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        assert database.keeper.lease() is None
        await pin(scene, "level0_slowdown_writes_trigger", "30")
        await ticks(loop, 2)
        await until(lambda: options(database)["level0_slowdown_writes_trigger"] == "30", "it is pinned")
        assert scene.book.unpin(None, "level0_slowdown_writes_trigger", None)
        await ticks(loop, 2)
        await until(lambda: options(database)["level0_slowdown_writes_trigger"] == "20", "it is back")
        await ticks(loop, 2)
        assert database.keeper.lease() is None

    with_agent(database, tmp_path, body)


def test_a_guard_refuses_a_pin_with_its_reason(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED)
        await ticks(loop, 2)
        await pin(scene, "level0_slowdown_writes_trigger", "50")
        sentence = (await ticks(loop, 2))[-1]
        assert sentence.startswith("order: in column family default it must be that")
        assert options(database)["level0_slowdown_writes_trigger"] == "20"

    with_agent(database, tmp_path, body)


def test_what_is_added_to_an_idle_column_family_counts_against_the_others(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")

    async def body(scene: Scene) -> None:
        settings = loop_settings()
        loop = await scene.attach(FIXED, settings)
        await pin(scene, "write_buffer_size", str(128 * MIB), family="default")
        await ticked_until(loop, lambda: write_buffer_size(database) == str(128 * MIB), "it is pinned")
        await ticks(loop, 2)
        assert settings.neighbours.memtables_beside("another") == 2 * 64 * MIB

    with_agent(database, tmp_path, body)


def test_a_pause_stops_the_law_and_keeps_what_is_set(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "it is tuned")
        scene.book.pauses.enter(Pause(loop.id, loop.path, "paused", "alice looks", "alice", 0.0))
        sentences = await ticks(loop, 3)
        assert sentences[-1] == "paused: alice looks"
        assert loop.remembered.decisions.count == 1
        assert write_buffer_size(database) == str(128 * MIB)
        assert database.keeper.lease() is not None
        assert scene.book.pauses.resume(loop.id, loop.path, "alice")
        await ticks(loop, 2)  # the first begins a window: what was in the pause does not count
        await until(lambda: write_buffer_size(database) == str(192 * MIB), "it goes on from there")

    with_agent(database, tmp_path, body)


def test_a_dry_run_that_begins_in_a_pause_gives_back_what_the_law_had_set(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 2)
        await until(lambda: outcomes(loop) == ["applied"], "it is tuned")
        scene.book.pauses.enter(Pause(loop.id, loop.path, "paused", "alice looks", "alice", 0.0))
        await loop.set_policy(replace(ADOC, dry_run=True))
        await ticked_until(loop, lambda: write_buffer_size(database) == str(64 * MIB), "the original is back")
        await ticked_until(loop, lambda: database.keeper.lease() is None, "and the lease is given back")
        assert scene.book.pauses.of(loop.id) is not None

    with_agent(database, tmp_path, body)


def test_shaping_slows_a_law_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adocd.controllers.adoc.Adoc.period_s", 0.1)
    database = overflowing(tmp_path / "db")

    async def body(scene: Scene) -> None:
        loop = await scene.attach(Policy("adoc", shaping=Shaping(step_factor=1.5, pacing_s=60)))
        await ticks(loop, 8)
        first, *others = loop.remembered.decisions
        assert first.guards == ("step: batch_size 134217728 is more than 1.5 times 67108864",)
        assert write_buffer_size(database) == str(96 * MIB)
        assert others
        assert all(record.outcome == "refused" and "pacing: " in record.guards[0] for record in others)

    with_agent(database, tmp_path, body)


# -- compaction switched off (HAZARDS 8)


def test_compaction_goes_on_at_the_limit_and_its_return_is_staged(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")
    l0 = database.measurements.column_families["default"]
    limits = CompactionLimits(off_s=60, l0_files=50)

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED, loop_settings(compaction=limits))
        await ticks(loop, 2)
        await pin(scene, "disable_auto_compactions", "true")
        await ticks(loop, 2)
        await until(lambda: options(database)["disable_auto_compactions"] == "true", "compaction is off")
        l0["rocksdb.num-files-at-level0"] = 50
        await ticks(loop, 1)
        await until(lambda: options(database)["disable_auto_compactions"] == "false", "compaction goes on")
        await landed(loop)
        change = database.executed[-1]["options"]
        assert change["level0_stop_writes_trigger"] == str(1 << 30), "raised in the same call: writes must not stop"
        assert rules(loop)[-1] == "safety.compaction"
        await ticks(loop, 3)
        assert options(database)["level0_stop_writes_trigger"] == str(1 << 30), "not lowered over the files there are"
        l0["rocksdb.num-files-at-level0"] = 25
        await ticks(loop, 2)
        await until(lambda: options(database)["level0_stop_writes_trigger"] == "36", "it is lowered again")
        assert options(database)["disable_auto_compactions"] == "false", "level 0 has to drain first"
        l0["rocksdb.num-files-at-level0"] = 5
        await ticks(loop, 2)
        await until(lambda: options(database)["disable_auto_compactions"] == "true", "the pin has effect again")

    with_agent(database, tmp_path, body)


def test_compaction_goes_on_though_the_daemon_stands_back(tmp_path: Path) -> None:
    database = FakeDatabase(tmp_path / "db")
    l0 = database.measurements.column_families["default"]

    async def body(scene: Scene) -> None:
        loop = await scene.attach(FIXED, loop_settings(compaction=CompactionLimits(l0_files=50)))
        await ticks(loop, 2)
        await pin(scene, "disable_auto_compactions", "true")
        await pin(scene, "write_buffer_size", str(32 * MIB))
        await ticks(loop, 2)
        await until(lambda: options(database)["disable_auto_compactions"] == "true", "compaction is off")
        await landed(loop)
        database.set_option("write_buffer_size", str(96 * MIB), "default")
        assert (await ticks(loop, 1))[-1].startswith("standing back")
        l0["rocksdb.num-files-at-level0"] = 50
        await ticks(loop, 1)
        await until(lambda: options(database)["disable_auto_compactions"] == "false", "compaction goes on")
        assert write_buffer_size(database) == str(96 * MIB)

    with_agent(database, tmp_path, body)
