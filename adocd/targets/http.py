"""HTTP/1.1 with JSON over a Unix stream socket, on an asyncio transport.

A snapshot is the daemon's hot path: streams and h11 took 0.1 ms of CPU time more for each than this does.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from adocd.targets.http_answer import Answer, Answering, Ended, NotHttp, TooLarge
from adocd.targets.http_request import Request, connected

#: What may be sent twice without harm (RFC 9110, 9.2.2); a change may not.
_IDEMPOTENT = ("GET", "PUT", "DELETE")


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
        request = Request.of(self._socket, method, path, query=query, body=body, headers=headers)
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
        """Close the connection for good; a request under way ends as Unreachable."""
        self._closed = True
        self._drop()

    def _drop(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    async def _exchange(self, request: Request) -> tuple[int, bytes]:
        if self._wire is not None and not self._wire.is_quiet:
            self._drop()
        reused = self._wire is not None
        try:
            return await self._send_and_receive(request)
        except (ConnectionResetError, BrokenPipeError):
            if not reused or request.method not in _IDEMPOTENT:
                raise
        except Ended as ended:
            if not reused or request.method not in _IDEMPOTENT or ended.answered:
                raise
        self._drop()
        return await self._send_and_receive(request)

    async def _send_and_receive(self, request: Request) -> tuple[int, bytes]:
        if self._closed:
            raise Ended(answered=False)
        if self._wire is None:
            loop = asyncio.get_running_loop()
            _, self._wire = await loop.create_unix_connection(_Wire, sock=connected(self._socket))
            self.opened += 1
        answer = await self._wire.ask(request)
        if not answer.keeps_alive:
            self._drop()
        return answer.status, answer.body


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

    async def ask(self, request: Request) -> Answer:
        """Send a request and wait for its answer; raises what `Answering` raises, and OSError."""
        if self._transport is None:
            raise Ended(answered=False)
        self._answering = Answering(request.method)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answer = answer
        self._transport.write(request.written)
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
        except (NotHttp, TooLarge, Ended) as error:
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
        except (NotHttp, TooLarge, Ended) as error:
            self._fail(error)

    def connection_lost(self, error: Exception | None) -> None:
        """Take that it broke."""
        self.is_quiet, self._transport = False, None
        self._fail(Ended(answered=False) if error is None else error)

    def _fail(self, error: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)
