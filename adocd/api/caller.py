"""Who calls: the user at the other end of the daemon's Unix socket, on the kernel's word.

The socket's mode decides who may call: 0660, so root, the daemon's user and the socket's group, which the kernel holds
at every connect. A list of uids in here would have to say the same once more, and would get it wrong: the group is
where an administrator says who steers, and a uid does not tell its groups. So nobody is refused by the name that is
found here; it is there to be written down.
"""

import functools
import pwd
import socket
import struct
from typing import Annotated

from fastapi import Depends, Request

#: Where a connection leaves it in the state of its requests.
PEER_UID = "peer_uid"
_UCRED = struct.Struct("3i")


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


def caller(request: Request) -> str:
    """Return the name of the user who makes this request: "alice", or "uid 1234" where it has none.

    Looking up a name may wait for a directory service, so a route takes it as `Caller`, which is resolved beside the
    event loop. "unknown" for a request that did not come over a Unix socket.
    """
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
