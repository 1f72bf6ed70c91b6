"""A request in HTTP/1.1 with JSON over a Unix socket: how it is written, connected for, and said to have failed.

The daemon's connections to agents (`http`) and the terminal's to the daemon (adocd.api.client) share it.
"""

import json
import re
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from adocd.targets.errors import Busy, Dead, NotAllowed, NotAnAgent, Silent, Unreachable
from adocd.targets.http_answer import MAX_BODY_BYTES, CutOff, NotHttp, TooLarge

#: What a request's target may consist of; an agent may have named a database as it likes.
_TARGET = re.compile(r"[!-~]+")
#: And a header's value (RFC 9110, 5.5), which is the caller's own.
_VALUE = re.compile(r"[ -~]*")
_UCRED = struct.Struct("3i")


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request to the server at `socket`; `path` has the query, too."""

    socket: Path
    method: str
    path: str
    written: bytes

    @classmethod
    def of(
        cls,
        socket: Path,
        method: str,
        path: str,
        *,
        query: Mapping[str, str | int] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> "HttpRequest":
        """Write it; raises ValueError for a header that is none, NotAnAgent for a path that cannot be asked for."""
        for name, value in (headers or {}).items():
            if _VALUE.fullmatch(value) is None:
                raise ValueError(f"{value!r} can be no value of the header {name}")
        whole = f"{path}?{urlencode(query)}" if query else path
        if _TARGET.fullmatch(whole) is None:
            raise NotAnAgent(f"{socket} named something by {whole!r}, which no request can be made of")
        content = b"" if body is None else json.dumps(body).encode()
        kind = {"Content-Type": "application/json"} if content else {}
        fields = {"Host": "agent", "Content-Length": str(len(content)), **kind, **(headers or {})}
        head = f"{method} {whole} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        return cls(socket, method, whole, head.encode("ascii") + b"\r\n" + content)

    def failure(self, error: BaseException, timeout_s: float | None) -> Exception | None:
        """Say in a TargetError why it failed; None where the error is of another kind."""
        where, what = self.socket, f"{self.method} {self.path}"
        said: Exception | None = None
        if isinstance(error, TimeoutError):
            said = Silent(f"{where} did not answer {what} within {timeout_s} s")
        elif isinstance(error, NotHttp):
            said = NotAnAgent(f"{where} does not speak HTTP ({error}), so it is no agent")
        elif isinstance(error, TooLarge):
            said = NotAnAgent(f"{where} answered with more than {MAX_BODY_BYTES} bytes: it is no agent")
        elif isinstance(error, CutOff):
            said = Unreachable(f"{where} closed the connection before it had answered {what}")
        elif isinstance(error, BlockingIOError):
            said = Busy(f"{where} takes no more connections: its process is there and does not answer")
        elif isinstance(error, ConnectionRefusedError):
            said = Dead(f"nobody listens at {where} any more: its process has ended")
        elif isinstance(error, PermissionError):
            said = NotAllowed(f"{where} may not be used: {error.strerror}")
        elif isinstance(error, OSError):
            said = Unreachable(f"nothing answers at {where}: {error.strerror or error}")
        return said


def connected(path: Path) -> socket.socket:
    """Connect without blocking, which on a Unix socket takes no time.

    BlockingIOError means that the listener's queue is full (connect(2), EAGAIN): somebody is there and does not
    accept. asyncio would take it for a connection under way.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        connection.connect(str(path))
    except BaseException:
        connection.close()
        raise
    return connection


def peer_pid(connection: socket.socket) -> int | None:
    """Return the pid of the process that listens, in our own PID namespace; None if it cannot be seen from there.

    The kernel says so, with 0 for a process that has no pid here (unix(7), SO_PEERCRED).
    """
    pid, _, _ = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    return int(pid) or None
