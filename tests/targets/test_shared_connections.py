"""Hundreds of databases in one process share some connections to their agent."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from adocd.model.change import ColumnFamilyChange, RestoreStep
from adocd.targets import agent as agents
from adocd.targets.agent import Agent
from adocd.targets.errors import Silent, Unreachable
from adocd.targets.shared_connections import MOST_CHANGES, MOST_READS, MOST_WAITS, ConnectionPool
from tests.daemon.harness import until
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import PATIENCE_S

#: What every agent accepts (agents/admin-api.yaml, Limits): connections, and those that wait for events.
ACCEPTED, ACCEPTED_WAITING = 32, 16
LONG_S = 30.0


class Counting:
    """A server that answers each request with its path, while it may; it counts its connections."""

    def __init__(self) -> None:
        self.open = self.most = 0
        self.asked: list[str] = []
        self.may_answer = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                self.asked.append(head.split()[1].decode())
                await self.may_answer.wait()
                body = f'"{self.asked[-1]}"'.encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.open -= 1
            writer.close()


@asynccontextmanager
async def counting(path: Path) -> AsyncIterator[Counting]:
    server = Counting()
    async with await asyncio.start_unix_server(server.serve, path):
        yield server


def run(tmp_path: Path, body: Callable[[Counting, Path], Awaitable[None]]) -> None:
    async def inner() -> None:
        async with counting(tmp_path / "agent-1.sock") as server:
            await body(server, tmp_path / "agent-1.sock")

    asyncio.run(inner())


def test_an_agent_accepts_them_all() -> None:
    assert MOST_READS + MOST_CHANGES + 1 <= ACCEPTED, "with the one that looks for databases"
    assert MOST_WAITS <= ACCEPTED_WAITING


def test_many_users_take_turns(tmp_path: Path) -> None:
    async def body(server: Counting, path: Path) -> None:
        server.may_answer.set()
        pool = ConnectionPool(path, 3)
        users = [pool.user() for _ in range(100)]
        for _ in range(3):
            answers = await asyncio.gather(
                *(user.request("GET", f"/{n}", timeout_s=LONG_S) for n, user in enumerate(users))
            )
            assert all(status == 200 for status, _ in answers)
        assert (server.most, len(server.asked)) == (3, 300)
        for user in users:
            await user.close()
        await until(lambda: server.open == 0, "all are closed")

    run(tmp_path, body)


def test_a_request_that_was_never_sent_is_silence(tmp_path: Path) -> None:
    async def body(server: Counting, path: Path) -> None:
        pool = ConnectionPool(path, 2)
        users = [pool.user() for _ in range(12)]
        asked = (user.request("GET", "/x", timeout_s=0.2) for user in users)
        errors = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(error) for error in errors] == [Silent] * 12
        assert 0 < sum("was not sent" in str(error) for error in errors) <= 10, "some took the places of the first two"
        server.may_answer.set()
        assert (await users[5].request("GET", "/x", timeout_s=LONG_S))[0] == 200, "nobody holds a place"

    run(tmp_path, body)


def test_a_slow_agent_is_waited_for(tmp_path: Path) -> None:
    """It answers one after the other, the last one later than any of them would wait for an answer."""

    async def body(server: Counting, path: Path) -> None:
        pool = ConnectionPool(path, 1)
        patience_s = 2.0
        users = [pool.user() for _ in range(12)]
        requests = [asyncio.create_task(user.request("GET", "/x", timeout_s=patience_s)) for user in users]
        began_s = asyncio.get_running_loop().time()
        for number in range(len(users)):
            await until(lambda number=number: len(server.asked) == number + 1, "one more is sent")  # type: ignore[misc]
            await asyncio.sleep(patience_s / 8)
            server.may_answer.set()
            await requests[number]
            server.may_answer.clear()
        assert asyncio.get_running_loop().time() - began_s > patience_s
        assert all([(await request)[0] == 200 for request in requests])

    run(tmp_path, body)


def test_a_wait_for_a_connection_ends_though_the_agent_answers_others(tmp_path: Path) -> None:
    """One that has too much to do must not hold up a loop until the watchdog takes it for one that hangs."""

    async def body(server: Counting, path: Path) -> None:
        pool = ConnectionPool(path, 1)
        user, of_others = pool.user(), await pool.take(None)
        waiting = asyncio.create_task(user.request("GET", "/x", timeout_s=0.3))
        async with asyncio.timeout(PATIENCE_S):
            while not waiting.done():
                pool.answered()
                await asyncio.sleep(0.02)
        with pytest.raises(Silent, match=r"only answered others for 0\.9 s, so GET /x was not sent"):
            await waiting
        await pool.give_back(of_others, is_usable=True)
        server.may_answer.set()
        assert (await user.request("GET", "/x", timeout_s=LONG_S))[0] == 200, "its place in the queue is gone"

    run(tmp_path, body)


def test_who_closes_ends_his_own_request_alone(tmp_path: Path) -> None:
    async def body(server: Counting, path: Path) -> None:
        pool = ConnectionPool(path, 2)
        one, other, waiting = pool.user(), pool.user(), pool.user()
        requests = [asyncio.create_task(u.request("GET", "/x", timeout_s=None)) for u in (one, other, waiting)]
        await until(lambda: len(server.asked) == 2, "both are sent")
        await one.close()
        await one.close()
        with pytest.raises(Unreachable):
            await requests[0]
        await until(lambda: len(server.asked) == 3, "the third is sent")
        await waiting.close()
        with pytest.raises(Unreachable):
            await requests[2]
        server.may_answer.set()
        assert (await requests[1])[0] == 200
        with pytest.raises(Unreachable):
            await one.request("GET", "/x", timeout_s=LONG_S)
        await other.close()
        await until(lambda: server.open == 0, "all are closed")

    run(tmp_path, body)


def test_a_cancelled_request_gives_its_place_back(tmp_path: Path) -> None:
    async def body(server: Counting, path: Path) -> None:
        pool = ConnectionPool(path, 1)
        first, second = pool.user(), pool.user()
        begun = asyncio.create_task(first.request("GET", "/x", timeout_s=None))
        queued = asyncio.create_task(second.request("GET", "/x", timeout_s=None))
        await until(lambda: len(server.asked) == 1, "it is sent")
        full_before = pool.is_full
        for task in (queued, begun):
            task.cancel()
        await asyncio.gather(begun, queued, return_exceptions=True)
        assert (full_before, pool.is_full) == (True, False)
        server.may_answer.set()
        assert (await second.request("GET", "/x", timeout_s=LONG_S))[0] == 200

    run(tmp_path, body)


def test_100_databases_of_one_agent_are_read_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each had connections of its own once: an agent took one from somebody for each new one."""
    # The agent shares this process, and other tests use the processors.
    monkeypatch.setattr(agents, "READ_TIMEOUT_S", LONG_S)
    databases = [FakeDatabase(tmp_path / f"db{n}") for n in range(100)]

    async def body(agent: FakeAgent) -> None:
        client = Agent(agent.socket_path)
        _, listed = await client.listing()
        targets = [client.target(database) for database in listed]
        for _ in range(3):
            snapshots = await asyncio.gather(*(target.snapshot(None) for target in targets), return_exceptions=True)
            assert [error for error in snapshots if isinstance(error, Unreachable)] == []
        waits = await asyncio.gather(*(target.wait(10**9, {"stall"}, 0.2) for target in targets))
        assert waits == [False] * 100
        waiting = [target for method, target, _ in agent.requests if target.partition("?")[0].endswith("/wait")]
        assert 0 < len(waiting) <= 2 * MOST_WAITS, "the others do not wait"
        for target in targets:
            await target.close()
        await client.close()

    with FakeAgent(tmp_path, databases) as agent:
        asyncio.run(body(agent))


