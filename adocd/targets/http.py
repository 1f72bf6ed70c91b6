"""HTTP/1.1 with JSON over a Unix stream socket, on asyncio streams, parsed by h11.

A snapshot is the daemon's hot path: h11 on plain streams costs a fraction of what a full HTTP client does, and it
still leaves the protocol to a library.
"""

import asyncio
import json
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import h11

from adocd.targets.errors import Dead, NotAllowed, NotAnAgent, Silent, Unreachable

#: A snapshot of a thousand column families is a few MiB; anything beyond this is no agent.
_MAX_BODY_BYTES = 64 << 20
#: What may be sent twice without harm (RFC 9110, 9.2.2); a change may not.
_IDEMPOTENT = ("GET", "PUT", "DELETE")


class _Broken(Exception):
    """The connection ended; `answered` says whether a part of the answer had come."""

    def __init__(self, *, answered: bool) -> None:
        super().__init__()
        self.answered = answered


class UnixHttpConnection:
    """One kept-alive connection; requests on it are made one at a time.

    A connection that broke is opened anew at the next request. An idempotent request is repeated once, when the
    server closed a kept-alive connection before a byte of the answer came. After `close` every request is refused.
    """

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._http = h11.Connection(h11.CLIENT)
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
        `timeout_s` seconds, NotAnAgent when what came is not HTTP.
        """
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
        elif isinstance(error, _Broken):
            said = Unreachable(f"{self._socket} closed the connection before it had answered {request}")
        elif isinstance(error, BlockingIOError):
            said = Silent(f"{self._socket} takes no more connections: its process is there and does not answer")
        elif isinstance(error, ConnectionRefusedError):
            said = Dead(f"nobody listens at {self._socket} any more: its process has ended")
        elif isinstance(error, PermissionError):
            said = NotAllowed(f"{self._socket} may not be used: {error.strerror}")
        elif isinstance(error, OSError):
            said = Unreachable(f"nothing answers at {self._socket}: {error.strerror or error}")
        return said

    def _drop(self) -> None:
        if self._streams is not None:
            _, writer = self._streams
            self._streams = None
            writer.close()

    async def _exchange(self, method: str, path: str, content: bytes, more: Mapping[str, str]) -> tuple[int, bytes]:
        if self._streams is not None and (self._streams[0].at_eof() or self._streams[1].is_closing()):
            self._drop()
        reused = self._streams is not None
        try:
            return await self._send_and_receive(method, path, content, more)
        except (ConnectionResetError, BrokenPipeError):
            if not reused or method not in _IDEMPOTENT:
                raise
        except _Broken as broken:
            if not reused or method not in _IDEMPOTENT or broken.answered:
                raise
        self._drop()
        return await self._send_and_receive(method, path, content, more)

    async def _send_and_receive(
        self, method: str, path: str, content: bytes, more: Mapping[str, str]
    ) -> tuple[int, bytes]:
        if self._closed:
            raise _Broken(answered=False)
        if self._streams is None:
            self._streams = await asyncio.open_unix_connection(sock=self._connected())
            self._http = h11.Connection(h11.CLIENT)
        reader, writer = self._streams
        headers = [("Host", "agent"), ("Content-Length", str(len(content))), *more.items()]
        if content:
            headers.append(("Content-Type", "application/json"))
        request = h11.Request(method=method, target=path, headers=headers)
        writer.write(self._bytes(request) + self._bytes(h11.Data(data=content)) + self._bytes(h11.EndOfMessage()))
        await writer.drain()
        return await self._receive(reader)

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

    def _bytes(self, event: Any) -> bytes:
        return self._http.send(event) or b""

    async def _receive(self, reader: asyncio.StreamReader) -> tuple[int, bytes]:
        status, received = 0, False
        body = bytearray()
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                data = await reader.read(65536)
                if not data and (status != 0 or not received):
                    raise _Broken(answered=received)
                received = True
                self._http.receive_data(data)
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += event.data
                if len(body) > _MAX_BODY_BYTES:
                    raise NotAnAgent(f"{self._socket} answered with more than {_MAX_BODY_BYTES} bytes: it is no agent")
            elif isinstance(event, h11.EndOfMessage):
                break
            elif isinstance(event, h11.ConnectionClosed):
                raise _Broken(answered=received)
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
        else:
            self._drop()
        return status, bytes(body)
