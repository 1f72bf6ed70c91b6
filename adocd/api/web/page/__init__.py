"""The page that an operator sees in a browser. It is part of the web process, and a client of REST like any other.

`model` computes what is shown, `charts` and `views` lay it out, `feed` asks the daemon once for all browsers, `actions`
does what the operator confirms, `session` keeps the log-ins. Only `install` imports NiceGUI, so that the daemon and the
terminal programs never pay for it. NiceGUI is an optional extra: without it, TCP clients have only REST and metrics.
"""

import importlib.util
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import FastAPI

    from adocd.api.web.page.session import Sessions
    from adocd.api.web.upstream import Upstream

#: Where the page is mounted; `/` redirects there.
PATH = "/page"
#: What the gate allows without a token, so that one can log in. The page itself checks whether its visitor may read.
OPEN = {
    "/": frozenset({"GET", "HEAD"}),
    PATH: frozenset({"GET", "HEAD"}),
    f"{PATH}/": frozenset({"GET", "HEAD"}),
    f"{PATH}/session": frozenset({"POST", "DELETE"}),
}
#: The same without the page, so that everyone gets the hint to install it.
OPEN_WITHOUT = {path: OPEN[path] for path in ("/", PATH, f"{PATH}/")}
#: The packages that the page needs; `pip install 'adocd[page]'` installs them.
_NEEDED = ("nicegui", "websockets")
NOT_INSTALLED = "the page is not installed: pip install 'adocd[page]', then restart adocd serve"


def is_installed() -> bool:
    """Whether the packages that the page needs are installed."""
    return all(importlib.util.find_spec(name) is not None for name in _NEEDED)


def install(app: "FastAPI", upstream: "Upstream", sessions: "Sessions") -> None:
    """Mount the page on the web process's application; only once per process, because NiceGUI has global state."""
    from adocd.api.web.page import mount  # noqa: PLC0415 - see above

    mount.mount(app, upstream, sessions)


def say_how_to_install(app: "FastAPI") -> None:
    """Answer the page's paths with how to install it, and what there is without it."""
    from fastapi.responses import PlainTextResponse  # noqa: PLC0415

    sentence = f"{NOT_INSTALLED}. REST is at /v1/targets, described at /docs; metrics are at /metrics."
    routes = len(app.router.routes)

    @app.api_route("/", methods=["GET", "HEAD"], include_in_schema=False)
    @app.api_route(f"{PATH}{{rest:path}}", methods=["GET", "HEAD"], include_in_schema=False)
    async def nothing_here() -> PlainTextResponse:
        return PlainTextResponse(f"{sentence[0].upper()}{sentence[1:]}\n", 404)

    # These must precede the route that passes everything on to the daemon.
    app.router.routes[:] = app.router.routes[routes:] + app.router.routes[:routes]
