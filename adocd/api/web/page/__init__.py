"""The page: what an operator sees in a browser. Part of the web process, and a client of REST like any other.

`model` says what is shown, `charts` and `views` lay it out, `feed` asks the daemon once for all browsers, `actions`
does what is confirmed, `session` knows who has logged in. NiceGUI is imported by `install` alone, so that the daemon
and the terminal programs never pay for it.
"""

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


def install(app: "FastAPI", upstream: "Upstream", sessions: "Sessions") -> None:
    """Mount the page on the web process's application; once in a process, for NiceGUI is one for the process."""
    from adocd.api.web.page import mount  # noqa: PLC0415 - see above

    mount.mount(app, upstream, sessions)
