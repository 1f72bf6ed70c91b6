"""Mounts the page in the web process's application."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

# Set before the import of NiceGUI, which reads it there. We store nothing, and the daemon's directory may be read-only;
# no file can be created at this path.
os.environ["NICEGUI_STORAGE_PATH"] = "/dev/null/adocd"

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from nicegui import app as nicegui_app
from nicegui import core, ui
from nicegui.client import Client

from adocd.api import problems
from adocd.api.limits import COME_BACK
from adocd.api.web import page
from adocd.api.web.page import messages, places, session
from adocd.api.web.page.feed import PageFeed
from adocd.api.web.page.session import Sessions
from adocd.api.web.page.views.listing import TargetListing
from adocd.api.web.page.views.overview import Overview
from adocd.api.web.page.views.shell import Visit
from adocd.api.web.page.views.target import TargetPage
from adocd.api.web.upstream import Upstream

_STATIC = Path(__file__).parent / "static"
#: How long a browser can return to the same page after a lost connection; later it reloads the page by itself, and a
#: dialog that was open is gone. NiceGUI derives from it how long either side may be silent (0.4 times as long). A busy
#: machine, as one on which RocksDB stalls often is, needs that; the page says after 2 s that its figures are old.
_RECONNECT_S = 30.0
#: How a browser looks again for a place for its page: rarely, for somebody may be typing a token.
_LOOK_AGAIN = {"Retry-After": "30", "Refresh": "30"}
#: NiceGUI has inline scripts, and Vue compiles templates; but nothing is loaded from or sent to other hosts.
_POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_AT_THE_DOOR = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-store"}
_DOOR_SAYS = "Log in to see anything."
_FULL_DOOR_SAYS = "All places for readers are taken. Log in with a token that may operate, or come back later."


def mount(app: FastAPI, upstream: Upstream, sessions: Sessions) -> None:
    """Mount the page; its feed runs as long as the application serves."""
    feed = PageFeed(upstream)
    _pages(feed, upstream, sessions)
    # No polling: the gate checks a WebSocket only at its handshake, but a POST would need a token to operate.
    nicegui_app.config.socket_io_js_transports = ["websocket"]
    core.sio.eio.transports = ["websocket"]
    nicegui_app.config.quasar_config["loadingBar"]["skipHijack"] = (
        True  # there is nothing to wait for: news arrives every second
    )
    before = len(app.router.routes)
    ui.run_with(
        app, title="adocd", dark=None, mount_path=page.PATH, reconnect_timeout=_RECONNECT_S,
        tailwind=False, language="en-US", show_welcome_message=False, binding_refresh_interval=None,
        message_history_length=50,
    )  # fmt: skip
    _log_in_and_out(app, sessions)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    @app.api_route(page.PATH, methods=["GET", "HEAD"], include_in_schema=False)
    async def to_the_page() -> Response:
        return RedirectResponse(f"{page.PATH}/")

    # Our routes must precede the one that passes everything on to the daemon; the mounted page follows the log-in.
    mounted, *ours = app.router.routes[before:]
    app.router.routes[before:] = []
    app.router.routes[:0] = [*ours, mounted]
    _while_serving(app, feed)
    _bound_strangers(nicegui_app)
    _guard(nicegui_app)


def _pages(feed: PageFeed, upstream: Upstream, sessions: Sessions) -> None:
    style = (_STATIC / "page.css").read_text(encoding="utf-8")
    scripts = "\n".join(
        (_STATIC / name).read_text(encoding="utf-8")
        for name in ("page.js", "units.js", "marks.js", "range.js", "charts.js")
    )
    ui.add_head_html(f"<style>{style}</style><script>{scripts}</script>", shared=True)
    ui.add_body_html('<div id="lost" role="alert" hidden></div>', shared=True)
    listing = TargetListing(feed)

    @ui.page("/", title="adocd")
    async def overview(request: Request) -> None:
        await Overview(await Visit.of(request, feed, upstream, sessions), listing).show()

    @ui.page("/target/{target}", title="adocd")
    async def one(request: Request, target: str) -> None:
        await TargetPage(await Visit.of(request, feed, upstream, sessions), target).show()


def _log_in_and_out(app: FastAPI, sessions: Sessions) -> None:
    @app.post(f"{page.PATH}/session", include_in_schema=False)
    async def log_in(request: Request) -> Response:
        try:
            body: Any = await request.json()
        except (ValueError, RecursionError):
            body = None
        secret = body.get("token") if isinstance(body, dict) else None
        if not isinstance(secret, str) or not secret.strip():
            return problems.problem(422, 'the body must be {"token": "SECRET"}')
        begun = await sessions.begin(secret.strip())
        if begun is None:
            return problems.problem(401, "this is no token, or it has expired; make one by: adocctl token create NAME")
        cookie, holder = begun
        answer = JSONResponse({"name": holder.name, "scope": holder.scope})
        answer.set_cookie(
            session.COOKIE, cookie, max_age=session.AGE_S, path="/", httponly=True, samesite="strict",
            secure=request.headers.get("x-forwarded-proto") == "https",
        )  # fmt: skip
        return answer

    @app.delete(f"{page.PATH}/session", include_in_schema=False)
    async def log_out(request: Request) -> Response:
        sessions.end(request.cookies.get(session.COOKIE))
        answer = Response(status_code=204)
        answer.delete_cookie(session.COOKIE, path="/")
        return answer


def _while_serving(app: FastAPI, feed: PageFeed) -> None:
    within = app.router.lifespan_context

    @contextlib.asynccontextmanager
    async def with_feed(asgi: Any) -> AsyncIterator[Any]:
        async with within(asgi) as state:
            task = asyncio.create_task(feed.run(), name="feed")
            try:
                yield state
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    app.router.lifespan_context = with_feed


def _bound_strangers(mounted: Any) -> None:
    """Keep visitors from filling the memory and the log, which NiceGUI would let them do."""

    # NiceGUI's own handler builds a page for every unknown path, and logs the path.
    async def no_such_page(request: Request, _: Exception) -> Response:
        return problems.problem(404, f"there is no {request.url.path}; the page is {page.PATH}/")

    mounted.add_exception_handler(404, no_such_page)

    # With this event, a browser could fill our log.
    core.sio.on("log", handler=_unheard)

    # NiceGUI keeps storage for every tab for ever, under a name that the browser chooses.
    def forget_tab(client: Client) -> None:
        tab = client._pinned_tab_id
        if all(other._pinned_tab_id != tab for other in Client.instances.values() if other is not client):
            mounted.storage._tabs.pop(tab, None)

    mounted.on_delete(forget_tab)

    mounted.add_middleware(messages.OnlyUnderstood)
    mounted.add_middleware(places.SpareSockets)
    messages.leave_no_traces()


def _unheard(sid: str, message: Any) -> None:
    """Ignore what a browser wants to write to our log."""
    del sid, message


def _guard(mounted: FastAPI) -> None:
    """Limit the number of pages, and forbid the browser to talk to other hosts.

    A visitor who may not read gets a static log-in page, which uses no client of NiceGUI's and so no operator's place.
    So does one who is not logged in when there is no place: it may be an operator.
    """
    style = (_STATIC / "page.css").read_text(encoding="utf-8")
    door = (_STATIC / "door.html").read_text(encoding="utf-8").replace("/* page.css stands here */", style)
    door_of_full = door.replace(_DOOR_SAYS, _FULL_DOOR_SAYS)

    @mounted.middleware("http")
    async def guarded(request: Request, call_next: Any) -> Response:
        is_asset = request.url.path.startswith(f"{page.PATH}/_nicegui")
        if not is_asset and not request.state.grant.may_read:
            return HTMLResponse(door, headers=_AT_THE_DOOR)
        if not is_asset and not places.may_open(request.state.grant):
            if request.state.grant.holder is None:
                return HTMLResponse(door_of_full, 503, headers=_AT_THE_DOOR | _LOOK_AGAIN)
            return problems.problem(503, "all places for pages are taken; close one and try again", COME_BACK)
        answer: Response = await call_next(request)
        answer.headers["Content-Security-Policy"] = _POLICY
        return answer
