"""Serves an ASGI application in the caller's event loop, on a socket that the caller has bound."""

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
    """Leaves signals to its caller, which has more to stop than a server."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install no signal handlers."""
        yield


class AddressInUse(Exception):
    """The address is in use or cannot be bound; its text is one sentence."""


@contextlib.asynccontextmanager
async def serving(app: FastAPI, listener: socket.socket, *, pages: bool = False) -> AsyncIterator[None]:
    """Serve while the body runs, within the limits of `limits`; the application itself must install `WholeBody`.

    No installed package or environment variable may change uvicorn's behaviour: no other parser and no other WebSocket,
    which would evade the limits, no header that says who calls (FORWARDED_ALLOW_IPS), no log line for a bad request.
    `pages` adds what the page needs: WebSockets, within the limits of `websockets`, and the application's lifespan.
    """
    more: dict[str, Any] = {"ws": "none", "lifespan": "off"}
    if pages:
        from adocd.api import websockets  # noqa: PLC0415 - the daemon has no WebSockets, and should not pay for the import

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
    """Listen on the daemon's Unix socket, mode 0660, while the body runs; replaces the socket of a dead daemon.

    A lock file next to it, not the socket, tells whether a daemon is alive: between bind and listen the socket could
    not tell. Others may be able to write to the directory, and we may be root, so this follows none of their links and
    changes none of their files. Raises AddressInUse, and OSError when the path cannot be bound.
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
    """Open the lock for reading only, so that one left behind by another user's daemon works too."""
    descriptor = own_file.opened(path, os.O_RDONLY | os.O_CREAT, 0o640, of_anyone=True)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_to_the_group(path: Path) -> None:
    """Set the socket's mode to 0660; fail if somebody has replaced it by something else."""
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
            raise OSError(errno.ENOTSOCK, f"somebody replaces {path.name} while we make it")
        os.chmod(f"/proc/self/fd/{descriptor}", 0o660)
    finally:
        os.close(descriptor)


def listen(address: Address) -> socket.socket:
    """Bind a TCP port (0: any free one). Raises AddressInUse, with the reason, when it cannot."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = None
    try:
        # The protocol is explicit because asyncio sets TCP_NODELAY, which sends head and body without delay, only then.
        # Inside the try, because a service may have been denied the address family.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if listener.family == socket.AF_INET6:
            # `::` means every address of this machine, IPv4 too, whatever net.ipv6.bindv6only is.
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
    """Bind a TCP port on 127.0.0.1; raises what `listen` raises."""
    return listen(Address("127.0.0.1", port))
