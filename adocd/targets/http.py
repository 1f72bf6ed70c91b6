"""HTTP/1.1 with JSON over a Unix stream socket, directly on an asyncio transport.

Snapshots are the daemon's hot path: asyncio streams with h11 needed 0.1 ms more CPU time for each.
"""

import asyncio
import json
import re
import socket
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlencode

import h11

from adocd.targets.errors import Busy, Dead, NotAllowed, NotAnAgent, Silent, Unreachable
from adocd.targets.http_answer import MAX_BODY_BYTES, Answer, Answering, Ended, TooLarge

#: Methods that may be sent twice (RFC 9110, 9.2.2); a change may not.
_IDEMPOTENT = ("GET", "PUT", "DELETE")
#: Characters allowed in a request's target, because an agent may give a database any id.
_TARGET = re.compile(r"[!-~]+")
#: Characters allowed in a header's value (RFC 9110, 5.5).
_VALUE = re.compile(r"[ -~]*")


class UnixHttpConnection:
    """One keep-alive connection, with one request at a time.

    A broken connection is reopened at the next request. An idempotent request is repeated once if the server closed the
    keep-alive connection before the first byte of its answer. After `close` every request is refused.
    """

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._wire: _Wire | None = None
        #: Number of times it was opened; while this does not change, the same process answers.
        self.opened = 0
        self._turn = asyncio.Lock()
        self._closed = False

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None,
    ) -> tuple[int, bytes]:
        """Send a request and return the whole answer: its status and body.

        Raises Unreachable when nothing listens or the connection breaks, Silent when no complete answer arrives within
        `timeout_s` seconds, NotAnAgent when the answer is not HTTP, and ValueError for an invalid header value.
        """
        for name, value in (headers or {}).items():
            if _VALUE.fullmatch(value) is None:
                raise ValueError(f"{value!r} is not a valid value of the header {name}")
        if query:
            path = f"{path}?{urlencode(query)}"
        content = b"" if body is None else json.dumps(body).encode()
        async with self._turn:
            try:
                async with asyncio.timeout(timeout_s):
                    return await self._exchange(method, path, content, headers or {})
            except BaseException as error:
                self._drop()
                if (said := self._in_words(error, f"{method} {path}", timeout_s)) is not None:
                    raise said from None
                raise

    async def close(self) -> None:
        """Close the connection for good; a request in progress raises Unreachable."""
        self._closed = True
        self._drop()

    def _in_words(self, error: BaseException, request: str, timeout_s: float | None) -> Exception | None:
        said: Exception | None = None
        if isinstance(error, TimeoutError):
            said = Silent(f"{self._socket} did not answer {request} within {timeout_s} s")
        elif isinstance(error, h11.RemoteProtocolError):
            said = NotAnAgent(f"{self._socket} does not speak HTTP ({error}), so it is no agent")
        elif isinstance(error, TooLarge):
            said = NotAnAgent(f"{self._socket} answered with more than {MAX_BODY_BYTES} bytes: it is no agent")
        elif isinstance(error, Ended):
            said = Unreachable(f"{self._socket} closed the connection before it had answered {request}")
        elif isinstance(error, BlockingIOError):
            said = Busy(f"{self._socket} takes no more connections: its process is there and does not answer")
        elif isinstance(error, ConnectionRefusedError):
            said = Dead(f"nobody listens at {self._socket} any more: its process has ended")
        elif isinstance(error, PermissionError):
            said = NotAllowed(f"{self._socket} may not be used: {error.strerror}")
        elif isinstance(error, OSError):
            said = Unreachable(f"nothing answers at {self._socket}: {error.strerror or error}")
        return said

    def _drop(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    async def _exchange(self, method: str, path: str, content: bytes, more: Mapping[str, str]) -> tuple[int, bytes]:
        if self._wire is not None and not self._wire.is_quiet:
            self._drop()
        reused = self._wire is not None
        try:
            return await self._send_and_receive(method, path, content, more)
        except (ConnectionResetError, BrokenPipeError):
            if not reused or method not in _IDEMPOTENT:
                raise
        except Ended as ended:
            if not reused or method not in _IDEMPOTENT or ended.answered:
                raise
        self._drop()
        return await self._send_and_receive(method, path, content, more)

    async def _send_and_receive(
        self, method: str, path: str, content: bytes, more: Mapping[str, str]
    ) -> tuple[int, bytes]:
        if self._closed:
            raise Ended(answered=False)
        if _TARGET.fullmatch(path) is None:
            raise NotAnAgent(f"{self._socket} uses an id that cannot be part of a request: {path!r}")
        if self._wire is None:
            loop = asyncio.get_running_loop()
            _, self._wire = await loop.create_unix_connection(_Wire, sock=self._connected())
            self.opened += 1
        answer = await self._wire.ask(method, path, content, more)
        if not answer.keeps_alive:
            self._drop()
        return answer.status, answer.body

    def _connected(self) -> socket.socket:
        """Connect, which is immediate on a Unix socket.

        BlockingIOError means that the listener's queue is full (connect(2), EAGAIN): a process listens but does not
        accept. asyncio would mistake that for a connection in progress.
        """
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.setblocking(False)
            connection.connect(str(self._socket))
        except BaseException:
            connection.close()
            raise
        return connection


class _Wire(asyncio.Protocol):
    """The asyncio protocol of the connection: one request and its answer at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answering: Answering | None = None
        self._answer: asyncio.Future[Answer] | None = None
        #: Whether nothing arrived unasked, the end of the connection included.
        self.is_quiet = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a stream socket's is
        self._transport = transport

    async def ask(self, method: str, path: str, content: bytes, more: Mapping[str, str]) -> Answer:
        """Send a request and wait for its answer; raises the errors of `Answering`, and OSError."""
        if self._transport is None:
            raise Ended(answered=False)
        self._answering = Answering(method)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answer = answer
        kind = {"Content-Type": "application/json"} if content else {}
        fields = {"Host": "agent", "Content-Length": str(len(content)), **kind, **more}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        self._transport.write(head.encode("ascii") + b"\r\n" + content)
        try:
            return await answer
        finally:
            self._answering = self._answer = None

    def close(self) -> None:
        """Close the transport, and fail a waiting request."""
        if self._transport is not None:
            self._transport.abort()
        self._fail(Ended(answered=True))

    def data_received(self, data: bytes) -> None:
        """Feed received bytes to the answer in progress."""
        if self._answering is None or self._answer is None or self._answer.done():
            self.is_quiet = False
            return
        try:
            answer = self._answering.feed(data)
        except (h11.RemoteProtocolError, TooLarge, Ended) as error:
            self._fail(error)
            return
        if answer is not None:
            self._answer.set_result(answer)

    def eof_received(self) -> None:
        """Handle the end of the stream."""
        self.is_quiet = False
        if self._answering is None or self._answer is None or self._answer.done():
            return
        try:
            self._answer.set_result(self._answering.end())
        except (h11.RemoteProtocolError, TooLarge, Ended) as error:
            self._fail(error)

    def connection_lost(self, error: Exception | None) -> None:
        """Handle a lost connection."""
        self.is_quiet, self._transport = False, None
        self._fail(Ended(answered=False) if error is None else error)

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
