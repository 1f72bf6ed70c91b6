"""What one client of our HTTP may cost: bytes, time and connections; one that takes more delays nobody else.

uvicorn bounds the part of a head that has come, but takes any that comes in one piece. It has no limit on a body, none
on the time that a request may take to come or its answer to be read, and none on connections that send nothing.

Nothing of a request outlives its connection. The daemon looks for cyclic garbage seldom (adocd.daemon.fleet.garbage),
so what is a cycle stays for hours, and with it whatever strangers have sent.
"""

import asyncio
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

#: What a head may have, its request line with it: a path, a token and a browser's cookies take a few KiB.
MAX_HEAD_BYTES = 16 << 10
#: How long the head of a request may take from the connection's beginning or the last answer on, then its body, then
#: reading the answer. Long enough for any client on this machine.
TRANSFER_S = 10.0
#: At most so many connections at once. One more takes the place of the one that has kept us waiting longest.
MAX_CONNECTIONS = 64
#: At most so many WebSockets beside them: pages that are open. One more is turned away, for the others are in use.
MAX_WEBSOCKETS = 128
#: At most so many beside these whose answer is a stream: nothing is owed there, so none is closed to make place.
MAX_STREAMS = 100
#: How many of them TCP clients leave to others: the page, and terminals on this machine.
SPARE_STREAMS = 20
#: A stream is closed when its reader has taken nothing of what is there for him for so long. One that is slow stays:
#: who makes the stream waits for the connection, and has to drop what is too much.
STREAM_STUCK_S = 60.0
#: Tells who finds no place to try again; Refresh lets a browser do that by itself, when many pages come back at once.
COME_BACK = {"Retry-After": "2", "Refresh": "2"}
#: How long, and how much of, a body that is too large is read on, so that its sender comes to read the refusal.
_DRAIN_S = 1.0
_DRAIN_BYTES = 16 << 20


#: Where a connection leaves, in the state of its requests, how one of them becomes a stream.
_BEGIN_STREAM = "begin_stream"


def begin_stream(scope: Scope, most: int) -> bool:
    """Say that this request's answer goes on for as long as its client reads; False when there are `most` already."""
    begin = scope.get("state", {}).get(_BEGIN_STREAM, _no_connection)()
    return begin is None or bool(begin(most))


def _no_connection() -> None:
    """Stand for a connection that has gone, or was never ours."""


