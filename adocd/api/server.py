"""Serving an ASGI application on a socket that the caller has bound, inside the caller's event loop."""

import asyncio
import contextlib
import fcntl
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import uvicorn
from fastapi import FastAPI


class _Server(uvicorn.Server):
    """Leaves signals to its caller, who has more than a server to stop."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Install nothing."""
        yield


class AddressInUse(Exception):
    """Somebody listens there already; one sentence."""


@contextlib.asynccontextmanager
async def serving(app: FastAPI, listener: socket.socket) -> AsyncIterator[None]:
    """Serve while the body runs."""
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=2)
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
    nobody could tell. Raises AddressInUse, and OSError when the path cannot be bound.
    """
    with path.with_suffix(".lock").open("w") as lock, socket.socket(socket.AF_UNIX) as listener:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AddressInUse(f"another adocd serves at {path}; stop it, or choose another ADOCD_RUN_DIR") from None
        path.unlink(missing_ok=True)
        listener.bind(str(path))
        try:
            path.chmod(0o660)
            listener.listen(128)
            yield listener
        finally:
            path.unlink(missing_ok=True)


def listen_loopback(port: int) -> socket.socket:
    """Bind a TCP port on loopback (0: any free one). Raises AddressInUse, and OSError otherwise."""
    listener = socket.socket(socket.AF_INET)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise AddressInUse(f"port {port} cannot be had on 127.0.0.1 ({error.strerror}); choose another") from None
    return listener
