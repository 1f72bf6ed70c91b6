"""WebSockets of the page's process have limits of their own, and the daemon's socket has none."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from fastapi import FastAPI, WebSocket, WebSocketDisconnect
from websockets.asyncio import client
from websockets.exceptions import ConnectionClosed, InvalidStatus

from adocd.api import limits, server, websockets
from tests.daemon.harness import until


class Echo:
    """An application that says back what it hears, or floods who asks for it; counts who is connected."""

    def __init__(self) -> None:
        self.app = FastAPI()
        self.connected = 0
        self.app.websocket("/echo")(self._echo)
        self.app.websocket("/flood")(self._flood)
        self.app.get("/plain")(self._plain)

    async def _plain(self) -> str:
        return "here"

    async def _echo(self, socket: WebSocket) -> None:
        await socket.accept()
        self.connected += 1
        try:
            while True:
                await socket.send_text(await socket.receive_text())
        except WebSocketDisconnect:
            self.connected -= 1

    async def _flood(self, socket: WebSocket) -> None:
        await socket.accept()
        self.connected += 1
        try:
            while True:
                await socket.send_text("x" * 10_000)
        except (WebSocketDisconnect, RuntimeError):
            self.connected -= 1


def with_server(body: Callable[[Echo, str], Awaitable[None]]) -> None:
    """Serve it as the web process does, while the body runs."""

    async def run() -> None:
        echo = Echo()
        listener = server.listen_loopback(0)
        async with server.serving(echo.app, listener, pages=True):
            await body(echo, f"127.0.0.1:{listener.getsockname()[1]}")

    asyncio.run(run())


def test_it_is_served(run_dir: Path) -> None:
    async def body(echo: Echo, at: str) -> None:
        async with client.connect(f"ws://{at}/echo") as socket:
            await socket.send("hello")
            assert await socket.recv() == "hello"

    with_server(body)


def test_one_too_many_is_turned_away_and_leaves_place_for_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_WEBSOCKETS", 3)
    monkeypatch.setattr(limits, "MAX_CONNECTIONS", 2)

    async def body(echo: Echo, at: str) -> None:
        async with contextlib.AsyncExitStack() as stack:
            for _ in range(3):
                await stack.enter_async_context(client.connect(f"ws://{at}/echo"))
            with pytest.raises(InvalidStatus) as refused:
                await client.connect(f"ws://{at}/echo")
            assert refused.value.response.status_code == 503
            assert b"all 3 places for open pages are taken" in (refused.value.response.body or b"")
            host, _, port = at.partition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"GET /plain HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert b"200 OK" in await reader.read()
            writer.close()
        await until(lambda: echo.connected == 0, "all have left")
        async with client.connect(f"ws://{at}/echo"):
            pass

    with_server(body)


def test_a_message_that_is_too_large_ends_the_connection() -> None:
    async def body(echo: Echo, at: str) -> None:
        async with client.connect(f"ws://{at}/echo") as socket:
            await socket.send("x" * (websockets.MAX_MESSAGE_BYTES + 1))
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 1009

    with_server(body)


def test_who_does_not_read_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websockets, "UNREAD_S", 0.3)

    async def body(echo: Echo, at: str) -> None:
        host, _, port = at.partition(":")
        _, writer = await asyncio.open_connection(host, int(port), limit=1)
        key = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        writer.write(b"GET /flood HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" + key + b"\r\n")
        await until(lambda: echo.connected == 1, "it is flooded")
        await until(lambda: echo.connected == 0, "it is cut off")
        writer.close()

    with_server(body)


def test_the_daemons_own_server_has_none() -> None:
    async def run() -> None:
        listener = server.listen_loopback(0)
        async with server.serving(Echo().app, listener):
            with pytest.raises(InvalidStatus) as refused:
                await client.connect(f"ws://127.0.0.1:{listener.getsockname()[1]}/echo")
            assert refused.value.response.status_code == 404

    asyncio.run(run())
