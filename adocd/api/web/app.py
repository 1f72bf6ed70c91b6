"""The read-only TCP side, a client of the daemon's own REST.

It is a process of its own because one Python process has one interpreter lock: serving many clients must not delay
control.
"""

from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.types import ASGIApp, Receive, Scope, Send

from adocd import __version__
from adocd.api import problems
from adocd.api.web import metrics
from adocd.api.web.upstream import Upstream
from adocd.targets.errors import TargetError

#: Names under which a browser on this machine reaches loopback. Any other Host is a DNS rebinding or a mistake.
ALLOWED_HOSTS = ["localhost", "127.0.0.1"]


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
