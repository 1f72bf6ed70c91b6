"""What is seen without the agent, where something goes wrong: it hangs, it fails, it comes too late."""

from __future__ import annotations

import asyncio
import os
import platform
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from adocd.daemon.watch import observation as observing
from adocd.daemon.watch.observation import Observation
from adocd.diagnosis.stalls import StallWatch
from adocd.model.capabilities import Capabilities
from adocd.model.database import AgentKind, Database, Info
from adocd.model.snapshot import Counters
from adocd.model.surroundings import Surroundings
from adocd.probes import workers
from adocd.probes.surroundings import SurroundingsProbe
from tests.builders import column_family, sample
from tests.daemon.harness import ADOC, Scene, overflowing, ticks, with_agent
from tests.probes.log.lines import event, line
from tests.support.waiting import PATIENCE_S


def info(pid: int) -> Info:
    agent = AgentKind("fake", "1")
    return Info("1.2", agent, "9.8.4", platform.node(), pid, "program", "user", Capabilities(), pid_here=pid)


def database(path: Path, log_name: str | None = "LOG") -> Database:
    return Database(
        "1", str(path), "identity", "session", 0.0, ("default",), Capabilities(),
        log_path=None if log_name is None else str(path / log_name),
    )  # fmt: skip


def log(*lines: bytes) -> bytes:
    """Write the beginning of a LOG of level INFO, half a minute old."""
    began_s = time.time() - 30
    started = event('"job": 1, "event": "recovery_finished"', began_s)
    return line("RocksDB version: 9.8.4", began_s) + started + b"".join(lines)


def observation(path: Path) -> Observation:
    return Observation(str(path), time.monotonic, time.time, asyncio.Semaphore(2))


