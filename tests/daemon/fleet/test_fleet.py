"""Discovery: what comes is followed, what went is let go, and what is no agent is named."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.records import Override
from adocd.daemon.change.guards.memory import worst_case_bytes
from adocd.daemon.fleet.config import Config
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.fleet.operators import Operators
from adocd.daemon.fleet.run import memory_budget_bytes
from adocd.model.policy import Policy
from adocd.model.process import GroupLimits
from adocd.probes import memory_limit, surroundings
from adocd.probes.block_device import storage_of
from adocd.probes.cgroup import Group
from adocd.targets import agent as agents
from tests.daemon.fleet.running import running
from tests.daemon.harness import loop_settings, open_book, overflowing, session_of, until
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase

#: What operators use, by the fleet of the test that runs.
operators: dict[Fleet, Operators] = {}
books: dict[Fleet, Book] = {}


def with_fleet(
    run_dir: Path, body: Callable[[Fleet], Awaitable[None]], policy: str = "fixed", *, dry_run: bool = False
) -> None:
    """Run the body beside a fleet that looks for agents."""

    async def run() -> None:
        async with running(run_dir, policy, dry_run=dry_run) as (fleet, book):
            operators[fleet], books[fleet] = Operators(fleet, book), book
            await body(fleet)

    asyncio.run(run())


def states(fleet: Fleet) -> dict[str, str]:
    return {Path(loop.path).name: loop.state for loop in fleet.loops.values()}


def test_several_databases_of_several_processes(tmp_path: Path) -> None:
    async def body(fleet: Fleet) -> None:
        with (
            FakeAgent(tmp_path, [FakeDatabase(tmp_path / "a"), FakeDatabase(tmp_path / "b")], pid=1) as first,
            FakeAgent(tmp_path, [FakeDatabase(tmp_path / "c")], pid=2),
        ):
            await until(lambda: states(fleet) == dict.fromkeys("abc", "attached"), "all are attached")
            first.remove(first.databases[0])
            await until(lambda: states(fleet)["a"] == "closed", "the closed one is let go")
            assert states(fleet)["b"] == "attached"

    with_fleet(tmp_path, body)


def test_a_program_started_again_is_followed_by_the_next_look_with_its_policy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body(fleet: Fleet) -> None:
        with FakeAgent(tmp_path, [overflowing(tmp_path / "db")], pid=1):
            await until(lambda: states(fleet) == {"db": "attached"}, "attached")
            (loop,) = fleet.loops.values()
            await loop.set_policy(Policy("adoc", dry_run=True))
        await until(lambda: states(fleet) == {"db": "closed"}, "closed")
        looks, discover = 0, fleet.discover

        async def counted() -> None:
            nonlocal looks
            looks += 1
            await discover()

        monkeypatch.setattr(fleet, "discover", counted)
        with FakeAgent(tmp_path, [overflowing(tmp_path / "db")], pid=2):
            looks = 0
            await until(lambda: states(fleet) == {"db": "attached"}, "attached again")
            assert looks <= 2, "the first of them had to find it; the second may have come meanwhile"
            assert loop.status.policy == Policy("adoc", dry_run=True)
            await until(lambda: loop.remembered.decisions.count > 0, "it is decided upon")

    with_fleet(tmp_path, body)


def test_a_dry_run_that_an_operator_lifted_does_not_come_back_when_the_database_opens_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adocd.daemon.fleet.fleet._FORGET_AFTER_S", 0.0)

    async def body(fleet: Fleet) -> None:
        async def open_once(pid: int) -> bool:
            """Whether it is a dry run before the operator sets another policy."""
            with FakeAgent(tmp_path, [overflowing(tmp_path / "db")], pid=pid):
                await until(lambda: states(fleet) == {"db": "attached"}, "attached")
                (loop,) = fleet.loops.values()
                was = loop.status.policy.dry_run
                if pid == 1:
                    await operators[fleet].set_policy(loop, Policy("adoc"), "tests")
                if pid == 2:
                    await operators[fleet].reset_policy(loop, "tests")
            await until(lambda: not fleet.loops, "forgotten")
            return was

        assert [await open_once(pid) for pid in (1, 2, 3)] == [True, False, True]

    with_fleet(tmp_path, body, "adoc", dry_run=True)


def test_a_law_that_fails_in_a_dry_run_or_was_set_before_it_lifts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def sets(fleet: Fleet) -> None:
        with FakeAgent(tmp_path, [overflowing(tmp_path / "db")], pid=1):
            await until(lambda: states(fleet) == {"db": "attached"}, "attached")
            (loop,) = fleet.loops.values()
            await operators[fleet].set_policy(loop, Policy("adoc"), "tests")

    with_fleet(tmp_path, sets)
    monkeypatch.setattr("adocd.daemon.fleet.fleet._FORGET_AFTER_S", 0.0)

    async def body(fleet: Fleet) -> None:
        for pid in (2, 3):
            with FakeAgent(tmp_path, [overflowing(tmp_path / "db")], pid=pid):
                await until(lambda: states(fleet) == {"db": "attached"}, "attached")
                (loop,) = fleet.loops.values()
                assert loop.status.policy == Policy("adoc", dry_run=True)
                loop._fall_back("a law failed")
                assert loop.status.policy == Policy("fixed", dry_run=True)
            await until(lambda: not fleet.loops, "forgotten")

    with_fleet(tmp_path, body, dry_run=True)


def test_a_policy_that_is_not_understood_lifts_no_dry_run(tmp_path: Path) -> None:
    """Pins act under the default policy, but a dry run sends nothing."""

    async def sets(fleet: Fleet) -> None:
        with FakeAgent(tmp_path, [overflowing(tmp_path / "db")], pid=1):
            await until(lambda: states(fleet) == {"db": "attached"}, "attached")
            (loop,) = fleet.loops.values()
            await books[fleet].set_policy(loop.id, loop.path, Policy("a law that was removed"), "tests")
            await books[fleet].pin(Override(None, None, "max_background_jobs", None, "3", None, "", "tests", 0.0))

    with_fleet(tmp_path, sets)
    database = overflowing(tmp_path / "db")

    async def body(fleet: Fleet) -> None:
        with FakeAgent(tmp_path, [database], pid=2):
            await until(lambda: states(fleet) == {"db": "attached"}, "attached")
            (loop,) = fleet.loops.values()
            assert "a law that was removed" in (loop.status.paused or "")
            await until(lambda: loop.status.looks > 3, "it is looked at")
            assert loop.status.policy == Policy("fixed", dry_run=True)
            assert len(books[fleet].overrides_of(loop.id)) == 1

    with_fleet(tmp_path, body, dry_run=True)
    assert database.executed == []


def test_a_socket_left_behind_is_removed(tmp_path: Path) -> None:
    left = tmp_path / "agent-4711.sock"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(left))

    async def body(fleet: Fleet) -> None:
        await until(lambda: not left.exists(), "the dead socket is removed")
        assert fleet.problems == {}

    with_fleet(tmp_path, body)


def test_the_socket_of_a_new_process_of_that_name_is_not_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In containers that share the directory, each program may have the pid of the one before it."""
    agent, drop = FakeAgent(tmp_path, [FakeDatabase(tmp_path / "db")], pid=1), Fleet._drop
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(agent.socket_path))
    started: list[FakeAgent] = []

    async def drop_and_start(fleet: Fleet, path: Path) -> None:
        await drop(fleet, path)
        if not started:
            started.append(agent)
            agent.start()

    async def body(fleet: Fleet) -> None:
        await until(lambda: states(fleet) == {"db": "attached"}, "the new one is followed")

    monkeypatch.setattr(Fleet, "_drop", drop_and_start)
    try:
        with_fleet(tmp_path, body)
    finally:
        agent.close()


