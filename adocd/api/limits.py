"""Limits on what an HTTP client may use: bytes, time and connections, so that no client delays the others.

uvicorn limits the head of a request only while it is incomplete: it accepts a head of any size in one piece. It has no
limit on the body, on the time that a request may take to arrive or its answer to be read, or on idle connections.

Nothing of a request may outlive its connection. The daemon rarely collects cyclic garbage
(adocd.daemon.fleet.garbage), so a reference cycle keeps for hours whatever a stranger has sent.
"""

import asyncio
import math
import socket
import sys
import time
import weakref
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from adocd.api import caller, problems
from adocd.api.door import Door
from adocd.api.operations import most_body_bytes

#: Largest head, including the request line: a path, a token and a browser's cookies take a few KiB.
MAX_HEAD_BYTES = 16 << 10
#: Limits each of three times: from the connect or the last answer until the head is here, then until the body is here,
#: then, again and again, until the client has taken more of the answer. Long enough for any client on this machine.
TRANSFER_S = 10.0
#: An answer has to be read within this time in all: who takes a byte now and then does not keep a connection for ever.
ANSWER_S = 120.0
#: Most connections at once. One more replaces the connection that has kept us waiting longest.
MAX_CONNECTIONS = 64
#: Most WebSockets, in addition: one per open page. One more is refused, because the others are in use.
MAX_WEBSOCKETS = 128
#: Most streams, in addition. Their clients owe us nothing, so none is closed to make room.
MAX_STREAMS = 100
#: Streams that TCP clients may not take: they are left to the page and to terminals on this machine.
SPARE_STREAMS = 20
#: A stream is closed when its reader accepts nothing of the data that waits for it for this long. A slow reader keeps
#: its stream: the sender waits for the connection and has to drop what is too much.
STREAM_STUCK_S = 60.0
#: Tells a refused client to try again. Refresh makes a browser do so by itself when many pages come back at once.
COME_BACK = {"Retry-After": "2", "Refresh": "2"}
#: How long, and how many bytes, we read on from a body that is too large, so that its sender gets to read the refusal.
_DRAIN_S = 1.0
_DRAIN_BYTES = 16 << 20


#: Key in the state of a request: the function of its connection that makes the answer a stream.
_BEGIN_STREAM = "begin_stream"


def begin_stream(scope: Scope, most: int) -> bool:
    """Declare that the answer to this request is an endless stream; False if there are `most` streams already."""
    begin = scope.get("state", {}).get(_BEGIN_STREAM, _no_connection)()
    return begin is None or bool(begin(most))


def _no_connection() -> None:
    """Stand in for a connection that is closed or is not a LimitedConnection."""


class LimitedConnection(H11Protocol):
    """A connection that is closed when its client takes too long; its server checks it ten times a second."""

    #: What the connection is doing, and at last how much of the answer is left to be read.
    _phase: tuple[object, ...] = ()
    #: Since when it does that, and since when nothing has changed.
    _began_s = _since_s = 0.0
    #: The request cycle whose answer is a stream.
    _streamed: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or refuse it with 503 if there are too many and none can be closed for it."""
        super().connection_made(transport)
        peer_uid = caller.peer_uid(transport.get_extra_info("socket"))
        self.app_state = self.app_state | {
            caller.PEER_UID: peer_uid,
            _BEGIN_STREAM: weakref.WeakMethod(self._begin_stream),
        }
        self._waits_for_client()
        if self._count() - self._streams() > MAX_CONNECTIONS and not self._evict():
            self._refuse(503, f"all {MAX_CONNECTIONS} connections are busy; try again")

    def data_received(self, data: bytes) -> None:
        """Feed the data in pieces: h11 limits the size of a head only while the head is incomplete."""
        for begin in range(0, len(data), MAX_HEAD_BYTES):
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return  # refused, or now a WebSocket, whose client must wait for our answer before it sends
            super().data_received(data[begin : begin + MAX_HEAD_BYTES])

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop all references to the request."""
        super().connection_lost(exc)
        self._let_go()

    def _let_go(self) -> None:
        """Break the reference cycle with the request, which refers to us to say when it is answered."""
        self._unset_keepalive_if_required()
        self.cycle = self._streamed = None  # type: ignore[assignment]
        self._phase = ()

    def watch(self) -> None:
        """Close the connection if its client has not done its part in time."""
        patience_s, in_all_s = (STREAM_STUCK_S, math.inf) if self.is_stream else (TRANSFER_S, ANSWER_S)
        if not self._waits_for_client():
            return
        now_s = time.monotonic()
        if now_s - self._since_s > patience_s or now_s - self._began_s > in_all_s:
            self.transport.abort()

    @property
    def is_stream(self) -> bool:
        """Whether a stream is in progress on this connection."""
        return self._streamed is not None and self._streamed is self.cycle and not self.cycle.response_complete

    def _begin_stream(self, most: int) -> bool:
        if self._streams() >= most:
            return False
        self._streamed = self.cycle
        return True

    def _streams(self) -> int:
        return sum(isinstance(other, LimitedConnection) and other.is_stream for other in self.connections)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP with problem details, like every other refusal."""
        del msg
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # nobody reads what its route still sends
            self.cycle.message_event.set()
        self._refuse(400, "this is no HTTP/1.1 request, or its head is too large")
        problems.let_go(sys.exception())  # functions in its traceback have it in a variable too

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection to a WebSocket, which has its own limits; refuse it with 503 if there are too many."""
        if len(self.connections) - self._count() >= MAX_WEBSOCKETS:
            self._refuse(503, f"all {MAX_WEBSOCKETS} places for open pages are taken; close one and try again")
            return
        super().handle_websocket_upgrade(event)
        self._let_go()  # from here on `connection_lost` is not called on us

    def _count(self) -> int:
        return sum(isinstance(other, LimitedConnection) for other in self.connections)

    def _waits_for_client(self) -> bool:
        """Whether the client has to act next; notes since when."""
        left = self.transport.get_write_buffer_size()
        is_unread = self.transport.is_closing() or left > 0
        does = "answer to be read" if is_unread else self.conn.their_state
        phase = (does, self.cycle, self.is_stream, left)
        if phase != self._phase:
            # A client that has taken some of an answer is at work, so the clock starts again.
            now_s = time.monotonic()
            self._began_s = self._began_s if phase[:-1] == self._phase[:-1] else now_s
            self._phase, self._since_s = phase, now_s
        return does in ("answer to be read", h11.IDLE, h11.SEND_BODY)

    def _evict(self) -> bool:
        """Close the connection that has kept us waiting longest; False if none waits for its client."""
        others = [other for other in self.connections if isinstance(other, LimitedConnection) and other is not self]
        waiting = [other for other in others if not other.is_stream and other._waits_for_client()]
        if not waiting:
            return False
        longest = min(waiting, key=lambda other: other._since_s)
        self.connections.discard(longest)  # now, because others may connect before `connection_lost` is called
        longest.transport.abort()
        return True

    def _refuse(self, status: int, detail: str) -> None:
        headers = {"Connection": "close"} | (COME_BACK if status == 503 else {})
        answer = problems.problem(status, detail, headers)
        try:
            parts = [
                self.conn.send(h11.Response(status_code=status, headers=answer.raw_headers)),
                self.conn.send(h11.Data(data=bytes(answer.body))),
                self.conn.send(h11.EndOfMessage()),
            ]
        except h11.LocalProtocolError:  # in the middle of another answer
            self.transport.abort()
            return
        self.transport.write(b"".join(part for part in parts if part))
        self.transport.close()


