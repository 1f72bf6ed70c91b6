"""The web process's client of the daemon: requests in a token holder's name, and endless streams."""

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpcore

from adocd.api.caller import HOLDER_HEADER, WEB_HEADER
from adocd.api.web.access import TokenHolder
from adocd.targets.errors import Busy, NotAnAgent, Silent, TargetError, Unreachable

#: Limits how long a read may take.
_READ_S = 5.0
#: Limits how long a change may take: a restore waits for a stall to end.
_CHANGE_S = 120.0
#: Longest silence of a stream: three times the period of the daemon's keep-alive comments.
_STREAM_S = 45.0
#: How long an idle connection is kept: less than the daemon keeps it (limits.TRANSFER_S).
_KEPT_S = 5.0
#: Connections for reads, and as many for changes, so that restores that wait for a stall do not block reads.
_CONNECTIONS = 16
_ANSWER_BYTES = 64 << 20
_READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """An answer whose body arrives in pieces until the daemon ends it."""

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]


class Upstream:
    """The daemon's REST on its Unix socket.

    The daemon gives `web_secret` only to its web process: with it, the daemon trusts the holder named here (see
    adocd.api.caller). Without it, every request counts as this process's user's own.
    """

    def __init__(self, daemon_socket: Path, web_secret: str | None = None) -> None:
        self._socket = daemon_socket
        self._secret = web_secret
        self._reading, self._changing = (
            httpcore.AsyncConnectionPool(max_connections=_CONNECTIONS, keepalive_expiry=_KEPT_S, uds=str(daemon_socket))
            for _ in range(2)
        )
        # Each stream has its own connection; the daemon limits their number.
        self._streams = httpcore.AsyncConnectionPool(
            max_connections=None, max_keepalive_connections=0, uds=str(daemon_socket)
        )

    async def get(self, path: str) -> tuple[int, bytes]:
        """Read a path without a holder; raises TargetError when the daemon does not answer."""
        status, _, content = await self.request("GET", path)
        return status, content

    async def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        holder: TokenHolder | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """Send a request in a token holder's name; return the answer's status, headers (in lower case) and body.

        `path` is as in a request line: quoted, with its query. It is not normalized, so that the daemon reads exactly
        what the gate has checked. Raises TargetError when the daemon does not answer.
        """
        limit_s, pool = (_READ_S, self._reading) if method in _READING else (_CHANGE_S, self._changing)
        request = self._request(method, path, body, holder, headers, limit_s)
        with self._in_words(method, path, limit_s):
            try:
                return await _whole(await pool.handle_async_request(request))
            except (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError):
                if method not in _READING:
                    raise
            # The daemon closed an idle connection, for example because it was restarted: try once more.
            request = self._request(method, path, body, holder, headers, limit_s)
            return await _whole(await pool.handle_async_request(request))

    @contextlib.asynccontextmanager
    async def stream(
        self, path: str, holder: TokenHolder | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[StreamedAnswer]:
        """Open a stream of the daemon; leaving the block ends it at the daemon too.

        It reads no faster than the caller takes the pieces, so the daemon notices a slow client as if there were no
        proxy. Raises TargetError when the daemon does not answer or breaks off the stream.
        """
        request = self._request("GET", path, None, holder, headers, _STREAM_S)
        with self._in_words("GET", path, _STREAM_S):
            answer = await self._streams.handle_async_request(request)
            try:
                yield StreamedAnswer(answer.status, _read_headers(answer), answer.aiter_stream())
            finally:
                await answer.aclose()

    async def close(self) -> None:
        """Close the connections."""
        for pool in (self._reading, self._changing, self._streams):
            await pool.aclose()

    def _request(
        self,
        method: str,
        path: str,
        body: bytes | None,
        holder: TokenHolder | None,
        headers: Mapping[str, str] | None,
        limit_s: float,
    ) -> httpcore.Request:
        sent = {"Host": "adocd", "Content-Length": str(len(body or b"")), **(headers or {})}
        if self._secret is not None:
            sent[WEB_HEADER] = self._secret
            if holder is not None:
                sent[HOLDER_HEADER] = holder.name
        return httpcore.Request(
            method,
            httpcore.URL(scheme=b"http", host=b"adocd", target=path.encode("ascii", "replace")),
            # Passed on unchanged: HTTP headers are bytes, which servers decode as latin-1 (RFC 9110, 5.5).
            headers=[(name.encode("ascii"), value.encode("latin-1")) for name, value in sent.items()],
            content=body or b"",
            extensions={"timeout": {"connect": _READ_S, "write": _READ_S, "pool": _READ_S, "read": limit_s}},
        )

    @contextlib.contextmanager
    def _in_words(self, method: str, path: str, limit_s: float) -> Iterator[None]:
        what = f"{method} {path.partition('?')[0]}"
        said: TargetError
        try:
            yield
            return
        except httpcore.PoolTimeout:
            said = Busy(f"the daemon is busy with {_CONNECTIONS} other requests; try {what} again")
        except httpcore.TimeoutException:
            said = Silent(f"{self._socket} did not answer {what} within {limit_s:g} s")
        except httpcore.ConnectError as error:
            said = Unreachable(f"nothing answers at {self._socket}: {_reason(error)}")
        except (httpcore.NetworkError, httpcore.RemoteProtocolError):
            said = Unreachable(f"{self._socket} closed the connection before it had answered {what}")
        raise said from None


async def _whole(answer: httpcore.Response) -> tuple[int, dict[str, str], bytes]:
    body = bytearray()
    try:
        async for piece in answer.aiter_stream():
            body += piece
            if len(body) > _ANSWER_BYTES:
                raise NotAnAgent(f"the daemon answered with more than {_ANSWER_BYTES} bytes")
    finally:
        await answer.aclose()
    return answer.status, _read_headers(answer), bytes(body)


def _read_headers(answer: httpcore.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in answer.headers}


def _reason(error: BaseException) -> str:
    """Find the operating system's error text among the causes of the library's error."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return str(error)
