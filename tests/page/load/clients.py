"""Many clients at once: pages over their real protocol, and followers of events, one of which hardly reads."""

from __future__ import annotations

import asyncio
import re
import uuid
from dataclasses import dataclass, field
from typing import Any

import socketio  # type: ignore[import-untyped]

_CLIENT = re.compile(r"'client_id': '([0-9a-f-]+)'")


@dataclass
class PageClient:
    """One open page, as a browser keeps it: it loads the page, connects, and acknowledges what it gets."""

    port: int
    path: str
    messages: int = 0
    loads: int = 0
    _next: int = 0

    async def run(self) -> None:
        """Stay open for ever, and load the page anew when it is unknown, as nicegui.js does."""
        while True:
            try:
                await self._visit()
            except (OSError, socketio.exceptions.SocketIOError, asyncio.IncompleteReadError, ValueError):
                await asyncio.sleep(0.5)

    async def _visit(self) -> None:
        found = _CLIENT.search(await get(self.port, self.path))
        if found is None:
            raise ValueError("no page was loaded")
        self.loads += 1
        self._next = 0
        ended = asyncio.Event()
        sio = socketio.AsyncClient(reconnection=False)

        def took(message: dict[str, Any]) -> None:
            self.messages += 1
            self._next = message["_id"] + 1

        sio.on("run_javascript", took)
        sio.on("update", took)
        sio.on("disconnect", lambda *_: ended.set())
        query = f"client_id={found[1]}&next_message_id=0&implicit_handshake=true"
        query += f"&document_id={uuid.uuid4()}&tab_id={uuid.uuid4()}"
        await sio.connect(
            f"http://127.0.0.1:{self.port}?{query}", socketio_path="/page/_nicegui_ws/socket.io",
            transports=["websocket"], wait_timeout=20,
        )  # fmt: skip
        try:
            while not ended.is_set():
                await sio.emit("ack", {"client_id": found[1], "next_message_id": self._next})
                await asyncio.sleep(3)
        finally:
            await sio.disconnect()


@dataclass
class Follower:
    """A client of /v1/events that reads as fast as it can, or one line in a while."""

    port: int
    slow: bool = False
    received_bytes: int = 0
    begun: int = field(default=0)

    async def run(self) -> None:
        """Follow for ever."""
        while True:
            try:
                await self._follow()
            except OSError:
                await asyncio.sleep(0.5)

    async def _follow(self) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1024)
        try:
            writer.write(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.begun += 1
            while content := await reader.read(64 if self.slow else 65536):
                self.received_bytes += len(content)
                if self.slow:
                    await asyncio.sleep(1)
        finally:
            writer.close()


async def get(port: int, path: str) -> str:
    """Load a page's HTML."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        return (await reader.read()).decode()
    finally:
        writer.close()