def test_what_is_no_agent_is_named_and_the_others_are_served(tmp_path: Path) -> None:
    async def body(fleet: Fleet) -> None:
        with (
            FakeAgent(tmp_path, [FakeDatabase(tmp_path / "old")], pid=1, protocol="2.0") as old,
            FakeAgent(tmp_path, [FakeDatabase(tmp_path / "good")], pid=2),
        ):
            await until(lambda: states(fleet) == {"good": "attached"}, "the good one is attached")
            await until(lambda: str(old.socket_path) in fleet.problems, "the other is named")
            assert "speaks version 2.0" in fleet.problems[str(old.socket_path)]
        await until(lambda: fleet.problems == {}, "the problem is gone with the socket")

    with_fleet(tmp_path, body)


def test_stopping_restores_every_target(tmp_path: Path) -> None:
    databases = [overflowing(tmp_path / "a"), overflowing(tmp_path / "b")]

    def batches() -> set[str]:
        return {database.options.column_families["default"]["write_buffer_size"] for database in databases}

    async def body(fleet: Fleet) -> None:
        await until(lambda: batches() == {str(128 << 20)}, "both are tuned")

    with FakeAgent(tmp_path, databases):
        with_fleet(tmp_path, body, "adoc")
        assert batches() == {str(64 << 20)}


