"""Who calls: the user at the other end of the daemon's Unix socket, on the kernel's word.

The socket's mode decides who may call: 0660, so root, the daemon's user and the socket's group, which the kernel holds
at every connect. A list of uids in here would have to say the same once more, and would get it wrong: the group is
where an administrator says who steers, and a uid does not tell its groups. So nobody is refused by the name that is
found here; it is there to be written down.

The daemon's web process is a caller like any other, and speaks for people who have shown it a token. It says so by two
headers, and is believed by a secret that the daemon gives to it alone, on its standard input: a header is quickly
written by anyone in the socket's group, and the daemon's uid may have other programs.
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

#: Where a connection leaves it in the state of its requests.
PEER_UID = "peer_uid"
_UCRED = struct.Struct("3i")
#: What the web process shows to be believed, and whose token it acts for; no token where it only reads.
WEB_HEADER = "adocd-web"
HOLDER_HEADER = "adocd-holder"


def peer_uid(connection: socket.socket | None) -> int | None:
    """Return the uid that connected, as it was at that moment; None where the kernel does not know, as on TCP."""
    if connection is None or connection.family != socket.AF_UNIX:
        return None
    try:
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size)
    except OSError:
        return None
    _, uid, _ = _UCRED.unpack(credentials)
    return int(uid)


def trust_web(app: FastAPI, web_secret: str) -> None:
    """Let `app` believe whom the holder of this secret speaks for, if it is of the user that this process is of now."""
    app.state.web = (web_secret, os.geteuid())


async def from_web(request: Request) -> bool:
    """Tell whether the web process asks; for every route, so that no claim which is not its own goes unnoticed.

    Raises ProblemError for another's claim to be the web process, and for what it may never ask: to change anything in
    nobody's name.
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
        raise ProblemError(403, "the web process changes nothing for who has shown no token")
    return True


FromWeb = Annotated[bool, Depends(from_web)]


def caller(request: Request, by_web: FromWeb) -> str:
    """Return the name of who makes this request: "alice", "uid 1234" where it has none, or "token grafana".

    No user's name has a space, so nobody is taken for a token. Looking up a name may wait for a directory service, so a
    route takes it as `Caller`, which is resolved beside the event loop. "unknown" for a request that did not come over
    a Unix socket.
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


#: A route's parameter of this type is the caller's name; FastAPI runs what is no coroutine in a thread.
Caller = Annotated[str, Depends(caller)]
