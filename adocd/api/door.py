"""Taking connections, without anything else having to wait for it.

asyncio takes as many connections at once as may wait, two thousand under uvicorn, and makes a protocol of each, also of
those whose client has gone: a loop that connects and closes, three thousand times a second, left control every third
tick, and no place in the queue to anybody else.
"""

import asyncio
import logging
import socket
from collections.abc import Callable

_log = logging.getLogger(__name__)
#: So many may wait for us; the kernel's own bound (net.core.somaxconn) may be lower.
_WAITING = 2048
#: So many are looked at before the loop goes on with its other work: 3 ms where all their clients have gone.
_AT_ONCE = 256
#: And so many of them are made connections, at 0.3 ms each.
_NEW_AT_ONCE = 8
#: After so many nobody is taken for as long, so that a flood has no more than half of our time.
_REST_S = 0.005
#: When this process can open nothing more.
_EXHAUSTED_S = 1.0


class Door:
    """Takes connections on a listening socket and makes a protocol of each; for uvicorn, what asyncio.Server is."""

    def __init__(self, listener: socket.socket, make: Callable[[], asyncio.Protocol]) -> None:
        self._listener = listener
        self._make = make
        self._loop = asyncio.get_running_loop()
        self._later: asyncio.TimerHandle | None = None
        self._becoming: set[asyncio.Task[object]] = set()
        self._closed = False

    def open(self) -> None:
        """Begin."""
        self._listener.setblocking(False)
        self._listener.listen(_WAITING)
        self._watch()

    def close(self) -> None:
        """Take nobody any more; what is there is its protocols' to end."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._listener)
        if self._later is not None:
            self._later.cancel()

    async def wait_closed(self) -> None:
        """Wait for those that were being taken."""
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
            task.exception()  # the connection broke meanwhile: that is its client's affair


def _has_gone(connection: socket.socket) -> bool:
    """Tell whether the client has closed it before it has said anything."""
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
