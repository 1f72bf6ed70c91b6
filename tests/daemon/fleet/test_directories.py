"""Directories in the fleet: what is observed by its directory until an agent comes, and again when it has gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from adocd.controllers import registry
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.directories import CLOSED
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.fleet.operators import CannotDo, Operators
from adocd.model.policy import Policy
from adocd.model.values import of_pool
from adocd.targets.directory import target as directory_target
from adocd.targets.directory.place import DirectoryPlace
from adocd.targets.directory.reading import DirectoryReading
from tests.daemon.fleet.running import running
from tests.daemon.harness import until
from tests.support.observed import TALKATIVE, db_bench, rocksdict_program

Body = Callable[[Fleet, Operators], Awaitable[None]]


def with_fleet(run_dir: Path, directories: tuple[Path, ...], body: Body, policy: str = "fixed") -> None:
    """Run the body beside a fleet that looks for agents, and into these directories."""

    async def run() -> None:
        async with running(run_dir, policy, directories) as (fleet, book):
            await body(fleet, Operators(fleet, book))

    asyncio.run(run())


def seen_by(fleet: Fleet) -> list[tuple[str, str]]:
    """Say of each target its state, and what it is seen by."""
    return [
        (loop.state, "" if loop.status.info is None else loop.status.info.agent.kind) for loop in fleet.loops.values()
    ]


async def sampled(fleet: Fleet) -> TargetLoop:
    await until(lambda: [loop.status.sample for loop in fleet.loops.values() if loop.status.sample] != [], "a sample")
    (loop,) = fleet.loops.values()
    return loop


def test_a_database_is_followed_whenever_it_is_open(tmp_path: Path, run_dir: Path) -> None:
    path, nowhere = tmp_path / "db", tmp_path / "nowhere"

    async def body(fleet: Fleet, _: Operators) -> None:
        await until(lambda: len(fleet.directories.problems) == 2, "nothing is there")
        assert fleet.directories.problems[str(nowhere)].startswith(f"{nowhere} is no directory")
        assert fleet.problems == {}
        with rocksdict_program() as program:
            program.ask("open_plain", path, *TALKATIVE)
            loop = await sampled(fleet)
            assert loop.status.info is not None
            assert (loop.state, loop.status.info.agent.kind, loop.status.info.pid) == (
                "attached",
                "directory",
                program.pid,
            )
            assert list(fleet.directories.problems) == [str(nowhere)]
            assert "fixed: writes normal" in loop.status.sentence
            program.ask("close", path)
            await until(lambda: loop.state == "closed", "it is closed")
            await until(lambda: loop.status.sentence == CLOSED, "it says so")
            program.ask("open_plain", path)
            await until(lambda: loop.state == "attached", "it is open again")
            program.process.kill()
            await until(lambda: loop.state == "closed", "it is closed again")
        assert len(fleet.loops) == 1

    with_fleet(run_dir, (path, nowhere), body)


def test_a_closed_database_is_a_target_too(tmp_path: Path, run_dir: Path) -> None:
    path = tmp_path / "db"
    with rocksdict_program() as program:
        program.ask("open_plain", path)

    async def body(fleet: Fleet, _: Operators) -> None:
        await until(lambda: seen_by(fleet) == [("closed", "")], "it is listed")
        (loop,) = fleet.loops.values()
        assert (loop.status.sentence, loop.path) == (CLOSED, str(path))

    with_fleet(run_dir, (path,), body)


def test_an_agent_has_precedence_and_the_target_stays_the_same(tmp_path: Path, run_dir: Path) -> None:
    path = tmp_path / "db"

    async def body(fleet: Fleet, operators: Operators) -> None:
        with rocksdict_program(run_dir) as program:
            program.ask("open_plain", path, *TALKATIVE)
            loop = await sampled(fleet)
            assert seen_by(fleet) == [("attached", "directory")]
            await operators.set_policy(loop, Policy("fixed"), "alice")
            program.ask("attach", path)
            await until(lambda: seen_by(fleet) == [("attached", "python")], "the agent has it")
            await until(
                lambda: loop.status.sample is not None and loop.status.sample.column_families[0].unknown == (),
                "it sees more",
            )
            assert list(fleet.loops.values()) == [loop]
            await asyncio.sleep(1.5)
            assert seen_by(fleet) == [("attached", "python")], "and keeps it"
            program.ask("detach", path)
            await until(lambda: seen_by(fleet) == [("attached", "directory")], "the directory has it again")
            await sampled(fleet)
            assert list(fleet.loops.values()) == [loop]
            program.ask("close", path)
            await until(lambda: loop.state == "closed", "it is closed")
        policy = operators.book.policy_of(loop.id)
        assert policy == Policy("fixed")

    with_fleet(run_dir, (path,), body)


def test_the_native_agent_has_precedence_too(tmp_path: Path, run_dir: Path, native_agent_library: Path) -> None:
    path = tmp_path / "db"

    async def body(fleet: Fleet, _: Operators) -> None:
        with db_bench(path, native_agent_library, run_dir):
            await until(lambda: ("attached", "native") in seen_by(fleet), "the agent has it")
            await asyncio.sleep(2)
            # db_bench destroys the database that it finds, and makes another one: a target that stays closed.
            last = list(fleet.loops.values())[-1]
            assert last.id == DirectoryPlace(path).look().id
            assert [state for state, _ in seen_by(fleet)].count("attached") == 1
            assert last.status.info is not None
            assert (last.state, last.status.info.agent.kind) == ("attached", "native")
        await until(lambda: last.state == "closed", "it is closed")
        await asyncio.sleep(1)
        assert last.state == "closed"

    with_fleet(run_dir, (path,), body)


def test_it_is_not_forgotten_while_its_directory_is_there(
    tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "db"
    with rocksdict_program() as program:
        program.ask("open_plain", path)
    monkeypatch.setattr("adocd.daemon.fleet.fleet._FORGET_AFTER_S", 0.0)

    async def body(fleet: Fleet, _: Operators) -> None:
        await until(lambda: len(fleet.loops) == 1, "it is listed")
        (loop,) = fleet.loops.values()
        await asyncio.sleep(1.5)
        assert list(fleet.loops.values()) == [loop]

    with_fleet(run_dir, (path,), body)


def test_a_log_that_is_deleted_leaves_no_stall_behind(tmp_path: Path, run_dir: Path) -> None:
    path = tmp_path / "db"

    async def body(fleet: Fleet, _: Operators) -> None:
        with db_bench(path):
            loop = await sampled(fleet)
            for _turn in range(150):
                if (await loop.diagnosis())["stalls"]:
                    break
                await asyncio.sleep(0.1)
            await until(lambda: loop.status.stall is not None, "writes are held up")
            (path / "LOG").unlink()
            gone = f"its LOG {path}/LOG is gone"
            await until(lambda: loop.status.sentence.startswith(gone), "the target says so")
            assert loop.status.stall is None
            assert loop.status.sample is None
            found = await loop.diagnosis()
            assert found["no_log"].startswith(gone)
            assert (found["source"], found["now"]) == ("LOG", None)
            assert found["stalls"], "what was seen before is still told"

    with_fleet(run_dir, (path,), body)


def test_a_law_that_acts_is_refused_and_one_that_was_there_waits(tmp_path: Path, run_dir: Path) -> None:
    path = tmp_path / "db"

    async def body(fleet: Fleet, operators: Operators) -> None:
        with rocksdict_program() as program:
            program.ask("open_plain", path, *TALKATIVE)
            loop = await sampled(fleet)
            why = "a directory is only observed: start the database's program by `adocd exec --`"
            assert why in (loop.out_of_reach(registry.create(Policy("adoc"))) or "")
            with pytest.raises(CannotDo, match=f"adoc cannot work on {path}: {why}"):
                await operators.set_policy(loop, Policy("adoc"), "alice")
            await until(lambda: loop.status.sentence.startswith(f"adoc cannot work here: {why}"), "the cycle says so")
            assert loop.remembered.decisions.count == 0
            restored, failed = await operators.restore(None, "alice")
            assert (restored, failed) == ({}, {})
            operators.resume(None, "alice")
            with pytest.raises(CannotDo, match=f"{path} has nothing to restore: {why}"):
                await operators.restore(loop, "alice")
            assert loop.status.paused is None

    with_fleet(run_dir, (path, tmp_path / "nowhere"), body, policy="adoc")


def test_what_an_agent_has_left_behind_stays_in_the_journal(tmp_path: Path, run_dir: Path) -> None:
    """A directory does not tell of thread pools: that they are not seen does not mean that they are back."""
    path = tmp_path / "db"

    async def body(fleet: Fleet, operators: Operators) -> None:
        with rocksdict_program() as program:
            program.ask("open_plain", path, *TALKATIVE)
            loop = await sampled(fleet)
            pool = of_pool("low")
            await operators.book.intend(loop.id, str(path), "s1", [(pool, "8")], {pool: "1"})
            sequence = 0 if loop.status.sample is None else loop.status.sample.sequence
            await until(
                lambda: loop.status.sample is not None and loop.status.sample.sequence > sequence + 3,
                "some more cycles",
            )
            assert [(o, tuned.original) for o, tuned in operators.book.left(loop.id).items()] == [(pool, "1")]

    with_fleet(run_dir, (path,), body)


def test_a_device_that_hangs_does_not_hold_up_the_end(
    tmp_path: Path, run_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, release, released = tmp_path / "db", threading.Event(), threading.Event()
    monkeypatch.setattr(directory_target, "_PATIENCE_S", 0.3)

    def hang(_: DirectoryReading) -> None:
        release.wait(600)
        released.set()

    async def body(fleet: Fleet, _: Operators) -> None:
        with rocksdict_program() as program:
            program.ask("open_plain", path, *TALKATIVE)
            loop = await sampled(fleet)
            monkeypatch.setattr(DirectoryReading, "read", hang)
            await until(lambda: loop.state == "silent", "it is silent")
            assert loop.status.sentence.startswith("the agent has been silent for")

    with_fleet(run_dir, (path,), body)
    assert not released.is_set(), "the end waited for the device"
    release.set()
