"""WebSockets within limits: for the page alone, which the web process serves; the daemon's own socket has none.

uvicorn bounds the size of a message, and reads no further one before the last has been taken. It has no limit on the
time that a reader may take, and none on the number of connections, which adocd.api.limits counts.
"""

import time

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

#: What a page sends is a click or a form.
MAX_MESSAGE_BYTES = 64 << 10
#: How long what was sent may lie unread. What lies there is at most what the page sends in this time.
UNREAD_S = 10.0


class LimitedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that its server looks at every tenth of a second; cut when its client does not read."""

    _unread_since_s: float | None = None

    def watch(self) -> None:
        """Cut the connection when what was sent has not been read in time."""
        transport = self.transport
        if transport.get_write_buffer_size() == 0:
            self._unread_since_s = None
        elif self._unread_since_s is None:
            self._unread_since_s = time.monotonic()
        elif time.monotonic() - self._unread_since_s > UNREAD_S:
            transport.abort()