@pytest.fixture
def hang(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Let looks hang as on a device that does not answer, until the event is set."""
    release, read = threading.Event(), SurroundingsProbe.read

    def hanging(probe: SurroundingsProbe, monotonic_s: float) -> Surroundings | None:
        if not release.is_set():
            release.wait(30)
        return read(probe, monotonic_s)

    monkeypatch.setattr(SurroundingsProbe, "read", hanging)
    yield release
    release.set()


async def measured(seen: Observation) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while seen.surroundings is None:
        assert time.monotonic() < deadline_s, "nothing is measured"
        await seen.look()
        await asyncio.sleep(0.05)


async def hanging(path: Path, hang: threading.Event) -> Observation:
    """Make one that has measured, and whose next look hangs."""
    seen = observation(path)
    hang.set()
    seen.opened(info(os.getpid()), database(path))
    await measured(seen)
    hang.clear()
    await seen.look()
    return seen


@pytest.mark.parametrize("is_seen", [True, False])
def test_a_container_with_the_name_of_this_host_is_not_taken_for_its_pid_1(tmp_path: Path, is_seen: bool) -> None:
    """On the host's network it has the host's name, and it calls itself 1."""
    pid_here = os.getpid() if is_seen else None

    async def body() -> None:
        seen = observation(tmp_path)
        seen.opened(replace(info(1), pid_here=pid_here), database(tmp_path))
        await measured(seen)
        assert seen.surroundings is not None
        process = seen.surroundings.process
        assert (None if process is None else process.pid) == pid_here

    asyncio.run(body())


def test_the_disks_are_those_of_the_paths_that_the_agent_tells(tmp_path: Path) -> None:
    wal_dir = str(tmp_path.resolve())

    async def body() -> None:
        seen = observation(tmp_path)
        seen.opened(info(os.getpid()), replace(database(tmp_path), data_paths=("/proc",)))
        await measured(seen)
        assert seen.surroundings is not None
        assert (seen.surroundings.data.path, seen.surroundings.data.filesystem) == ("/proc", "proc")
        assert seen.surroundings.wal is not None
        assert seen.surroundings.wal.path == wal_dir

    asyncio.run(body())


def test_looks_that_hang_hinder_nobody(tmp_path: Path, hang: threading.Event) -> None:
    async def body() -> None:
        seen = [observation(tmp_path) for _ in range(40)]
        for each in seen:
            each.opened(info(os.getpid()), database(tmp_path))
        await asyncio.gather(*(each.look() for each in seen))
        async with asyncio.timeout(60):  # they hang until the test is over
            assert await asyncio.to_thread(lambda: "done") == "done"
            assert (await seen[0].diagnosis())["around"] is None
        assert not hang.is_set()

    asyncio.run(body())


def test_a_look_that_comes_back_after_the_close_is_forgotten(tmp_path: Path, hang: threading.Event) -> None:
    async def body() -> None:
        stopped = "[WARN] [db/column_family.cc:1] [default] Stopping writes because we have 36 level-0 files"
        now_s = time.time()
        (tmp_path / "LOG").write_bytes(
            line("RocksDB version: 9.8.4", now_s - 30) + event('"job": 2, "event": "flush_started"', now_s - 20)
        )
        seen = await hanging(tmp_path, hang)
        with (tmp_path / "LOG").open("ab") as file:
            file.write(line(stopped, time.time()))
        seen.closed()
        hang.set()
        async with asyncio.timeout(PATIENCE_S):
            while (await seen.diagnosis())["events"].get("stall") != 1:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
        assert seen.surroundings is None
        assert seen.watch.now is None, "nobody would end a stall of a database that is closed"

    asyncio.run(body())


def test_what_took_too_long_is_no_rate(tmp_path: Path, hang: threading.Event) -> None:
    """The disks' counters are read some time after the look began: what they did in between is no second's."""

    async def body() -> None:
        seen = await hanging(tmp_path, hang)
        await asyncio.sleep(0.2)
        hang.set()
        await asyncio.sleep(0.3)
        assert seen.surroundings is None
        await seen.look()
        assert seen.surroundings is None
        await measured(seen)

    asyncio.run(body())


def test_what_was_seen_before_a_look_that_hangs_is_not_shown_as_new(tmp_path: Path, hang: threading.Event) -> None:
    async def body() -> None:
        seen = await hanging(tmp_path, hang)
        assert seen.surroundings is None
        await seen.look()
        assert seen.surroundings is None
        hang.set()
        await measured(seen)

    asyncio.run(body())


def test_a_look_for_which_there_is_no_thread_ends_no_observation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At a limit on the number of threads, for example of its cgroup."""

    def no_thread(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    async def body() -> None:
        seen = observation(tmp_path)
        seen.opened(info(os.getpid()), database(tmp_path))
        await measured(seen)
        with monkeypatch.context() as at_the_limit:
            at_the_limit.setattr(workers, "start", no_thread)
            await seen.look()
            assert seen.surroundings is None
        await measured(seen)

    asyncio.run(body())


def test_a_log_is_in_the_time_of_this_machine_until_it_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that is new has no line yet that tells; its first lines are hours away otherwise."""
    monkeypatch.setenv("TZ", "XYZ-5")
    time.tzset()
    try:
        (tmp_path / "LOG").write_bytes(line("RocksDB version: 9.8.4", time.time() + 5 * 3600))

        async def body() -> None:
            seen = observation(tmp_path)
            seen.opened(replace(info(os.getpid()), agent=AgentKind("directory", "1")), database(tmp_path))
            await seen.look()
            assert abs((await seen.diagnosis())["begin"] - time.time()) < 60

        asyncio.run(body())
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(("kind", "counts"), [("native", True), ("directory", False)])
def test_an_agents_counter_says_how_long_writers_waited_and_a_logs_is_of_its_last_dump(
    tmp_path: Path, kind: str, counts: bool
) -> None:
    (tmp_path / "LOG").write_bytes(log())

    async def body() -> None:
        seen = observation(tmp_path)
        seen.opened(replace(info(os.getpid()), agent=AgentKind(kind, "1")), database(tmp_path))
        await measured(seen)
        for waited_s in (2, 3):
            seen.sampled(sample(column_family(), counters=Counters(stall_micros=waited_s * 1_000_000)))
        found = await seen.diagnosis()
        assert found["source"] == "LOG"
        assert found["stall_s_by_rocksdb"] == (3.0 if counts else None)

    asyncio.run(body())


def test_with_an_agent_a_log_that_is_deleted_is_said_and_the_agent_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "LOG"
    path.write_bytes(log())

    async def body() -> None:
        seen = observation(tmp_path)
        seen.opened(info(os.getpid()), database(tmp_path))
        await measured(seen)
        content = path.read_bytes()
        path.unlink()
        for _ in range(2):
            await seen.look()
        seen.sampled(sample(column_family()))
        found = await seen.diagnosis()
        assert found["no_log"] == f"its LOG {path} is gone; RocksDB makes another when the database is opened anew"
        assert found["source"] == "agent"
        path.write_bytes(content)
        await seen.look()
        assert seen.no_log is None

    asyncio.run(body())


def test_a_program_with_a_logger_of_its_own_has_no_log(tmp_path: Path) -> None:
    """An agent names no LOG then: one in the database's directory is from before."""
    (tmp_path / "LOG").write_bytes(log())

    async def body() -> None:
        seen = observation(tmp_path)
        seen.opened(info(os.getpid()), database(tmp_path, None))
        await measured(seen)
        found = await seen.diagnosis()
        assert (found["log"], found["source"]) == (None, "agent")
        assert found["no_log"] == "the program has a logger of its own"
        assert found["events"] == {}
        seen.opened(info(os.getpid()), database(tmp_path))
        await seen.look()
        assert (await seen.diagnosis())["source"] == "LOG"

    asyncio.run(body())


def test_the_log_of_another_database_under_the_same_path_is_not_read(tmp_path: Path) -> None:
    """The agent's paths are those of its container."""
    (tmp_path / "LOG").write_bytes(log())
    (tmp_path / "IDENTITY").write_text("another\n")

    async def body() -> None:
        seen = observation(tmp_path)
        seen.opened(info(os.getpid()), database(tmp_path))
        await measured(seen)
        found = await seen.diagnosis()
        assert (found["events"], found["source"]) == ({}, "agent")
        assert found["no_log"] == (
            f"{tmp_path} is another database's directory here, as it can be where this one is in a container, so "
            f"{tmp_path}/LOG is not read"
        )
        assert seen.logged_before(time.time(), 10.0) is None
        (tmp_path / "IDENTITY").write_text("identity\n")
        await seen.look()
        assert ((await seen.diagnosis())["source"], seen.no_log) == ("LOG", None)

    asyncio.run(body())


@pytest.mark.parametrize(("kind", "source"), [("native", "agent"), ("directory", "LOG")])
def test_a_log_of_warnings_does_not_replace_an_agents_word(tmp_path: Path, kind: str, source: str) -> None:
    """At an info_log_level above INFO it has stalls without their ends."""
    stopped = "[WARN] [db/column_family.cc:1] [default] Stopping writes because we have 36 level-0 files"
    (tmp_path / "LOG").write_bytes(line("RocksDB version: 9.8.4", time.time() - 30) + line(stopped, time.time() - 20))

    async def body() -> None:
        seen = observation(tmp_path)
        seen.opened(replace(info(os.getpid()), agent=AgentKind(kind, "1")), database(tmp_path))
        await measured(seen)
        seen.sampled(sample(column_family()))
        found = await seen.diagnosis()
        assert (found["source"], found["now"]) == (source, None)
        assert (found["no_log"] or "").startswith("its LOG has no line of level INFO yet") is (source == "agent")
        assert seen.logged_before(time.time(), 10.0) is None
        with (tmp_path / "LOG").open("ab") as file:
            file.write(event('"job": 2, "event": "flush_started"', time.time() - 10))
        await seen.look()
        found = await seen.diagnosis()
        assert (found["source"], found["no_log"]) == ("LOG", None)
        assert found["stalled_s"] == pytest.approx(10, abs=1)

    asyncio.run(body())


def test_a_large_log_says_nothing_of_the_time_before_until_its_end_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is read from its beginning: what was read so far would be taken for a time without stalls."""
    monkeypatch.setattr(observing, "_LOG_BYTES_A_LOOK", 4096)
    stopped = "[WARN] [db/column_family.cc:1] [default] Stopping writes because we have 36 level-0 files"
    filler = event('"job": 1, "event": "flush_started"', time.time() - 25) * 100
    end = line(stopped, time.time() - 15) + event('"job": 2, "event": "flush_started"', time.time() - 5)
    (tmp_path / "LOG").write_bytes(log(filler, end))

    async def body() -> None:
        seen = observation(tmp_path)
        seen.opened(info(os.getpid()), database(tmp_path))
        await seen.look()
        assert seen.logged_before(time.time(), 20.0) is None
        assert (await seen.diagnosis())["is_reading"]
        for _ in range(10):
            await seen.look()
        assert not (await seen.diagnosis())["is_reading"]
        held = seen.logged_before(time.time(), 20.0)
        assert held is not None
        assert held.share == pytest.approx(0.5, abs=0.1)

    asyncio.run(body())


def test_what_jobs_wrote_is_known_at_the_time_of_a_stall(tmp_path: Path) -> None:
    (tmp_path / "LOG").write_bytes(log())

    async def body() -> None:
        seen = observation(tmp_path)
        seen.opened(info(os.getpid()), database(tmp_path))
        rates = {"flush_written_bytes_per_s": 3e6, "compaction_written_bytes_per_s": 4e6}
        seen.sampled(sample(column_family(), **rates))
        await measured(seen)
        around = seen._surrounded.between(0.0, time.time() + 1)
        assert around is not None
        assert around.jobs_write_bytes_per_s == 7e6
        seen.silent(2.0, may_be_stalled=True)
        before_s = time.time()
        await asyncio.sleep(0.01)
        await seen.look()
        around = seen._surrounded.between(before_s, time.time() + 1)
        assert around is not None
        assert around.jobs_write_bytes_per_s is None, "the agent has not told"

    asyncio.run(body())


def test_a_watch_that_fails_costs_no_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise ArithmeticError("a test")

    for name in ("sampled", "silent", "logged"):
        monkeypatch.setattr(StallWatch, name, fail)

    async def body(scene: Scene) -> None:
        loop = await scene.attach(ADOC)
        await ticks(loop, 3)
        assert loop.status.policy.controller == "adoc"
        assert loop.status.sample is not None
        loop._observation.silent(1.0, may_be_stalled=True)
        await loop._observation.look()

    with_agent(overflowing(tmp_path / "db"), tmp_path, body)
