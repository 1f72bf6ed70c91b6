"""Reaching an agent: what is one, what is none, and one clear sentence for each way it can go wrong."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from adocd.model.change import ColumnFamilyChange, RestoreStep
from adocd.model.database import Info
from adocd.model.snapshot import HistogramTotals, Snapshot
from adocd.targets.agent import Agent
from adocd.targets.errors import Closed, Dead, NotAnAgent, Refused, Silent, TargetError, Unreachable, WrongVersion
from adocd.targets.http import UnixHttpConnection
from tests.daemon.harness import until
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import PATIENCE_S


def ask(path: Path) -> object:
    async def run() -> object:
        agent = Agent(path)
        try:
            return await agent.info()
        finally:
            await agent.close()

    return asyncio.run(run())


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(tmp_path / "agent-1.sock"))
        bound.listen()
        yield bound


def answering(listener: socket.socket, content: bytes) -> threading.Thread:
    """Answer the next connection with these bytes, whatever it asks, and close it."""

    def answer() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(content)

    thread = threading.Thread(target=answer)
    thread.start()
    return thread


def test_a_socket_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "agent-1.sock"
    with pytest.raises(Unreachable, match=rf"^nothing answers at {path}: No such file or directory$"):
        ask(path)


def test_a_socket_whose_process_has_ended(tmp_path: Path) -> None:
    path = tmp_path / "agent-1.sock"
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))
    with pytest.raises(Dead, match="its process has ended"):
        ask(path)


def test_an_agent_of_another_major_version(tmp_path: Path) -> None:
    with FakeAgent(tmp_path, protocol="2.0") as agent, pytest.raises(WrongVersion) as error:
        ask(agent.socket_path)
    assert "speaks version 2.0 of the admin protocol and this adocd 1: install matching versions" in str(error.value)


def test_a_newer_minor_version_is_welcome(tmp_path: Path) -> None:
    with FakeAgent(tmp_path, protocol="1.9") as agent:
        ask(agent.socket_path)


def test_the_kernel_says_which_process_answers_here(tmp_path: Path) -> None:
    """An agent knows its pid in its own container, where it may well be 1, and could claim any other."""
    with FakeAgent(tmp_path, pid=1) as agent:
        info = ask(agent.socket_path)
    assert isinstance(info, Info)
    assert (info.pid, info.pid_here) == (1, os.getpid())


def test_a_snapshot_of_an_older_minor_version_lacks_what_came_later(tmp_path: Path) -> None:
    """1.2 added histograms and level_bytes; what an agent of 1.1 answers is otherwise the same."""

    async def run() -> tuple[Snapshot, Snapshot]:
        database = FakeDatabase(tmp_path / "db")
        database.measurements.flush()
        with FakeAgent(tmp_path, [database], protocol="1.1") as fake:
            agent = Agent(fake.socket_path)
            [described] = await agent.databases()
            target = agent.target(described)
            new = await target.snapshot(None)
            connection = UnixHttpConnection(fake.socket_path)
            _, body = await connection.request("GET", f"/v1/databases/{described.id}/snapshot", timeout_s=PATIENCE_S)
            content = json.loads(body)
            del content["histograms"]
            del content["column_families"]["default"]["level_bytes"]
            fake.intercept = lambda *_: (200, content)
            old = await target.snapshot(None)
            for closed in (connection, target, agent):
                await closed.close()
        return new, old

    new, old = asyncio.run(run())
    assert new.histograms == {"rocksdb.db.flush.micros": HistogramTotals(1, 10_000)}
    assert new.column_families["default"].level_bytes == (2048, 0, 0, 0, 0, 0, 0)
    assert old.histograms is None
    assert old.column_families["default"].level_bytes is None
    assert old.counters == new.counters


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1e999"])
@pytest.mark.parametrize("of", ["snapshot", "event", "databases"])
def test_a_figure_that_is_no_number_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str, of: str
) -> None:
    ask = UnixHttpConnection.request

    async def answer(connection: UnixHttpConnection, method: str, path: str, **request: Any) -> tuple[int, bytes]:
        _, body = await ask(connection, method, path, **request)
        content = json.loads(body)
        if of == "databases":
            content["databases"][0]["opened_monotonic_s"] = "here"
        elif of == "snapshot":
            content["monotonic_s"] = "here"
        else:
            content["events"] = [{"sequence": 1, "monotonic_s": "here", "kind": "flush_end"}]
        return 200, json.dumps(content).replace('"here"', number).encode()

    async def run() -> None:
        with FakeAgent(tmp_path, [FakeDatabase(tmp_path / "db")]) as fake:
            agent = Agent(fake.socket_path)
            target = agent.target((await agent.databases())[0])
            monkeypatch.setattr(UnixHttpConnection, "request", answer)
            try:
                with pytest.raises(NotAnAgent, match="finite number"):
                    await (agent.databases() if of == "databases" else target.snapshot(None))
            finally:
                await target.close()
                await agent.close()

    asyncio.run(run())


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"SSH-2.0-OpenSSH_9.2p1\r\n", "does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "was not answered with a JSON object"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "its /v1/info names no protocol"),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}", "was refused with 404, and not as an agent does"),
        (
            b'HTTP/1.1 200 OK\r\nContent-Length: 18\r\n\r\n{"protocol":"1.0"}',
            "is not what the admin protocol says: agent: Field required",
        ),
    ],
)
def test_something_that_is_no_agent(listener: socket.socket, content: bytes, sentence: str) -> None:
    thread = answering(listener, content)
    with pytest.raises(NotAnAgent, match=sentence):
        ask(Path(listener.getsockname()))
    thread.join()


def test_a_connection_that_breaks_in_the_middle(listener: socket.socket) -> None:
    thread = answering(listener, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    with pytest.raises(TargetError):
        ask(Path(listener.getsockname()))
    thread.join()


def test_an_agent_that_does_not_answer_in_time(tmp_path: Path) -> None:
    async def run() -> None:
        with FakeAgent(tmp_path) as agent:
            agent.hang()
            connection = UnixHttpConnection(agent.socket_path)
            with pytest.raises(Silent, match=r"did not answer GET /v1/info within 0\.1 s"):
                await connection.request("GET", "/v1/info", timeout_s=0.1)
            agent.resume()
            status, _ = await connection.request("GET", "/v1/info", timeout_s=PATIENCE_S)
            assert status == 200
            await connection.close()

    asyncio.run(run())


def test_a_queue_that_is_full_is_silence_and_not_an_end(listener: socket.socket) -> None:
    """A process that stands still does not accept; the connections that gave up stay in its queue."""
    listener.listen(0)
    path = Path(listener.getsockname())
    with ExitStack() as waiting:
        queued = 0
        while queued < 100:
            connection = waiting.enter_context(socket.socket(socket.AF_UNIX))
            connection.setblocking(False)
            if connection.connect_ex(str(path)) != 0:
                break
            queued += 1
        assert queued < 100
        with pytest.raises(Silent, match="takes no more connections: its process is there"):
            ask(path)


def test_a_kept_alive_connection_that_the_agent_closed_is_opened_anew(tmp_path: Path) -> None:
    async def run() -> None:
        first = FakeAgent(tmp_path, pid=1)
        first.start()
        agent = Agent(first.socket_path)
        await agent.info()
        first.close()
        with FakeAgent(tmp_path, pid=1):
            await agent.info()
        await agent.close()

    asyncio.run(run())


def test_refusals_carry_their_code_and_holder(tmp_path: Path) -> None:
    async def run() -> None:
        with FakeAgent(tmp_path, [FakeDatabase(tmp_path / "db")]) as fake:
            agent = Agent(fake.socket_path)
            (database,) = await agent.databases()
            target = agent.target(database)
            await target.hold_lease("me", 10, None)
            with pytest.raises(Refused) as error:
                await target.hold_lease("you", 10, None)
            assert (error.value.status, error.value.code, error.value.holder) == (409, "lease_held", "me")
            fake.remove(fake.databases[0])
            with pytest.raises(Closed):
                await target.snapshot(None)
            await target.close()
            await agent.close()

    asyncio.run(run())


def test_a_change_is_never_sent_twice(tmp_path: Path) -> None:
    """A connection that breaks while a change is under way says nothing of whether it was carried out."""

    async def run() -> None:
        with FakeAgent(tmp_path, [FakeDatabase(tmp_path / "db")]) as fake:
            database = fake.databases[0]
            agent = Agent(fake.socket_path)
            target = agent.target((await agent.databases())[0])
            lease = await target.hold_lease("me", 10, None)
            change = ColumnFamilyChange("default", {"write_buffer_size": "1048576"})
            back = RestoreStep(ColumnFamilyChange("default", {"write_buffer_size": "67108864"}))
            await target.change("me", lease.epoch, (change,), (back,))

            def changes() -> int:
                return [method for method, _, _ in fake.requests].count("PATCH")

            with database.hold_changes():
                sent = asyncio.create_task(target.change("me", lease.epoch, (back.change,), (back,)))
                await until(lambda: changes() == 2, "the second change has been received")
                await target.close()
                with pytest.raises(Unreachable):
                    await sent
            assert changes() == 2
            await agent.close()

    asyncio.run(run())


def test_who_an_agent_is_is_asked_once_a_connection(tmp_path: Path) -> None:
    """Another process may come under the same name, and then it is asked anew."""

    async def run() -> None:
        first = FakeAgent(tmp_path, [FakeDatabase(tmp_path / "db")], pid=1, program="one")
        first.start()
        agent = Agent(first.socket_path)
        info, databases = await agent.listing()
        assert await agent.listing() == (info, databases)
        assert [where for _, where, _ in first.requests] == ["/v1/info", "/v1/databases", "/v1/databases"]
        assert info.program == "one"
        first.close()
        with FakeAgent(tmp_path, pid=1, program="two"):
            info, databases = await agent.listing()
        assert (info.program, databases) == ("two", ())
        await agent.close()

    asyncio.run(run())


def test_a_version_that_came_with_the_first_database_is_asked_for_again(tmp_path: Path) -> None:
    """Rocksdict does not tell it: the Python agent reads it from the first database's OPTIONS file."""

    async def run() -> None:
        with FakeAgent(tmp_path, rocksdb_version="") as fake:
            agent = Agent(fake.socket_path)
            info, databases = await agent.listing()
            assert (info.rocksdb_version, databases) == ("", ())
            fake.databases.append(FakeDatabase(tmp_path / "db"))
            fake.intercept = lambda _, where, __: (200, fake_info(info)) if where == "/v1/info" else None
            info, databases = await agent.listing()
            assert (info.rocksdb_version, len(databases)) == ("9.8.4", 1)
            await agent.close()

    asyncio.run(run())


