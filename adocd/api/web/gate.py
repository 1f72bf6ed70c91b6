"""The gate of the TCP side decides who may do what; nothing behind it checks again.

It checks every request and every WebSocket handshake in this order:

1. Host must be a name of this machine that the operator has configured, or a name of loopback. Any other is a mistake
   or DNS rebinding, by which a foreign page reads from us through its visitor's browser.
2. Origin, if a browser sends one, must be ours. Any other is a foreign page that tries to write. This stops pages, not
   a server under our host name that has received our cookie (adocd.api.web.page.session).
3. The routes of tokens are never allowed here, so a stolen token cannot be used to make another one.
4. The holder is that of the token in `Authorization: Bearer`, else that of the page's cookie, else nobody.
5. Reading needs any token, or none if the rules allow that; everything else needs a token to operate.
"""

import ipaddress
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from fastapi import Response
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adocd.api import problems
from adocd.api.operations import is_reading
from adocd.api.web.access import Access, TokenHolder

#: Headers that a proxy adds. A client behind a proxy is not on this machine, whatever the proxy's own address is.
_FORWARDED = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")
_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
_AUTHORITY = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[0-9A-Za-z._-]{1,253})(?::([0-9]{1,5}))?")
_TOKENS = "/v1/tokens"
_HOW = "adocctl token create NAME --scope {}"
_CHALLENGE = 'Bearer realm="adocd"'
#: No other page may frame ours (its buttons change databases), load our content as a script, or learn our address.
_PROTECTION = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}

#: Finds the holder that the page's cookies belong to.
ByCookie = Callable[[Mapping[str, str]], Awaitable[TokenHolder | None]]


async def nobodys(cookies: Mapping[str, str]) -> TokenHolder | None:
    """Return None: without the page, there are no cookies."""
    del cookies
    return None


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator has configured.

    `hosts`: more names of this machine, in lower case. `anonymous_read`: clients on loopback may read without a token.
    `open_to_all`: paths (a prefix if it ends in a slash) and the methods that need no token there; "WEBSOCKET" is one.
    """

    hosts: frozenset[str] = frozenset()
    anonymous_read: bool = True
    open_to_all: Mapping[str, frozenset[str]] = field(default_factory=lambda: {"/healthz": frozenset({"GET", "HEAD"})})


@dataclass(frozen=True, slots=True)
class Grant:
    """The result of the gate's checks, for the routes behind it: `request.state.grant`."""

    holder: TokenHolder | None
    #: Whether the client may read more than what is open to all.
    may_read: bool
    #: Checks the holder again, for streams and WebSockets: a token may be revoked meanwhile.
    holds: Callable[[], Awaitable[bool]]


