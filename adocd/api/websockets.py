"""Limits on WebSockets. Only the page of the web process uses them; the daemon's own socket has none.

uvicorn limits the size of a message, and reads the next one only after the last was taken. It limits neither the time
that a client may take to read nor the number of connections; adocd.api.limits counts these.
"""

import time
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from adocd.api import problems

#: Largest message from a page, which sends only clicks and forms.
MAX_MESSAGE_BYTES = 64 << 10
#: Limits how long sent data may stay unread, and so how much: at most what the page gets in this time.
UNREAD_S = 10.0


class LimitedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that is cut when its client does not read; its server checks it ten times a second."""

    _unread_since_s: float | None = None

    def data_received(self, data: bytes) -> None:
        """Close a connection whose head is not a WebSocket handshake.

        The parser rejects a POST, too long a line or too many headers, and leaves the answer to us: without one, such a
        connection would occupy a page's place for ever.
        """
        super().data_received(data)
        if not self.handshake_initiated and not self.transport.is_closing():
            answer = problems.problem(400, "a WebSocket begins with a GET that has few and short headers")
            head = b"".join(b"%s: %s\r\n" % header for header in answer.raw_headers)
            self.transport.write(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n%s\r\n%s" % (head, answer.body))
            self.transport.close()

    async def send(self, message: Any) -> None:
        """Send; completes the handshake after a refusal with a body; uvicorn forgets that, and logs an error."""
        await super().send(message)
        if message["type"] == "websocket.http.response.body" and not message.get("more_body", False):
            self.handshake_complete = True

    def watch(self) -> None:
        """Cut the connection if its client has not read the sent data in time."""
        transport = self.transport
        if transport.get_write_buffer_size() == 0:
            self._unread_since_s = None
        elif self._unread_since_s is None:
            self._unread_since_s = time.monotonic()
        elif time.monotonic() - self._unread_since_s > UNREAD_S:
            transport.abort()
