"""An application on the daemon's socket, and on loopback where asked, as `adocd serve` serves its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket as sockets
import threading
from collections.abc import Iterator
from pathlib import Path

from fastapi import FastAPI

from adocd.api import server
from tests.support.waiting import eventually


@contextlib.contextmanager
def served(app: FastAPI, socket: Path, tcp: sockets.socket | None = None) -> Iterator[None]:
    """Serve it in a thread while the block runs."""
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def run() -> None:
        with server.daemon_socket(socket) as listener:
            async with contextlib.AsyncExitStack() as stack:
                for one in (listener,) if tcp is None else (listener, tcp):
                    await stack.enter_async_context(server.serving(app, one))
                await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    try:
        eventually(lambda: _is_served(socket), what="it serves")
        yield
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def _is_served(socket: Path) -> bool:
    """Its mode alone does not tell: it is set before anybody listens."""
    with contextlib.closing(sockets.socket(sockets.AF_UNIX)) as connection:
        try:
            connection.connect(str(socket))
        except OSError:
            return False
    return True