class GateRefusal(Exception):
    """The gate refuses a request; its text is one sentence."""

    def __init__(self, status: int, detail: str, error: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        #: The error code of RFC 6750, 3.1.
        self.error = error

    def answer(self) -> Response:
        """Return the problem, with a WWW-Authenticate header if a token is needed (RFC 6750, 3)."""
        headers = {}
        if self.status == 401 or self.error is not None:
            headers["WWW-Authenticate"] = _CHALLENGE + ("" if self.error is None else f', error="{self.error}"')
        return problems.problem(self.status, str(self), headers)


class Gate:
    """ASGI middleware that passes allowed requests on, with a Grant in their state, and refuses all others."""

    def __init__(self, app: ASGIApp, access: Access, rules: Rules, by_cookie: ByCookie = nobodys) -> None:
        self._app = app
        self._access = access
        self._rules = rules
        self._by_cookie = by_cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        guarded = _protected(send) if scope["type"] == "http" else send
        try:
            scope.setdefault("state", {})["grant"] = await self._grant(HTTPConnection(scope), _method(scope))
        except GateRefusal as refusal:
            await _refuse(refusal, scope, receive, guarded)
            return
        await self._app(scope, receive, guarded)

    async def _grant(self, request: HTTPConnection, method: str) -> Grant:
        name, port = self._check_host(request)
        origins = request.headers.getlist("origin")
        if any(not _is_same(origin, name, port) for origin in origins):
            raise GateRefusal(403, f"Origin must be this server's, {name}, not {origins[0]!r}")
        path = request.scope["path"]
        if path == _TOKENS or path.startswith(f"{_TOKENS}/"):
            raise GateRefusal(403, "tokens are made and revoked on the daemon's own machine: adocctl token --help")
        whose = self._whose(request)
        holder = await whose()
        anonymous = self._is_anonymous_welcome(request, name)
        reads = method == "WEBSOCKET" or is_reading(method, path)
        if not self._is_open(path, method):
            _check(holder, reads, anonymous)
        if holder is not None and not reads and "authorization" not in request.headers and not origins:
            raise GateRefusal(
                403, "a change with the page's cookie needs an Origin header; a script shows a token instead"
            )

        async def holds() -> bool:
            return holder is None or await _same(whose, holder)

        return Grant(holder, holder is not None or anonymous, holds)

    def _check_host(self, request: HTTPConnection) -> tuple[str, int | None]:
        """Return name and port of the Host header; raises GateRefusal if it is not a name of ours."""
        hosts = request.headers.getlist("host")
        given = hosts[0] if len(hosts) == 1 else ""
        name, port = _authority(given)
        if name and (name in _LOOPBACK_NAMES or name in self._rules.hosts or name == _reached_at(request)):
            return name, port
        known = ", ".join(sorted(_LOOPBACK_NAMES | self._rules.hosts))
        raise GateRefusal(400, f"Host must be one of {known}, or another name that [web] hosts has, not {given!r}")

    def _whose(self, request: HTTPConnection) -> Callable[[], Awaitable[TokenHolder | None]]:
        """Return a function that finds the holder now or, to check again, later."""
        shown = request.headers.getlist("authorization")
        if not shown:
            cookies = dict(request.cookies)
            return lambda: self._by_cookie(cookies)
        scheme, _, secret = shown[0].partition(" ")
        secret = secret.strip()

        async def found() -> TokenHolder | None:
            if len(shown) > 1 or scheme.lower() != "bearer" or not secret:
                raise GateRefusal(401, "send the token in one header, Authorization: Bearer SECRET", "invalid_request")
            if (holder := await self._access.holder(secret)) is None:
                raise GateRefusal(401, await self._access.why_not(secret), "invalid_token")
            return holder

        return found

    def _is_anonymous_welcome(self, request: HTTPConnection, name: str) -> bool:
        """Whether the client is on this machine and the rules let it read without a token."""
        is_local = name in _LOOPBACK_NAMES or (name == _reached_at(request) and name not in self._rules.hosts)
        return self._rules.anonymous_read and is_local and not any(key in request.headers for key in _FORWARDED)

    def _is_open(self, path: str, method: str) -> bool:
        return any(
            method in methods and (path.startswith(known) if known.endswith("/") and known != "/" else path == known)
            for known, methods in self._rules.open_to_all.items()
        )


def _check(holder: TokenHolder | None, reads: bool, anonymous: bool) -> None:
    """Raise GateRefusal if the holder's scope does not allow the request."""
    needed = "read" if reads else "operate"
    if holder is None and not (anonymous and needed == "read"):
        what = "reading from here" if needed == "read" else "changing anything"
        raise GateRefusal(401, f"{what} needs a token, made on the daemon's machine by: {_HOW.format(needed)}")
    if holder is not None and needed == "operate" and not holder.may_operate:
        raise GateRefusal(
            403,
            f"the token {holder.name} is for reading only; make one for changes by: {_HOW.format(needed)}",
            "insufficient_scope",
        )


async def _same(whose: Callable[[], Awaitable[TokenHolder | None]], holder: TokenHolder) -> bool:
    try:
        return await whose() == holder
    except GateRefusal:
        return False


def _authority(given: str) -> tuple[str, int | None]:
    """Split a Host into its name, in lower case, and its port; ("", None) if it is not valid."""
    found = _AUTHORITY.fullmatch(given)
    if found is None:
        return "", None
    return found[1].lower().rstrip("."), None if found[2] is None else int(found[2])


def _is_same(origin: str, name: str, port: int | None) -> bool:
    """Whether an Origin is that of our page; https counts too, because a proxy may terminate TLS for us."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    default = {"http": 80, "https": 443}.get(parts.scheme)
    if default is None or origin != f"{parts.scheme}://{parts.netloc}":
        return False
    their_name, their_port = _authority(parts.netloc)
    return (their_name, their_port or default) == (name, port or default)


def _reached_at(request: HTTPConnection) -> str:
    """Return our IP address that the client connected to; a foreign page's Host is a name, never this address."""
    server: tuple[str, int | None] = request.scope.get("server") or ("", None)
    try:
        address = ipaddress.ip_address(server[0])
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv6Address):
        return str(address.ipv4_mapped) if address.ipv4_mapped is not None else f"[{address}]"
    return str(address)


def _method(scope: Scope) -> str:
    return "WEBSOCKET" if scope["type"] == "websocket" else str(scope["method"])


def _protected(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _PROTECTION.items():
                headers.setdefault(name, value)
        await send(message)

    return sending


async def _refuse(refusal: GateRefusal, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        await refusal.answer()(scope, receive, send)
        return
    await receive()  # the handshake message, which the server must have delivered first
    extensions: dict[str, Any] = scope.get("extensions") or {}
    if "websocket.http.response" in extensions:
        answer = refusal.answer()
        await send(
            {"type": "websocket.http.response.start", "status": answer.status_code, "headers": answer.raw_headers}
        )
        await send({"type": "websocket.http.response.body", "body": bytes(answer.body)})
    else:
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
