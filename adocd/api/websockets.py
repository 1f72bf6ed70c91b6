"""WebSockets within limits: for the page alone, which the web process serves; the daemon's own socket has none.

uvicorn bounds the size of a message, and reads no further one before the last has been taken. It has no limit on the
time that a reader may take, and none on the number of connections, which adocd.api.limits counts.
"""

import time
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from adocd.api import problems

#: What a page sends is a click or a form.
MAX_MESSAGE_BYTES = 64 << 10
#: How long what was sent may lie unread. What lies there is at most what the page sends in this time.
UNREAD_S = 10.0


class LimitedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that its server looks at every tenth of a second; cut when its client does not read."""

    _unread_since_s: float | None = None

    def data_received(self, data: bytes) -> None:
        """Close what does not begin as a WebSocket does: its head is here, so nothing better comes.

        The parser refuses a POST, and a line or a number of headers that is too large for it, and leaves the answer to
        us: without one such a connection would keep the place of a page for ever.
        """
        super().data_received(data)
        if not self.handshake_initiated and not self.transport.is_closing():
            answer = problems.problem(400, "a WebSocket begins with a GET that has few and short headers")
            head = b"".join(b"%s: %s\r\n" % header for header in answer.raw_headers)
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n%s\r\n%s" % (head, answer.body))
            self.transport.close()

    async def send(self, message: Any) -> None:
        """Send; a refusal with a body ends the beginning, which uvicorn forgets, and complains of in the log."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def watch(self) -> None:
        """Cut the connection when what was sent has not been read in time."""
        transport = self.transport
        if transport.get_write_buffer_size() == 0:
            self._unread_since_s = None
        elif self._unread_since_s is None:
            self._unread_since_s = time.monotonic()
        elif time.monotonic() - self._unread_since_s > UNREAD_S:
            transport.abort()