def test_a_database_that_comes_back_tuned_under_another_host_name_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Its id contains the host name, so that the journal's originals are not taken for its own."""
    database = overflowing(tmp_path / "db")

    async def body(fleet: Fleet) -> None:
        with FakeAgent(tmp_path, [database], pid=1, host="first-container"):
            await until(lambda: bool(books[fleet].due_at(database.path)), "it is tuned")
        await until(lambda: states(fleet) == {"db": "closed"}, "its container ends")
        (former,) = fleet.loops
        database.reopen(keep_options=True)
        caplog.clear()  # a change that the container's end cut off may have been logged with the same id
        with FakeAgent(tmp_path, [database], pid=2, host="second-container"):
            await until(lambda: former in caplog.text, "it is found")
        assert "write_buffer_size (default) was 67108864" in caplog.text

    with_fleet(tmp_path, body, "adoc")


def test_panic_pauses_what_is_there_and_what_comes(tmp_path: Path) -> None:
    async def body(fleet: Fleet) -> None:
        with FakeAgent(tmp_path, [overflowing(tmp_path / "a")], pid=1) as agent:
            await until(
                lambda: any(loop.status.detail and session_of(loop).held.current for loop in fleet.loops.values()),
                "control",
            )
            restored, failed = await operators[fleet].restore(None, "alice")
            assert (len(restored), failed) == (1, {})
            agent.add(overflowing(tmp_path / "b"))
            await until(lambda: states(fleet).get("b") == "attached", "another database opens")
            await until(
                lambda: all(loop.status.sentence.startswith("paused: alice restored") for loop in fleet.loops.values()),
                "both are paused",
            )

    with_fleet(tmp_path, body, "adoc")


