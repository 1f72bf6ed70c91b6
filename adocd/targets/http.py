"""HTTP/1.1 with JSON over a Unix stream socket, on an asyncio transport.

A snapshot is the daemon's hot path: streams and h11 took 0.1 ms of CPU time more for each than this does.
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

#: What may be sent twice without harm (RFC 9110, 9.2.2); a change may not.
_IDEMPOTENT = ("GET", "PUT", "DELETE")
#: What a request's target may consist of; an agent may have named a database as it likes.
_TARGET = re.compile(r"[!-~]+")
#: And a header's value (RFC 9110, 5.5), which is the caller's own.
_VALUE = re.compile(r"[ -~]*")


class UnixHttpConnection:
    """One kept-alive connection; requests on it are made one at a time.

    A connection that broke is opened anew at the next request. An idempotent request is repeated once, when the
    server closed a kept-alive connection before a byte of the answer came. After `close` every request is refused.
    """

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._wire: _Wire | None = None
        #: How often it was opened: as long as that stays the same, the same process answers.
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
        """Send a request and read the whole answer: its status and body.

        Raises Unreachable when nothing listens or the connection breaks, Silent when no complete answer came within
        `timeout_s` seconds, NotAnAgent when what came is not HTTP; ValueError for a header that is none.
        """
        for name, value in (headers or {}).items():
            if _VALUE.fullmatch(value) is None:
                raise ValueError(f"{value!r} can be no value of the header {name}")
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
        """Close the connection for good; a request under way ends as Unreachable."""
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
            raise NotAnAgent(f"{self._socket} named something by {path!r}, which no request can be made of")
        if self._wire is None:
            loop = asyncio.get_running_loop()
            _, self._wire = await loop.create_unix_connection(_Wire, sock=self._connected())
            self.opened += 1
        answer = await self._wire.ask(method, path, content, more)
        if not answer.keeps_alive:
            self._drop()
        return answer.status, answer.body

    def _connected(self) -> socket.socket:
        """Connect, which on a Unix socket takes no time.

        BlockingIOError means that the listener's queue is full (connect(2), EAGAIN): somebody is there and does not
        accept. asyncio would take it for a connection under way.
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
    """The connection itself: one request and its answer at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answering: Answering | None = None
        self._answer: asyncio.Future[Answer] | None = None
        #: Whether nothing came that was not asked for, its end included.
        self.is_quiet = True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a stream socket's is
        self._transport = transport

    async def ask(self, method: str, path: str, content: bytes, more: Mapping[str, str]) -> Answer:
        """Send a request and wait for its answer; raises what `Answering` raises, and OSError."""
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
        """End it, and whoever waits."""
        if self._transport is not None:
            self._transport.abort()
        self._fail(Ended(answered=True))

    def data_received(self, data: bytes) -> None:
        """Take what came."""
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
        """Take that nothing more comes."""
        self.is_quiet = False
        if self._answering is None or self._answer is None or self._answer.done():
            return
        try:
            self._answer.set_result(self._answering.end())
        except (h11.RemoteProtocolError, TooLarge, Ended) as error:
            self._fail(error)

    def connection_lost(self, error: Exception | None) -> None:
        """Take that it broke."""
        self.is_quiet, self._transport = False, None
        self._fail(Ended(answered=False) if error is None else error)

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