def fake_info(info: Info) -> dict[str, Any]:
    """Write what the agent says of itself, once it knows its RocksDB."""
    return asdict(info) | {"rocksdb_version": "9.8.4"}


def test_options_that_did_not_change_are_the_same_object(tmp_path: Path) -> None:
    async def run() -> None:
        with FakeAgent(tmp_path, [FakeDatabase(tmp_path / "db")]) as fake:
            agent = Agent(fake.socket_path)
            target = agent.target((await agent.databases())[0])
            one, other = await target.snapshot(None), await target.snapshot(None)
            assert one.options is other.options
            fake.databases[0].options.database["max_background_jobs"] = "7"
            async with asyncio.timeout(PATIENCE_S):
                while (changed := await target.snapshot(None)).options.database["max_background_jobs"] != "7":  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(0.01)
            assert changed.options is not one.options
            await target.close()
            await agent.close()

    asyncio.run(run())


def test_waiting_for_an_event_holds_up_no_other_request(tmp_path: Path) -> None:
    kinds = frozenset({"stall"})

    async def run() -> None:
        database = FakeDatabase(tmp_path / "db")
        with FakeAgent(tmp_path, [database]) as fake:
            agent = Agent(fake.socket_path)
            target = agent.target((await agent.databases())[0])
            assert not await target.wait(0, kinds, 0.02)
            waiting = asyncio.create_task(target.wait(0, kinds, 60.0))
            lease = await target.hold_lease("me", 60.0, None)
            last = (await target.snapshot(None)).last_event
            assert not waiting.done(), "the lease is an event that it does not wait for"
            database.measurements.stall("stopped")
            assert await waiting
            (event,) = (await target.snapshot(last)).events
            assert (event.kind, event.condition) == ("stall", "stopped")
            await target.release_lease("me", lease.epoch)
            fake.intercept = lambda _, path, __: (200, {"event": None}) if "/wait?" in path else None
            assert not await target.wait(last, kinds, 25.0)
            asked = [path.rpartition("=")[2] for _, path, _ in fake.requests if "/wait?" in path]
            assert asked == ["20", "10000", "10000", "10000", "5000"], "no request waits longer than an agent permits"
            await target.close()
            with pytest.raises(Unreachable):
                await target.wait(last, kinds, 1.0)
            await agent.close()

    asyncio.run(run())
