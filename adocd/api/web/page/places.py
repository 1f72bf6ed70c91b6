"""Bounds how many pages may be open, so that whoever may only read cannot lock operators out."""

from nicegui.client import Client
from starlette.types import ASGIApp, Receive, Scope, Send

from adocd.api.limits import MAX_WEBSOCKETS
from adocd.api.web.gate import Grant

#: WebSockets, one per open page, that are left to holders who may operate.
SPARE_SOCKETS = 16
#: Most pages: the open ones, those still loading, and those whose browser may come back. Some are left to operators.
MOST_PAGES, SPARE_PAGES = 2 * MAX_WEBSOCKETS, 2 * SPARE_SOCKETS
#: Where places are short, a page that no browser has connected to for so long loses its own.
_LOADING_S = 10.0
#: RFC 6455's registry: try again later.
_TRY_AGAIN_LATER = 1013


def may_open(grant: Grant) -> bool:
    """Whether there is a place for one more page of this visitor's."""
    most = MOST_PAGES if _may_operate(grant) else MOST_PAGES - SPARE_PAGES
    if len(Client.instances) >= most:
        Client.prune_instances(client_age_threshold=_LOADING_S)
    return len(Client.instances) < most


class SpareSockets:
    """ASGI middleware that refuses a WebSocket of a visitor who may only read when the other places are operators'."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._readers = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on everything else."""
        if scope["type"] != "websocket" or _may_operate(scope["state"]["grant"]):
            await self._app(scope, receive, send)
            return
        if self._readers >= MAX_WEBSOCKETS - SPARE_SOCKETS:
            await receive()  # the handshake message
            await send({"type": "websocket.close", "code": _TRY_AGAIN_LATER})
            return
        self._readers += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._readers -= 1


def _may_operate(grant: Grant) -> bool:
    return grant.holder is not None and grant.holder.may_operate
