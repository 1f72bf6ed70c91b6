"""The part of HTTP/1.1 that the protocol needs: read one request with limits on size and time, write one answer.

Not http.server: it does not limit the time of a whole request, and costs the host ten times as much interpreter time
per request (it parses headers as e-mail).
"""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from adocd_agent.problems import Refusal

Json = Any
MAX_BODY_BYTES = 1 << 20
MAX_HEAD_BYTES = 16 << 10
IDLE_S = 60.0
"""Longest wait of a connection for its next request."""
TRANSFER_S = 10.0
"""Longest time for a head, a body, or reading our answer, once it has begun."""
DRAIN_S = 1.0
DRAIN_BYTES = 16 << 20
_CHUNK = 1 << 16


class Gone(Exception):
    """The peer went away, or took too long."""


@dataclass(frozen=True)
class Request:
    """One request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    keep_alive: bool


class Stream:
    """A connected socket with deadlines and a buffer for what came early."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._buffer = bytearray()

    @property
    def empty(self) -> bool:
        """Whether nothing of a next request has come."""
        return not self._buffer

    def fill(self, deadline_s: float) -> None:
        """Receive more; raises Gone at the end, on an error and after the deadline."""
        left_s = deadline_s - time.monotonic()
        if left_s <= 0:
            raise Gone
        self._socket.settimeout(left_s)
        try:
            data = self._socket.recv(_CHUNK)
        except OSError:
            raise Gone from None
        if not data:
            raise Gone
        self._buffer += data

    def take_head(self, deadline_s: float) -> bytes:
        """Take everything before the empty line."""
        while True:
            while self._buffer[:2] == b"\r\n":  # RFC 9112, 2.2: empty lines before a request are ignored
                del self._buffer[:2]
            end = self._buffer.find(b"\r\n\r\n")
            if end > MAX_HEAD_BYTES or (end < 0 and len(self._buffer) > MAX_HEAD_BYTES):
                raise Refusal(400, "bad_request", f"Request line and headers may have {MAX_HEAD_BYTES} bytes.")
            if end >= 0:
                head = bytes(self._buffer[:end])
                del self._buffer[: end + 4]
                return head
            self.fill(deadline_s)

    def take(self, count: int, deadline_s: float) -> bytes:
        """Take exactly `count` bytes."""
        while len(self._buffer) < count:
            self.fill(deadline_s)
        data = bytes(self._buffer[:count])
        del self._buffer[:count]
        return data

    def send(self, data: bytes) -> None:
        """Send everything within TRANSFER_S."""
        try:
            self._socket.settimeout(TRANSFER_S)
            # In a host with the default action for SIGPIPE, a client that has given up would kill the process.
            self._socket.sendall(data, socket.MSG_NOSIGNAL)
        except OSError:
            raise Gone from None

    def drain(self) -> None:
        """Read on for a moment: closing with unread bytes resets, and a client still sending never reads us."""
        deadline_s = time.monotonic() + DRAIN_S
        drained = 0
        try:
            self._socket.shutdown(socket.SHUT_WR)
            while drained < DRAIN_BYTES:
                self._buffer.clear()
                self.fill(deadline_s)
                drained += len(self._buffer)
        except (Gone, OSError):
            pass


def read_request(stream: Stream) -> Request:
    """Read one request whose first bytes have come; raises Refusal or Gone."""
    deadline_s = time.monotonic() + TRANSFER_S
    lines = stream.take_head(deadline_s).decode("latin-1").split("\r\n")
    method, target, version = _request_line(lines[0])
    headers = _headers(lines[1:])
    length = _content_length(headers)
    if headers.get("expect", "").lower() == "100-continue":
        stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = stream.take(length, time.monotonic() + TRANSFER_S) if length else b""
    words = {word.strip().lower() for word in headers.get("connection", "").split(",")}
    return Request(method, target, headers, body, version == "HTTP/1.1" and "close" not in words)


def _request_line(line: str) -> tuple[str, str, str]:
    parts = line.split(" ")
    if len(parts) != 3 or not parts[0].isalpha() or not parts[1] or parts[2] not in ("HTTP/1.1", "HTTP/1.0"):
        raise Refusal(400, "bad_request", "This is not an HTTP/1.1 request line.")
    return parts[0], parts[1], parts[2]


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        name, value = name.lower(), value.strip()
        if not colon or not name or name != name.strip():
            raise Refusal(400, "bad_request", "A header is a name, a colon and a value.")
        if name == "content-length" and headers.get(name, value) != value:
            raise Refusal(400, "bad_request", "There are two different Content-Lengths.")
        headers[name] = value
    return headers


def _content_length(headers: dict[str, str]) -> int:
    if "transfer-encoding" in headers:
        raise Refusal(400, "bad_request", "Send the body with a Content-Length.")
    word = headers.get("content-length", "0")
    if not (word.isascii() and word.isdigit()):
        raise Refusal(400, "bad_request", "Content-Length is not a number.")
    if len(word) > 20 or int(word) > MAX_BODY_BYTES:
        raise Refusal(413, "too_large", f"A body may have {MAX_BODY_BYTES} bytes; send fewer changes at a time.")
    return int(word)


def answer_bytes(status: int, body: Json, *, close: bool, head: bool = False) -> bytes:
    """Write an answer; refusals are problem details."""
    data = json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
    media = "application/problem+json" if status >= 400 else "application/json"
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        f"Content-Type: {media}",
        f"Content-Length: {len(data)}",
        "Cache-Control: no-store",
    ]
    if close:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode() + (b"" if head else data)
