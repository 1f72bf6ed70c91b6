"""Everything that TCP clients see: the daemon's REST API behind the gate, and its metrics.

It is a process of its own because a Python process has one interpreter lock: serving many clients must not delay the
control loop.
"""

from collections.abc import Mapping
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from prometheus_client import CONTENT_TYPE_LATEST

from adocd import __version__
from adocd.api import limits, problems
from adocd.api.web import metrics
from adocd.api.web.access import Access
from adocd.api.web.gate import ByCookie, Gate, Grant, Rules, nobodys
from adocd.api.web.relay import Relay
from adocd.api.web.upstream import Upstream
from adocd.targets.errors import TargetError

#: Headers that are passed on; the others concern only one connection.
_ASKED = ("accept", "content-type", "if-match", "if-none-match", "last-event-id")
_ANSWERED = ("allow", "cache-control", "content-type", "etag", "location", "retry-after")
_METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]


def make_app(upstream: Upstream, access: Access, rules: Rules | None = None, by_cookie: ByCookie = nobodys) -> FastAPI:
    """Build the application; see Rules and Gate for who may do what."""
    app = FastAPI(title="adocd on TCP", version=__version__, openapi_url=None)
    problems.install(app)
    app.add_middleware(limits.WholeBody)
    # Added last, so it runs first, and reads no body of a request that it refuses.
    app.add_middleware(Gate, access=access, rules=rules or Rules(), by_cookie=by_cookie)

    @problems.answers(app, TargetError)
    async def _no_daemon(_: Request, error: TargetError) -> JSONResponse:
        return problems.problem(503, str(error))

    @app.api_route("/metrics", methods=["GET", "HEAD"])
    async def prometheus() -> Response:
        return Response(await metrics.render(upstream.get), media_type=CONTENT_TYPE_LATEST)

    @app.api_route("/healthz", methods=["GET", "HEAD"])
    async def healthz(request: Request) -> Response:
        """Return all of /healthz to clients that may read; others learn only whether the daemon is alive."""
        if _grant(request).may_read:
            return await _ask(upstream, request)
        try:
            lives = (await _ask(upstream, request)).status_code == 200
        except TargetError:
            lives = False
        return JSONResponse({"status": "ok"}) if lives else problems.problem(503, "the daemon does not answer")

    @app.api_route("/v1/events", methods=["GET", "HEAD"])
    async def events(request: Request) -> Response:
        grant = _grant(request)
        most = limits.MAX_STREAMS - limits.SPARE_STREAMS
        if request.method == "GET" and not limits.begin_stream(request.scope, most):
            return problems.problem(503, f"{most} streams are open already; close one and try again")
        open_stream = upstream.stream(_target(request), grant.holder, _of(request.headers, _ASKED))
        return Relay(open_stream, grant.holds, lambda headers: _of(headers, _ANSWERED))

    @app.api_route("/{path:path}", methods=_METHODS)
    async def anything(request: Request) -> Response:
        return await _ask(upstream, request)

    return app


async def _ask(upstream: Upstream, request: Request) -> Response:
    """Pass a request on unchanged, and return the answer."""
    method = "GET" if request.method == "HEAD" else request.method
    status, headers, content = await upstream.request(
        method, _target(request), await request.body(), _grant(request).holder, _of(request.headers, _ASKED)
    )
    return Response(content, status, _of(headers, _ANSWERED))


def _grant(request: Request) -> Grant:
    grant: Grant = request.state.grant
    return grant


def _target(request: Request) -> str:
    """Return path and query exactly as the client has sent them."""
    raw: bytes = request.scope["raw_path"]
    query: bytes = request.scope["query_string"]
    return (raw + b"?" + query if query else raw).decode("latin-1")


def _of(headers: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    chosen = {name: headers[name] for name in names if name in headers}
    if "location" in chosen:
        chosen["location"] = urlsplit(chosen["location"])._replace(scheme="", netloc="").geturl()
    return chosen
