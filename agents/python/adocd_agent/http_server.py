"""The server on the agent's socket: one thread per connection, and a limited number of connections."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator

from adocd_agent.http_message import IDLE_S, Stream, answer_bytes, read_request
from adocd_agent.problems import Refusal
from adocd_agent.service import Answer

MAX_CONNECTIONS = 64
"""Most connections, and threads, at once. One more closes the connection that has been idle longest."""
MAX_STRANGERS = 4
"""Most connections of users without access at once, each for DRAIN_S; they do not count as connections above."""
BUSY_PAUSE_S = 0.1

Handler = Callable[[str, str, bytes], Answer]
"""(method, target, body) -> (status, body); raises Refusal."""


class Server:
    """Serves one listening Unix socket until `stop`."""

    def __init__(self, listener: socket.socket, handler: Handler, allowed_uids: frozenset[int]) -> None:
        self._listener = listener
        self._handler = handler
        self._allowed = allowed_uids
        self._lock = threading.Lock()
        self._idle_since_s: dict[socket.socket, float | None] = {}
        self._strangers: set[socket.socket] = set()
        self.stopped = False
        self._thread = threading.Thread(target=self._accept, name="adocd-http", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Break off every connection wherever it is, and refuse new ones."""
        self.stopped = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        with self._lock:
            connections = [*self._idle_since_s, *self._strangers]
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def forget(self) -> None:
        """In the child of a fork: give the descriptors back; the sockets live on in the parent."""
        self.stopped = True
        for inherited in [self._listener, *self._idle_since_s, *self._strangers]:
            with contextlib.suppress(OSError):
                inherited.close()

    def _accept(self) -> None:
        while not self.stopped:
            try:
                connection, _ = self._listener.accept()
            except (OSError, MemoryError):
                if not self.stopped:
                    time.sleep(BUSY_PAUSE_S)  # out of descriptors, or the like
                continue
            try:
                if not self._allows(connection):
                    self._refuse(connection)
                elif not self._admit(connection):
                    _turn_away(connection)
            except MemoryError:  # this client is lost, the next is served
                self._forget(connection)
                connection.close()

    def _admit(self, connection: socket.socket) -> bool:
        with self._lock:
            if self.stopped:
                return False
            if len(self._idle_since_s) >= MAX_CONNECTIONS and not self._evict():
                return False
            self._idle_since_s[connection] = time.monotonic()
        return self._start(self._serve, connection)

    def _refuse(self, connection: socket.socket) -> None:
        """Tell a user without access; close silently if there are too many."""
        with self._lock:
            told = not self.stopped and len(self._strangers) < MAX_STRANGERS
            if told:
                self._strangers.add(connection)
        if not (told and self._start(self._tell_stranger, connection)):
            connection.close()

    def _start(self, serve: Callable[[socket.socket], None], connection: socket.socket) -> bool:
        try:
            threading.Thread(target=serve, args=(connection,), name="adocd-client", daemon=True).start()
        except RuntimeError:  # the process cannot start threads
            self._forget(connection)
            return False
        return True

    def _forget(self, connection: socket.socket) -> None:
        with self._lock:
            self._idle_since_s.pop(connection, None)
            self._strangers.discard(connection)

    def _evict(self) -> bool:
        """Close the connection that has waited longest for its client's next request."""
        idle = {connection: since_s for connection, since_s in self._idle_since_s.items() if since_s is not None}
        if not idle:
            return False
        oldest = min(idle, key=lambda connection: idle[connection])
        del self._idle_since_s[oldest]
        with contextlib.suppress(OSError):
            oldest.shutdown(socket.SHUT_RDWR)
        return True

    def _serve(self, connection: socket.socket) -> None:
        stream = Stream(connection)
        with self._ending(connection):
            while self._serve_one(connection, stream):
                pass
            stream.drain()

    def _tell_stranger(self, connection: socket.socket) -> None:
        """Answer without waiting for a request, which nobody needs to read."""
        stream = Stream(connection)
        refusal = Refusal(403, "forbidden", "Your user may not talk to this agent; add its uid to ADOCD_ALLOW_UIDS.")
        with self._ending(connection):
            stream.send(answer_bytes(refusal.status, refusal.body, close=True))
            stream.drain()

    @contextlib.contextmanager
    def _ending(self, connection: socket.socket) -> Iterator[None]:
        """Close the connection in the end, whatever it is: the client is gone, or memory is short.

        What leaves the thread would go to the host's threading.excepthook.
        """
        try:
            with contextlib.suppress(Exception):
                yield
        finally:
            self._forget(connection)
            connection.close()

    def _serve_one(self, connection: socket.socket, stream: Stream) -> bool:
        """Answer one request; false when the connection is to be closed after it."""
        self._mark(connection, time.monotonic())
        if stream.empty:
            stream.fill(time.monotonic() + IDLE_S)
        try:
            request = read_request(stream)
        except Refusal as refusal:  # the following bytes may belong to a body
            stream.send(answer_bytes(refusal.status, refusal.body, close=True))
            return False
        self._mark(connection, None)
        status, body = self._handle(request.method, request.target, request.body)
        if self.stopped:
            return False
        stream.send(answer_bytes(status, body, close=not request.keep_alive, head=request.method == "HEAD"))
        return request.keep_alive

    def _handle(self, method: str, target: str, body: bytes) -> Answer:
        try:
            return self._handler(method, target, body)
        except Refusal as refusal:
            return refusal.status, refusal.body
        except Exception as error:  # a mistake of ours must not end in a traceback on the host's stderr
            problem = Refusal(500, "internal", f"The agent failed: {type(error).__name__}: {error}.")
            return problem.status, problem.body

    def _mark(self, connection: socket.socket, idle_since_s: float | None) -> None:
        with self._lock:
            if connection in self._idle_since_s:
                self._idle_since_s[connection] = idle_since_s

    def _allows(self, connection: socket.socket) -> bool:
        size = struct.calcsize("3i")
        try:
            credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        except OSError:
            return False
        _, uid, _ = struct.unpack("3i", credentials)
        return uid in self._allowed


def _turn_away(connection: socket.socket) -> None:
    busy = Refusal(503, "unavailable", f"All {MAX_CONNECTIONS} connections are busy; try again.")
    with contextlib.suppress(OSError):
        connection.setblocking(False)
        connection.send(answer_bytes(busy.status, busy.body, close=True), socket.MSG_NOSIGNAL)
    connection.close()