def test_a_change_does_not_wait_long_for_those_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it was decided for would be over."""
    monkeypatch.setattr(agents, "_CHANGE_PATIENCE_S", 0.2)
    databases = [FakeDatabase(tmp_path / f"db{n}") for n in range(MOST_CHANGES + 1)]
    change = ColumnFamilyChange("default", {"write_buffer_size": "33554432"})
    back = RestoreStep(ColumnFamilyChange("default", {"write_buffer_size": "67108864"}))

    async def body(agent: FakeAgent) -> None:
        client = Agent(agent.socket_path)
        _, listed = await client.listing()
        targets = [client.target(database) for database in listed]
        leases = [await target.hold_lease("me", LONG_S, None) for target in targets]
        with contextlib.ExitStack() as held:
            for database in databases:
                held.enter_context(database.hold_changes())
            sent = [
                asyncio.create_task(target.change("me", lease.epoch, (change,), (back,)))
                for target, lease in zip(targets, leases, strict=True)
            ]
            done, _ = await asyncio.wait(sent, return_when=asyncio.FIRST_COMPLETED, timeout=PATIENCE_S)
            (late,) = done
            with pytest.raises(Silent, match="was not sent"):
                await late
        answers = await asyncio.gather(*(each for each in sent if each is not late))
        assert [step.outcome for (step,) in answers] == ["applied"] * MOST_CHANGES
        changed = [target for method, target, _ in agent.requests if method == "PATCH"]
        assert len(changed) == MOST_CHANGES
        for target in targets:
            await target.close()
        await client.close()

    with FakeAgent(tmp_path, databases) as agent:
        asyncio.run(body(agent))
