"""The TCP side, served for real over a daemon that only writes down what reaches it."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import FastAPI, Request, Response
from fastapi.responses import StreamingResponse

from adocd.api import server
from adocd.api.caller import HOLDER_HEADER, WEB_HEADER
from adocd.api.web.access import Access
from adocd.api.web.app import make_app
from adocd.api.web.gate import Rules
from adocd.api.web.upstream import Upstream
from adocd.daemon.book.tokens import TokenStore
from tests.support.waiting import eventually

SECRET = "of the web process"  # noqa: S105 - a test's
#: Larger than what sockets and servers hold between two ends.
PIECE = b": " + b"x" * 65534
EVER = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]


@dataclass
class Daemon:
    """What has reached it: "METHOD path", whose token it was, and the headers."""

    seen: list[str] = field(default_factory=list)
    holders: list[str | None] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    #: How many pieces its streams have given away, and how many of them are open.
    pieces: int = 0
    open_streams: int = 0
    #: Whether its streams go on after the first event: with pieces for ever, or with nothing.
    endless: bool = True
    pause_after_first: bool = False

    def app(self) -> FastAPI:
        """Build its application."""
        app = FastAPI(openapi_url=None)

        @app.get("/v1/events")
        async def events(request: Request) -> Response:
            self._note(request)
            return StreamingResponse(self._stream(), media_type="text/event-stream")

        @app.get("/v1/moved")
        async def moved() -> Response:
            return Response(status_code=307, headers={"Location": "http://adocd/v1/targets?limit=1"})

        @app.api_route("/{path:path}", methods=EVER)
        async def anything(request: Request) -> Response:
            self._note(request)
            headers = {"ETag": '"7"', "Set-Cookie": "daemon=1", "X-Powered-By": "adocd", "Content-Type": "text/x"}
            return Response(await request.body() or b"{}", headers=headers)

        return app

    async def _stream(self) -> AsyncIterator[bytes]:
        self.open_streams += 1
        try:
            yield b"id: 1\nevent: sample\ndata: {}\n\n"
            while self.pause_after_first:  # noqa: ASYNC110 - the test says when, from its thread
                await asyncio.sleep(0.05)
            while self.endless:
                yield PIECE
                self.pieces += 1
                await asyncio.sleep(0)
        finally:
            self.open_streams -= 1

    def _note(self, request: Request) -> None:
        query = f"?{request.url.query}" if request.url.query else ""
        self.seen.append(f"{request.method} {request.scope['raw_path'].decode()}{query}")
        self.holders.append(request.headers.get(HOLDER_HEADER))
        self.headers.append(dict(request.headers))
        assert request.headers[WEB_HEADER] == SECRET


@dataclass(frozen=True)
class Answer:
    """What a client got."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Gateway:
    """The TCP side at work."""

    daemon: Daemon
    tokens: TokenStore
    port: int
    host: str = "127.0.0.1"

    def client(self) -> http.client.HTTPConnection:
        """Open a connection; the caller closes it."""
        return http.client.HTTPConnection(self.host, self.port, timeout=60)

    def call(
        self,
        method: str,
        path: str,
        headers: dict[str, str] | None = None,
        body: bytes | None = None,
        client: http.client.HTTPConnection | None = None,
    ) -> Answer:
        """Make a request; over a connection of its own where none is given."""
        with contextlib.ExitStack() as stack:
            chosen = client or stack.enter_context(contextlib.closing(self.client()))
            chosen.request(method, path, body, headers or {})
            answer = chosen.getresponse()
            content = answer.read()
            return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, content)


@contextlib.contextmanager
def gateways(directory: Path, *rules: Rules) -> Iterator[list[Gateway]]:
    """Serve the TCP side, once for each of the rules, over one daemon, while the block runs."""
    daemon, store = Daemon(), TokenStore(directory / "tokens.json")
    listeners = [server.listen_loopback(0) for _ in rules]
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()
    ready = threading.Event()

    async def run() -> None:
        path = directory / "daemon.sock"
        upstream = Upstream(path, SECRET)
        async with contextlib.AsyncExitStack() as stack:
            stack.push_async_callback(upstream.close)
            socket = stack.enter_context(server.daemon_socket(path))
            await stack.enter_async_context(server.serving(daemon.app(), socket))
            for listener, rule in zip(listeners, rules, strict=True):
                app = make_app(upstream, Access(store.path), rule)
                await stack.enter_async_context(server.serving(app, listener))
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),))
    thread.start()
    try:
        eventually(ready.is_set, what="it serves")
        yield [Gateway(daemon, store, listener.getsockname()[1]) for listener in listeners]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()
