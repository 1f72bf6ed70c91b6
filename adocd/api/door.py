"""Accepts connections at a limited rate, so that nothing else in the event loop has to wait for it.

asyncio accepts the whole backlog at once, two thousand connections under uvicorn, and makes a protocol for each, even
if its client is gone: a client that connected and closed three thousand times a second left the control loop only every
third tick, and left no place in the backlog to anyone else.
"""

import asyncio
import logging
import socket
from collections.abc import Callable

_log = logging.getLogger(__name__)
#: Backlog of the listening socket; the kernel's limit (net.core.somaxconn) may be lower.
_WAITING = 2048
#: Most connections accepted before the event loop gets its turn: 3 ms if all their clients are gone.
_AT_ONCE = 256
#: Most of these that get a protocol, at 0.3 ms each.
_NEW_AT_ONCE = 8
#: Pause after such a batch, so that a flood takes no more than half of our time.
_REST_S = 0.005
#: Pause when this process cannot open more files.
_EXHAUSTED_S = 1.0


class Door:
    """Accepts connections on a listening socket and makes a protocol for each; replaces asyncio.Server in uvicorn."""

    def __init__(self, listener: socket.socket, make: Callable[[], asyncio.Protocol]) -> None:
        self._listener = listener
        self._make = make
        self._loop = asyncio.get_running_loop()
        self._later: asyncio.TimerHandle | None = None
        self._becoming: set[asyncio.Task[object]] = set()
        self._closed = False

    def open(self) -> None:
        """Listen and start to accept."""
        self._listener.setblocking(False)
        self._listener.listen(_WAITING)
        self._watch()

    def close(self) -> None:
        """Stop accepting; open connections are closed by their protocols."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._listener)
        if self._later is not None:
            self._later.cancel()

    async def wait_closed(self) -> None:
        """Wait for the connections that are still being set up."""
        await asyncio.gather(*self._becoming, return_exceptions=True)

    def _watch(self) -> None:
        self._later = None
        self._loop.add_reader(self._listener, self._take)

    def _rest(self, how_long_s: float) -> None:
        self._loop.remove_reader(self._listener)
        self._later = self._loop.call_later(how_long_s, self._watch)

    def _take(self) -> None:
        new = 0
        for _ in range(_AT_ONCE):
            try:
                connection, _address = self._listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                _log.warning("no connection can be taken for %g s: %s", _EXHAUSTED_S, error.strerror)
                self._rest(_EXHAUSTED_S)
                return
            connection.setblocking(False)
            if _has_gone(connection):
                connection.close()
                continue
            task = self._loop.create_task(self._loop.connect_accepted_socket(self._make, connection))
            self._becoming.add(task)
            task.add_done_callback(self._done)
            new += 1
            if new == _NEW_AT_ONCE:
                break
        self._rest(_REST_S)

    def _done(self, task: asyncio.Task[object]) -> None:
        self._becoming.discard(task)
        if not task.cancelled():
            task.exception()  # the client broke the connection: marked as seen, so that asyncio does not log it


def _has_gone(connection: socket.socket) -> bool:
    """Whether the client has closed the connection before it sent anything."""
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