class LimitedServer(uvicorn.Server):
    """Accepts connections at a limited rate and checks them; its shutdown closes all of them, whatever clients do."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to serve on the sockets as uvicorn does, but accept connections with our own `Door`."""
        await super().startup(sockets=[])
        if not self.should_exit:
            self.servers = [Door(listener, self._protocol) for listener in sockets or ()]  # type: ignore[misc]
            for door in self.servers:
                door.open()  # type: ignore[attr-defined]

    def _protocol(self) -> asyncio.Protocol:
        return LimitedConnection(self.config, self.server_state, self.lifespan.state)

    async def on_tick(self, counter: int) -> bool:
        """Check every connection; uvicorn calls this ten times a second."""
        for connection in list(self.server_state.connections):
            if (watch := getattr(connection, "watch", None)) is not None:
                watch()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: Any = None) -> None:
        """Give clients no more time than `timeout_graceful_shutdown`; streams end at once."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, LimitedConnection) and connection.is_stream:
                connection.transport.abort()
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()


class WholeBody:
    """ASGI middleware that passes a request on once its whole body is here; a body too large for its route gets 413.

    Put it behind whatever refuses a request by its head alone.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body and pass it on, or refuse it with 413."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = most_body_bytes(scope["method"], scope["path"])
        if _announced(scope) > most:
            await _refuse(most, scope, receive, send)
        elif (body := await _read(receive, most)) is None:
            pass  # the client is gone, so nobody would read an answer
        elif len(body) > most:
            await _refuse(most, scope, receive, send)
        else:
            await self._app(scope, _replay([body], receive), send)


def _announced(scope: Scope) -> int:
    """Return the Content-Length, 0 if there is none; h11 has checked that it is one number."""
    return max((int(value) for name, value in scope["headers"] if name == b"content-length"), default=0)


async def _read(receive: Receive, most: int) -> bytes | None:
    """Read the body, or slightly more than `most` bytes of it; None if the client is gone."""
    body = bytearray()
    while len(body) <= most:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return bytes(body)


def _replay(bodies: list[bytes], receive: Receive) -> Receive:
    """Return a `receive` that yields the body first, and then what follows it: the disconnect."""

    async def replayed() -> Message:
        if not bodies:
            return await receive()
        return {"type": "http.request", "body": bodies.pop(), "more_body": False}

    return replayed


async def _refuse(most: int, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 413 and read on for a moment: otherwise a client that is still sending gets a connection reset."""
    answer = problems.problem(413, f"the body may have at most {most} bytes here; send less", {"Connection": "close"})
    head = scope["method"] == "HEAD"
    await send({"type": "http.response.start", "status": 413, "headers": answer.raw_headers})
    await send({"type": "http.response.body", "body": b"" if head else bytes(answer.body), "more_body": True})
    drained, more = 0, True
    try:
        async with asyncio.timeout(_DRAIN_S):
            while more and drained < _DRAIN_BYTES:
                message = await receive()
                drained += len(message.get("body", b""))
                more = message.get("more_body", False)
    except TimeoutError:
        pass
    await send({"type": "http.response.body", "body": b"", "more_body": False})
