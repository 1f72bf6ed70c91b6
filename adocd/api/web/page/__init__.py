"""The page: what an operator sees in a browser. Part of the web process, and a client of REST like any other.

`model` says what is shown, `charts` and `views` lay it out, `feed` asks the daemon once for all browsers, `actions`
does what is confirmed, `session` knows who has logged in. NiceGUI is imported by `install` alone, so that the daemon
and the terminal programs never pay for it. It is an extra of adocd's: without it TCP clients have REST and metrics.
"""

import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from adocd.api.web.page.session import Sessions
    from adocd.api.web.upstream import Upstream

#: Where it is mounted; `/` leads there.
PATH = "/page"
#: What the gate lets pass without a token: logging in. The page asks by itself whether its visitor may read.
OPEN = {
    "/": frozenset({"GET", "HEAD"}),
    f"{PATH}/": frozenset({"GET", "HEAD"}),
    f"{PATH}/session": frozenset({"POST", "DELETE"}),
}
#: And where it is not installed: who looks for it is told.
OPEN_WITHOUT = {path: OPEN[path] for path in ("/", f"{PATH}/")}
#: What the page is made with; `pip install 'adocd[page]'` installs it.
_NEEDED = ("nicegui", "websockets")
NOT_INSTALLED = "the page is not installed: pip install 'adocd[page]', then restart adocd serve"


def is_installed() -> bool:
    """Whether there is what the page is made with."""
    return all(importlib.util.find_spec(name) is not None for name in _NEEDED)


def install(app: "FastAPI", upstream: "Upstream", sessions: "Sessions") -> None:
    """Mount the page on the web process's application; once in a process, for NiceGUI is one for the process."""
    from adocd.api.web.page import mount  # noqa: PLC0415 - see above

    mount.mount(app, upstream, sessions)


def say_how_to_install(app: "FastAPI") -> None:
    """Tell who looks for the page how to install it, and what there is without it."""
    from fastapi.responses import PlainTextResponse  # noqa: PLC0415

    sentence = f"{NOT_INSTALLED}. REST is at /v1/targets, described at /docs; metrics are at /metrics."
    routes = len(app.router.routes)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    @app.api_route(f"{PATH}{{rest:path}}", methods=["GET", "HEAD"], include_in_schema=False)
    async def nothing_here() -> PlainTextResponse:
        return PlainTextResponse(f"{sentence[0].upper()}{sentence[1:]}\n", 404)

    # Before the route that hands everything on to the daemon.
    app.router.routes[:] = app.router.routes[routes:] + app.router.routes[:routes]
