"""How the web process asks the daemon, in whose name, and how it hands on what never ends."""

import contextlib
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpcore

from adocd.api.caller import HOLDER_HEADER, WEB_HEADER
from adocd.api.web.access import TokenHolder
from adocd.targets.errors import NotAnAgent, Silent, TargetError, Unreachable

#: How long reading may take.
_READ_S = 5.0
#: How long changing may: a restore waits for a stall to end.
_CHANGE_S = 120.0
#: How long a stream may say nothing: three times the daemon's keep-alive comments.
_STREAM_S = 45.0
#: Less than the daemon waits for a request on a connection that it keeps (limits.TRANSFER_S).
_KEPT_S = 5.0
#: For reading; and as many for changes, so that restores which wait for their stalls hold up no reading.
_CONNECTIONS = 16
_ANSWER_BYTES = 64 << 20
_READING = ("GET", "HEAD")


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """An answer whose body comes in pieces, as long as the daemon has some."""

    status: int
    headers: Mapping[str, str]
    pieces: AsyncIterator[bytes]


class Upstream:
    """The daemon's REST on its Unix socket.

    `web_secret` is what the daemon has given to its web process, and to nobody else: with it, the daemon believes what
    is said here about who asks (see caller). Without it every request is this user's own.
    """

    def __init__(self, daemon_socket: Path, web_secret: str | None = None) -> None:
        self._socket = daemon_socket
        self._secret = web_secret
        self._reading, self._changing = (
            httpcore.AsyncConnectionPool(max_connections=_CONNECTIONS, keepalive_expiry=_KEPT_S, uds=str(daemon_socket))
            for _ in range(2)
        )
        # Each has a connection for itself; how many there may be is the daemon's to say.
        self._streams = httpcore.AsyncConnectionPool(
            max_connections=None, max_keepalive_connections=0, uds=str(daemon_socket)
        )

    async def get(self, path: str) -> tuple[int, bytes]:
        """Read a path in nobody's name; raises TargetError when the daemon does not answer."""
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
        """Ask in the name of a token's holder; status, headers (with small letters) and body of the answer.

        `path` is as in a request line: quoted, with its query. Nothing is normalized in it, so that what the daemon
        reads is what has been checked here. Raises TargetError when the daemon does not answer.
        """
        limit_s, pool = (_READ_S, self._reading) if method in _READING else (_CHANGE_S, self._changing)
        request = self._request(method, path, body, holder, headers, limit_s)
        with self._in_words(method, path, limit_s):
            try:
                return await _whole(await pool.handle_async_request(request))
            except (httpcore.RemoteProtocolError, httpcore.ReadError, httpcore.WriteError):
                if method not in _READING:
                    raise
            # The daemon has closed a connection that was kept: it, or it alone, has been started anew.
            request = self._request(method, path, body, holder, headers, limit_s)
            return await _whole(await pool.handle_async_request(request))

    @contextlib.asynccontextmanager
    async def stream(
        self, path: str, holder: TokenHolder | None = None, headers: Mapping[str, str] | None = None
    ) -> AsyncIterator[StreamedAnswer]:
        """Read a path whose answer goes on; leaving the block ends it at the daemon, too.

        The daemon is read no faster than the pieces are taken, so who is slow is the daemon's to judge, as if there
        were no proxy. Raises TargetError when the daemon does not answer, and when it ends in the middle.
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
            # As they came: HTTP's headers are bytes, which servers read as latin-1 (RFC 9110, 5.5).
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
            said = Silent(f"the daemon is busy with {_CONNECTIONS} other requests; try {what} again")
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
    """Find the operating system's word on it below the library's."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__cause__ or cause.__context__
    return str(error)
