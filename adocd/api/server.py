"""Serving an ASGI application on a socket that the caller has bound, inside the caller's event loop."""

import asyncio
import contextlib
import errno
import fcntl
import os
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import uvicorn
from fastapi import FastAPI

from adocd.api.limits import MAX_HEAD_BYTES, LimitedConnection, LimitedServer
from adocd.daemon.book import own_file
from adocd.daemon.fleet.address import Address


class _Server(LimitedServer):
    """Leaves signals to its caller, who has more than a server to stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install nothing."""
        yield


class AddressInUse(Exception):
    """Somebody listens there already; one sentence."""


@contextlib.asynccontextmanager
async def serving(app: FastAPI, listener: socket.socket, *, pages: bool = False) -> AsyncIterator[None]:
    """Serve while the body runs, within the limits of `limits`; those on bodies are the application's to put in place.

    Nothing of uvicorn is left to what else is installed or set: no other parser, no WebSocket but ours, for which the
    limits would not hold, no header that could say who calls (FORWARDED_ALLOW_IPS), and no line in the log for a bad
    request. With `pages` there are WebSockets, within the limits of `websockets`, and the application's own beginning
    and end, which the page has.
    """
    more: dict[str, Any] = {"ws": "none", "lifespan": "off"}
    if pages:
        from adocd.api import websockets  # noqa: PLC0415 - not for the daemon, which would pay for it and has none

        limit = websockets.MAX_MESSAGE_BYTES
        more = {"ws": websockets.LimitedWebSocket, "ws_max_size": limit, "lifespan": "on"}
    config = uvicorn.Config(
        app, interface="asgi3", http=LimitedConnection, h11_max_incomplete_event_size=MAX_HEAD_BYTES, **more,
        log_config=None, log_level="error", access_log=False, proxy_headers=False, timeout_graceful_shutdown=2,
    )  # fmt: skip
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[listener]), name="rest")
    try:
        yield
    finally:
        server.should_exit = True
        await task


@contextlib.contextmanager
def daemon_socket(path: Path) -> Iterator[socket.socket]:
    """Listen on the daemon's Unix socket, mode 0660, while the body runs; a dead one left behind is replaced.

    A lock beside it, not the socket itself, says whether a daemon lives: between a socket's bind and its listen
    nobody could tell. Others may write to the directory, and we may be root: no link of theirs is followed, and nothing
    of theirs is changed. Raises AddressInUse, and OSError when the path cannot be bound.
    """
    with _lock(path.with_suffix(".lock")) as lock, socket.socket(socket.AF_UNIX) as listener:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AddressInUse(f"another adocd serves at {path}; stop it, or choose another ADOCD_RUN_DIR") from None
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        try:
            _open_to_the_group(path)
            listener.listen(128)
            yield listener
        finally:
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[int]:
    """Open the lock, for reading: one that another user's daemon left behind does as well."""
    descriptor = own_file.opened(path, os.O_RDONLY | os.O_CREAT, 0o640, of_anyone=True)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_to_the_group(path: Path) -> None:
    """Make the socket's mode 0660, and nothing else's."""
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOTSOCK, f"somebody replaces {path.name} while we make it")
        os.chmod(f"/proc/self/fd/{descriptor}", 0o660)
    finally:
        os.close(descriptor)


def listen(address: Address) -> socket.socket:
    """Bind a TCP port (0: any free one). Raises AddressInUse when it cannot be had, and says why."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = None
    try:
        # The protocol is named, for asyncio sends an answer's head and body without delay (TCP_NODELAY) only where it
        # is. A service may have been denied the family.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if listener.family == socket.AF_INET6:
            # `::` is every address of this machine, as 0.0.0.0 is for IPv4 alone, whatever the system's default says.
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, address.host != "::")
        listener.bind((address.host, address.port))
        listener.listen(128)
    except OSError as error:
        if listener is not None:
            listener.close()
        raise AddressInUse(
            f"port {address.port} cannot be had on {address.host} ({error.strerror}); choose another"
        ) from None
    return listener


def listen_loopback(port: int) -> socket.socket:
    """Bind a TCP port on loopback, as `listen` does."""
    return listen(Address("127.0.0.1", port))