def test_an_agent_that_hangs_delays_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where it is waited for without end."""
    monkeypatch.setattr(agents, "READ_TIMEOUT_S", 3600.0)

    async def body(fleet: Fleet) -> None:
        with FakeAgent(tmp_path, [FakeDatabase(tmp_path / "slow")], pid=1) as slow:
            slow.hang()
            await asyncio.sleep(0.6)  # longer than the discovery's period: it is being looked at
            with FakeAgent(tmp_path, [FakeDatabase(tmp_path / "quick")], pid=2):
                await until(lambda: states(fleet).get("quick") == "attached", "the other is attached")
            slow.resume()

    with_fleet(tmp_path, body)


def test_the_memory_budget_is_for_all_targets_together(tmp_path: Path) -> None:
    """Two databases of 2 x 64 MiB each in a budget of 320 MiB: one may grow to 2 x 128 MiB, not both."""
    databases = [overflowing(tmp_path / "a"), overflowing(tmp_path / "b")]
    for database in databases:
        database.measurements.column_families["default"]["rocksdb.cur-size-all-mem-tables"] = 32 << 20

    async def run() -> None:
        book = await open_book(tmp_path)
        policy = Policy("adoc", dry_run=True)
        fleet = Fleet(Config(), loop_settings(), tmp_path, book, policy=policy, memory_budget_bytes=320 << 20)
        discovery = asyncio.create_task(fleet.run())
        with FakeAgent(tmp_path, databases):
            await until(
                lambda: (
                    len(fleet.loops) == 2
                    and all(
                        sum(record.times for record in loop.remembered.decisions) > 1 for loop in fleet.loops.values()
                    )
                ),
                "decisions on both",
            )
            assert all(
                worst_case_bytes(loop.status.sample) == 128 << 20 for loop in fleet.loops.values() if loop.status.sample
            )
            for loop in fleet.loops.values():
                assert loop.remembered.decisions.last is not None
                assert "memory budget: 128 MiB x 2 for default would take the memtables to 384 MiB" in str(
                    loop.remembered.decisions.last.guards
                )
            discovery.cancel()
            await fleet.stop()
            await book.close()

    asyncio.run(run())


def test_two_databases_on_one_disk_are_told_what_each_may_count_on(tmp_path: Path) -> None:
    disks = storage_of(tmp_path).disks
    if not disks:
        pytest.skip(f"which disk holds {tmp_path} is not known here")

    async def body(fleet: Fleet) -> None:
        assert not fleet.settings.neighbours.sharing.is_on, "it is off unless the configuration switches it on"
        fleet.settings.neighbours.sharing.is_on = True
        with FakeAgent(tmp_path, [overflowing(tmp_path / "a"), overflowing(tmp_path / "b")]):
            await until(
                lambda: [loop.status.shared is not None for loop in fleet.loops.values()] == [True, True], "told"
            )
            for loop in fleet.loops.values():
                assert loop.status.sample is not None
                assert loop.status.sample.allowance is not None
                assert loop.status.sample.allowance.others == 1
                assert "shares its disks with 1 other database" in str(loop.status.shared)
            fleet.settings.neighbours.sharing.is_on = False
            await until(lambda: {loop.status.shared for loop in fleet.loops.values()} == {None}, "told nothing")

    with_fleet(tmp_path, body)


def test_the_default_budget_does_not_depend_on_what_the_daemon_itself_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unit limits the daemon to 2 GiB, and the databases run in other services."""
    service = tmp_path / "system.slice" / "adocd.service"
    service.mkdir(parents=True)
    (service / "memory.max").write_text(str(64 << 20))
    monkeypatch.setattr(memory_limit, "groups_of", lambda *_: (Group(True, (service, service.parent, tmp_path)),))
    assert memory_budget_bytes(Config()) == psutil.virtual_memory().total // 4
    (tmp_path / "memory.max").write_text(str(128 << 20))
    assert memory_budget_bytes(Config()) == 32 << 20


def test_a_container_with_less_memory_than_the_budget_binds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its limit is read again and again, for an operator may lower it while the database is open."""
    limits = GroupLimits(None, None, None, {}, ())
    monkeypatch.setattr(surroundings, "LIMITS_S", 0.0)
    monkeypatch.setattr(surroundings, "read_limits", lambda *_: limits)
    database = overflowing(tmp_path / "db")
    database.measurements.column_families["default"]["rocksdb.cur-size-all-mem-tables"] = 32 << 20

    async def body(fleet: Fleet) -> None:
        nonlocal limits
        with FakeAgent(tmp_path, [database]):
            await until(lambda: states(fleet) == {"db": "attached"}, "attached")
            (loop,) = fleet.loops.values()
            limits = replace(limits, memory_bytes=800 << 20)
            await until(lambda: loop.status.memory_limit_bytes == 800 << 20, "the new limit is seen")
            await loop.set_policy(Policy("adoc", dry_run=True))
            await until(lambda: loop.remembered.decisions.last is not None, "a decision")
            assert loop.remembered.decisions.last is not None
            assert "its process can have 800 MiB" in str(loop.remembered.decisions.last.guards)

    with_fleet(tmp_path, body)


def test_a_policy_that_this_version_does_not_know_pauses_its_target_until_it_is_reset(tmp_path: Path) -> None:
    """Another version of adocd has set it; the database is followed all the same, and what was left goes back."""

    async def body(fleet: Fleet) -> None:
        database = overflowing(tmp_path / "db")
        agent = FakeAgent(tmp_path, [database])
        await books[fleet].set_policy(agent.id_of(database), "/db", Policy("law-of-the-future", {"x": 1}), "ann")
        with agent:
            await until(lambda: states(fleet) == {"db": "attached"}, "attached")
            (loop,) = fleet.loops.values()
            await until(
                lambda: loop.status.sentence.startswith("paused: there is no controller 'law-of-the-future'"), "paused"
            )
            assert loop.status.policy.controller == "fixed", "nothing acts, even if somebody resumes it"
            assert await operators[fleet].reset_policy(loop, "alice")
            await until(lambda: loop.status.policy.controller == "adoc", "it goes on")

    with_fleet(tmp_path, body, policy="adoc")
