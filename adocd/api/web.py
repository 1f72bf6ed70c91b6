"""The second process that `adocd serve` supervises: the read-only TCP side, a client of the daemon's own REST.

It is a process of its own because one Python process has one interpreter lock: serving many clients must not delay
control. It listens on a socket it inherits, so that restarting it never loses the port.
"""

import argparse
import asyncio
import contextlib
import signal
import socket
import sys
from pathlib import Path
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp, Receive, Scope, Send

from adocd import __version__
from adocd.api import metrics, problems, server
from adocd.targets.errors import TargetError
from adocd.targets.http import UnixHttpConnection

#: Names under which a browser on this machine reaches loopback. Any other Host is a DNS rebinding or a mistake.
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]
_TIMEOUT_S = 5.0


class Upstream:
    """The daemon's REST on its Unix socket, over a few kept-alive connections."""

    def __init__(self, daemon_socket: Path, connections: int = 4) -> None:
        self._connections = [UnixHttpConnection(daemon_socket) for _ in range(connections)]
        self._free: asyncio.Queue[UnixHttpConnection] = asyncio.Queue()
        for connection in self._connections:
            self._free.put_nowait(connection)

    async def get(self, path: str) -> tuple[int, bytes]:
        """Read a path; raises TargetError when the daemon does not answer."""
        connection = await self._free.get()
        try:
            return await connection.request("GET", path, timeout_s=_TIMEOUT_S)
        finally:
            self._free.put_nowait(connection)

    async def close(self) -> None:
        """Close the connections."""
        for connection in self._connections:
            await connection.close()


class LocalReading:
    """Refuses everything but reading, and every name for this machine but loopback's (DNS rebinding)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what is allowed."""
        answer = self._refusal(scope) if scope["type"] == "http" else None
        await (answer or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        host = Request(scope).headers.get("host", "")
        name, colon, port = host.partition(":")
        if name not in ALLOWED_HOSTS or (colon and not port.isdecimal()):
            return problems.problem(400, f"Host must be {' or '.join(ALLOWED_HOSTS)}, not {host!r}")
        if scope["method"] not in ("GET", "HEAD"):
            detail = f"TCP is read-only; {scope['method']} works on the daemon's Unix socket, or by adocctl"
            return problems.problem(405, detail, {"Allow": "GET, HEAD"})
        return None


def make_app(upstream: Upstream) -> FastAPI:
    """Build the read-only application."""
    app = FastAPI(title="adocd, read-only", version=__version__, openapi_url=None)
    problems.install(app)
    app.add_middleware(LocalReading)

    @app.api_route("/metrics", methods=["GET", "HEAD"])
    async def prometheus() -> Response:
        try:
            content = await metrics.render(upstream.get)
        except TargetError as error:
            return problems.problem(503, str(error))
        return Response(content, media_type=CONTENT_TYPE_LATEST)

    @app.api_route("/{path:path}", methods=["GET", "HEAD"])
    async def anything(request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""
        try:
            status, content = await upstream.get(f"{quote(request.url.path)}{query}")
        except TargetError as error:
            return problems.problem(503, str(error))
        if request.url.path == "/docs":
            return Response(content, status, media_type="text/html")
        return Response(content, status, media_type="application/json" if status < 400 else "application/problem+json")

    return app


async def _main(fd: int, daemon_socket: Path) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_reader(sys.stdin, stop.set)  # readable when the daemon has ended, even if it was killed
    with socket.socket(fileno=fd) as listener:
        async with server.serving(make_app(Upstream(daemon_socket)), listener):
            await stop.wait()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--fd", type=int, required=True)
    parser.add_argument("--daemon-socket", type=Path, required=True)
    arguments = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_main(arguments.fd, arguments.daemon_socket))
