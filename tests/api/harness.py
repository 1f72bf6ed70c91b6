"""The daemon's REST, and the TCP side over it, served for real beside a fleet on a fake agent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adocd.api import server
from adocd.api.rest import app as rest
from adocd.api.web import app as web
from adocd.api.web.access import Access
from adocd.api.web.upstream import Upstream
from adocd.daemon.book.tokens import tokens_path
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.config import Config
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.fleet.operators import Operators
from adocd.model.policy import Policy
from adocd.targets.http import UnixHttpConnection
from tests.builders import GIB
from tests.daemon.harness import loop_settings, open_book, until
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import PATIENCE_S

WEB_SECRET = "the web process's alone"  # noqa: S105 - a test's


@dataclass(frozen=True)
class Service:
    """A daemon at work: `call` speaks to its Unix socket, `tcp` to the web process's side."""

    agent: FakeAgent
    database: FakeDatabase
    fleet: Fleet
    socket: Path
    port: int
    #: Where its tokens are.
    tokens: Path

    @property
    def target(self) -> str:
        """The path of the one target."""
        return f"/v1/targets/{self.agent.id_of(self.database)}"

    @property
    def loop(self) -> TargetLoop:
        """The loop of the one target."""
        (loop,) = self.fleet.loops.values()
        return loop

    async def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """Call the daemon; status and parsed body."""
        connection = UnixHttpConnection(self.socket)
        try:
            status, content = await connection.request(method, path, body=body, timeout_s=PATIENCE_S)
        finally:
            await connection.close()
        return status, json.loads(content)

    async def tcp(
        self, method: str, path: str, host: str = "localhost", headers: dict[str, str] | None = None
    ) -> tuple[int, str]:
        """Call the TCP side; status and the whole answer."""
        more = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{more}\r\n".encode())
        content = (await reader.read()).decode()
        writer.close()
        return int(content.split()[1]), content


#: What a test does with a daemon.
Body = Callable[[Service], Awaitable[None]]
#: Runs it against one.
Run = Callable[[Body], None]


def with_service(tmp_path: Path, database: FakeDatabase, body: Body) -> None:
    """Run the body against a daemon that controls the database, whose policy is `fixed` at first."""

    async def run() -> None:
        async with _serving(tmp_path, database) as service:
            await body(service)

    asyncio.run(run())


@contextlib.contextmanager
def shared_service(tmp_path: Path, database: FakeDatabase) -> Iterator[Run]:
    """Keep such a daemon for several bodies that leave it as it is; it stands still between them."""
    with asyncio.Runner() as runner:
        stack = contextlib.AsyncExitStack()
        service = runner.run(stack.enter_async_context(_serving(tmp_path, database)))
        try:
            yield lambda body: runner.run(_awaited(body, service))
        finally:
            runner.run(stack.aclose())


async def _awaited(body: Body, service: Service) -> None:
    await body(service)


@contextlib.asynccontextmanager
async def _serving(tmp_path: Path, database: FakeDatabase) -> AsyncIterator[Service]:
    book = await open_book(tmp_path)
    fleet = Fleet(Config(), loop_settings(), tmp_path, book, policy=Policy("fixed"), memory_budget_bytes=GIB)
    path = tmp_path / "daemon.sock"
    discovery = asyncio.create_task(fleet.run())
    tcp = server.listen_loopback(0)
    upstream = Upstream(path, WEB_SECRET)
    tokens = tokens_path(book.path)
    with FakeAgent(tmp_path, [database]) as agent:
        try:
            with server.daemon_socket(path) as listener:
                async with (
                    server.serving(rest.make_app(fleet, Operators(fleet, book), WEB_SECRET), listener),
                    server.serving(web.make_app(upstream, Access(tokens)), tcp),
                ):
                    await until(lambda: any(loop.remembered.samples for loop in fleet.loops.values()), "a sample")
                    yield Service(agent, database, fleet, path, _port(tcp), tokens)
                    await upstream.close()
        finally:
            discovery.cancel()
            await asyncio.gather(discovery, return_exceptions=True)
            await fleet.stop()
            await book.close()


def _port(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])