class LimitedConnection(H11Protocol):
    """A connection that its server looks at every tenth of a second; closed when its client takes too long."""

    #: What is going on in it; the same as before as long as nothing has been completed.
    _phase: tuple[object, ...] = ()
    _since_s = 0.0
    #: The request whose answer is a stream.
    _streamed: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, or turn it away when all places are busy."""
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
        """Take it piece by piece: a head is measured only while its end has not come."""
        for begin in range(0, len(data), MAX_HEAD_BYTES):
            if self.transport.is_closing() or self.transport.get_protocol() is not self:
                return  # refused, or now a WebSocket, whose client has to wait for our word before it sends
            super().data_received(data[begin : begin + MAX_HEAD_BYTES])

    def connection_lost(self, exc: Exception | None) -> None:
        """Take that it has gone."""
        super().connection_lost(exc)
        self._let_go()

    def _let_go(self) -> None:
        """Be no part of a cycle: the request knows us, for it tells when it has been answered."""
        self._unset_keepalive_if_required()
        self.cycle = self._streamed = None  # type: ignore[assignment]
        self._phase = ()

    def watch(self) -> None:
        """Close the connection when what its client has to do has not been done in time."""
        patience_s = STREAM_STUCK_S if self.is_stream else TRANSFER_S
        if self._waits_for_client() and time.monotonic() - self._since_s > patience_s:
            self.transport.abort()

    @property
    def is_stream(self) -> bool:
        """Whether it is in the middle of a stream."""
        return self._streamed is not None and self._streamed is self.cycle and not self.cycle.response_complete

    def _begin_stream(self, most: int) -> bool:
        if self._streams() >= most:
            return False
        self._streamed = self.cycle
        return True

    def _streams(self) -> int:
        return sum(isinstance(other, LimitedConnection) and other.is_stream for other in self.connections)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP, as problem details like every other refusal."""
        del msg
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True  # what its route still says is for nobody
            self.cycle.message_event.set()
        self._refuse(400, "this is no HTTP/1.1 request, or its head is too large")
        problems.let_go(sys.exception())  # whose functions have it in a variable, too

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection to a WebSocket, whose limits are its own, or turn it away when there are too many."""
        if len(self.connections) - self._count() >= MAX_WEBSOCKETS:
            self._refuse(503, f"all {MAX_WEBSOCKETS} places for open pages are taken; close one and try again")
            return
        super().handle_websocket_upgrade(event)
        self._let_go()  # nobody tells us when the connection has gone

    def _count(self) -> int:
        return sum(isinstance(other, LimitedConnection) for other in self.connections)

    def _waits_for_client(self) -> bool:
        """Tell whether its client has to act next, and note since when."""
        phase: tuple[object, ...] = (self.conn.their_state, self.cycle)
        if self.transport.is_closing() or self.transport.get_write_buffer_size() > 0:
            # Of a stream some is always left: what counts is that it becomes less, or is followed by more.
            left = self.transport.get_write_buffer_size() if self.is_stream else None
            phase = ("answer to be read", self.cycle, left)
        if phase != self._phase:
            self._phase, self._since_s = phase, time.monotonic()
        return phase[0] in ("answer to be read", h11.IDLE, h11.SEND_BODY)

    def _evict(self) -> bool:
        """Close the connection that has kept us waiting longest."""
        others = [other for other in self.connections if isinstance(other, LimitedConnection) and other is not self]
        waiting = [other for other in others if not other.is_stream and other._waits_for_client()]
        if not waiting:
            return False
        longest = min(waiting, key=lambda other: other._since_s)
        self.connections.discard(longest)  # now: `connection_lost` comes later, and others may knock before it
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
    """Takes connections without haste and looks at them; at its end none is left, whatever its client does."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve on the sockets, as uvicorn does, but by our own `Door`."""
        await super().startup(sockets=[])
        if not self.should_exit:
            self.servers = [Door(listener, self._protocol) for listener in sockets or ()]  # type: ignore[misc]
            for door in self.servers:
                door.open()  # type: ignore[attr-defined]

    def _protocol(self) -> asyncio.Protocol:
        return LimitedConnection(self.config, self.server_state, self.lifespan.state)

    async def on_tick(self, counter: int) -> bool:
        """Look at every connection; uvicorn calls this ten times a second."""
        for connection in list(self.server_state.connections):
            if (watch := getattr(connection, "watch", None)) is not None:
                watch()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: Any = None) -> None:
        """Give clients the time of `timeout_graceful_shutdown`, and not more; streams end at once."""
        for connection in list(self.server_state.connections):
            if isinstance(connection, LimitedConnection) and connection.is_stream:
                connection.transport.abort()
        await super().shutdown(sockets)
        for connection in list(self.server_state.connections):
            if connection.transport is not None:
                connection.transport.abort()


class WholeBody:
    """Hands a request on once its body is there; refuses one that is too large for what is asked, and keeps none of it.

    It goes behind what refuses a request by its head alone.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the body, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = most_body_bytes(scope["method"], scope["path"])
        if _announced(scope) > most:
            await _refuse(most, scope, receive, send)
        elif (body := await _read(receive, most)) is None:
            pass  # the client has gone, and nobody is there to read an answer
        elif len(body) > most:
            await _refuse(most, scope, receive, send)
        else:
            await self._app(scope, _replay([body], receive), send)


def _announced(scope: Scope) -> int:
    """Return the Content-Length; h11 has made sure that it is one number."""
    return max((int(value) for name, value in scope["headers"] if name == b"content-length"), default=0)


async def _read(receive: Receive, most: int) -> bytes | None:
    """Read the body, or a little more than is allowed; None when the client has gone."""
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
    """Make a `receive` that gives the body first, and then what comes: that the client has gone."""

    async def replayed() -> Message:
        if not bodies:
            return await receive()
        return {"type": "http.request", "body": bodies.pop(), "more_body": False}

    return replayed


async def _refuse(most: int, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer 413 and read on for a moment: a client still sending would otherwise find the connection reset."""
    answer = problems.problem(413, f"here a body may have {most} bytes, and this one has more", {"Connection": "close"})
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
