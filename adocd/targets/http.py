"""HTTP/1.1 with JSON over a Unix stream socket, directly on an asyncio transport.

Snapshots are the daemon's hot path: asyncio streams with h11 needed 0.1 ms more CPU time for each.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from adocd.targets.http_answer import Answer, Answering, CutOff, NotHttp, TooLarge
from adocd.targets.http_request import HttpRequest, connected, peer_pid

#: Methods that may be sent twice (RFC 9110, 9.2.2); a change may not.
_IDEMPOTENT = ("GET", "PUT", "DELETE")


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
        #: The process at the other end, when it was last opened; None if it cannot be seen from our PID namespace.
        self.peer_pid: int | None = None
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
        request = HttpRequest.of(self._socket, method, path, query=query, body=body, headers=headers)
        async with self._turn:
            try:
                async with asyncio.timeout(timeout_s):
                    return await self._exchange(request)
            except BaseException as error:
                self._drop()
                if (said := request.failure(error, timeout_s)) is not None:
                    raise said from None
                raise

    async def close(self) -> None:
        """Close the connection for good; a request in progress raises Unreachable."""
        self._closed = True
        self._drop()

    def _drop(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    async def _exchange(self, request: HttpRequest) -> tuple[int, bytes]:
        if self._wire is not None and not self._wire.is_quiet:
            self._drop()
        reused = self._wire is not None
        try:
            return await self._send_and_receive(request)
        except (ConnectionResetError, BrokenPipeError):
            if not reused or request.method not in _IDEMPOTENT:
                raise
        except CutOff as ended:
            if not reused or request.method not in _IDEMPOTENT or ended.answered:
                raise
        self._drop()
        return await self._send_and_receive(request)

    async def _send_and_receive(self, request: HttpRequest) -> tuple[int, bytes]:
        if self._closed:
            raise CutOff(answered=False)
        if self._wire is None:
            loop, connection = asyncio.get_running_loop(), connected(self._socket)
            self.peer_pid = peer_pid(connection)
            _, self._wire = await loop.create_unix_connection(_Wire, sock=connection)
            self.opened += 1
        answer = await self._wire.ask(request)
        if not answer.keeps_alive:
            self._drop()
        return answer.status, answer.body


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

    async def ask(self, request: HttpRequest) -> Answer:
        """Send a request and wait for its answer; raises what `Answering` raises, and OSError."""
        if self._transport is None:
            raise CutOff(answered=False)
        self._answering = Answering(request.method)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answer = answer
        self._transport.write(request.written)
        try:
            return await answer
        finally:
            self._answering = self._answer = None

    def close(self) -> None:
        """Close the transport, and fail a waiting request."""
        if self._transport is not None:
            self._transport.abort()
        self._fail(CutOff(answered=True))

    def data_received(self, data: bytes) -> None:
        """Feed received bytes to the answer in progress."""
        if self._answering is None or self._answer is None or self._answer.done():
            self.is_quiet = False
            return
        try:
            answer = self._answering.feed(data)
        except (NotHttp, TooLarge, CutOff) as error:
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
        except (NotHttp, TooLarge, CutOff) as error:
            self._fail(error)

    def connection_lost(self, error: Exception | None) -> None:
        """Handle a lost connection."""
        self.is_quiet, self._transport = False, None
        self._fail(CutOff(answered=False) if error is None else error)

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
