"""Who calls: the user at the other end of the daemon's Unix socket, as the kernel reports it.

The socket's mode decides who may call: 0660, so root, the daemon's user and the socket's group, which the kernel checks
at every connect. A list of uids here would only repeat that, and get it wrong: an administrator grants access by the
group, and a uid does not tell its groups. So nobody is refused because of the name found here; it is for the records.

The daemon's web process is a caller like any other, and acts for clients that have shown it a token. It says so in two
headers, and proves it with a secret that the daemon gives only to it, on its standard input: anyone in the socket's
group can write a header, and other programs may have the daemon's uid.
"""

import functools
import hmac
import os
import pwd
import socket
import struct
from typing import Annotated

from fastapi import Depends, FastAPI, Request

from adocd.api.operations import is_reading
from adocd.api.problems import ProblemError

#: Key of the caller's uid in the state of a request, where its connection puts it.
PEER_UID = "peer_uid"
_UCRED = struct.Struct("3i")
#: Headers of the web process: its secret, and the holder of the token that it acts for (none for some reads).
WEB_HEADER = "adocd-web"
HOLDER_HEADER = "adocd-holder"


def peer_uid(connection: socket.socket | None) -> int | None:
    """Return the uid of the peer when it connected; None if the kernel does not know it, as on TCP."""
    if connection is None or connection.family != socket.AF_UNIX:
        return None
    try:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    except OSError:
        return None
    _, uid, _ = _UCRED.unpack(credentials)
    return int(uid)


def trust_web(app: FastAPI, web_secret: str) -> None:
    """Let `app` trust callers that have this secret, and run as this process's user, on whom they act for."""
    app.state.web = (web_secret, os.geteuid())


async def from_web(request: Request) -> bool:
    """Whether the web process calls; runs for every route, so that no false claim goes unnoticed.

    Raises ProblemError 403 when someone else claims to be the web process, and when the web process wants to change
    something without a token's holder.
    """
    claimed = request.headers.get(WEB_HEADER)
    if claimed is None:
        if HOLDER_HEADER in request.headers:
            raise ProblemError(403, f"{HOLDER_HEADER} is for adocd's own web process; leave it out")
        return False
    web: tuple[str, int] | None = getattr(request.app.state, "web", None)
    uid: int | None = getattr(request.state, PEER_UID, None)
    if web is None or not hmac.compare_digest(claimed.encode("latin-1"), web[0].encode("latin-1")) or uid != web[1]:
        raise ProblemError(403, f"{WEB_HEADER} is for adocd's own web process; leave it out")
    if HOLDER_HEADER not in request.headers and not is_reading(request.method, request.scope["path"]):
        raise ProblemError(403, "the web process may change things only for a client with a token")
    return True


FromWeb = Annotated[bool, Depends(from_web)]


def caller(request: Request, by_web: FromWeb) -> str:
    """Return the caller's name: "alice", "uid 1234" for a uid without a name, or "token grafana".

    User names have no space, so no user passes for a token. Looking up a name may wait for a directory service, so
    routes take it as `Caller`, which FastAPI resolves outside the event loop. Returns "unknown" for a request that did
    not come over a Unix socket.
    """
    if by_web and (holder := request.headers.get(HOLDER_HEADER)):
        return f"token {holder}"
    uid: int | None = getattr(request.state, PEER_UID, None)
    return "unknown" if uid is None else _name_of(uid)


@functools.lru_cache(maxsize=1000)
def _name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


#: The type of a route's parameter that is the caller's name; FastAPI runs plain functions in a thread.
Caller = Annotated[str, Depends(caller)]
