"""The fake agent's HTTP side: a threading server on a Unix socket that can hang and die on command."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import socket
import socketserver
import struct
import sys
import threading
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

MAX_BODY_BYTES = 1 << 20
Json = Any


class Refusal(Exception):
    """A request that the agent turns down, as problem details."""

    def __init__(self, status: int, code: str, detail: str, **extra: str) -> None:
        super().__init__(detail)
        self.status = status
        self.body: dict[str, Json] = {
            "type": "about:blank",
            "title": HTTPStatus(status).phrase,
            "status": status,
            "detail": detail,
            "code": code,
            **extra,
        }


Answer = Callable[[str, str, bytes], tuple[int, Json]]
"""(method, target, body) -> (status, body); raises Refusal."""


def parse_body(data: bytes) -> Json:
    """Parse JSON; refuse what is none."""
    try:
        return json.loads(data, parse_constant=_not_json)
    except (ValueError, RecursionError) as error:
        raise Refusal(400, "bad_request", f"The body is not JSON: {error}.") from None


def _not_json(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


def allowed_uids() -> set[int]:
    """Who may talk to this process, by the contract."""
    allowed = {0, os.geteuid()}
    with contextlib.suppress(KeyError):
        allowed.add(pwd.getpwnam("adocd").pw_uid)
    words = os.environ.get("ADOCD_ALLOW_UIDS", "").split(",")
    return allowed | {int(word) for word in words if word.strip().isdigit()}


class AgentServer(socketserver.ThreadingUnixStreamServer):
    """Listens under a temporary name and moves it into place, so that the name always means a live listener."""

    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, path: Path, answer: Answer) -> None:
        self.path = path
        self.answer = answer
        self.running = threading.Event()
        self.running.set()
        self.closed = False
        self._connections: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._allowed = allowed_uids()
        temporary = path.with_name(f".{path.name}")
        temporary.unlink(missing_ok=True)
        super().__init__(str(temporary), _Handler)
        os.chmod(temporary, 0o660)
        os.rename(temporary, path)
        self._thread = threading.Thread(
            target=self.serve_forever, kwargs={"poll_interval": 0.02}, name="fake-agent", daemon=True
        )
        self._thread.start()

    def allows(self, connection: socket.socket) -> bool:
        """Tell whether the peer's uid is on the list."""
        size = struct.calcsize("3i")
        _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
        return uid in self._allowed

    def process_request(self, request: Any, client_address: Any) -> None:
        """Remember the connection, so that `stop` can break it off."""
        with self._lock:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Forget the connection."""
        with self._lock:
            self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002
        """Ignore a peer that went away; anything else is a bug of the fake, and pytest shows it."""
        error = sys.exception()
        if error is not None and not isinstance(error, OSError):
            raise error

    def stop(self, *, unlink: bool) -> None:
        """Drop every connection in the middle of whatever it does; `unlink=False` is what SIGKILL leaves."""
        if self.closed:
            return
        self.closed = True
        if unlink:
            self.path.unlink(missing_ok=True)
        self.running.set()
        self.socket.shutdown(socket.SHUT_RDWR)  # refuses from here on, before anybody can notice the end
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    server: AgentServer
    protocol_version = "HTTP/1.1"
    timeout = 30

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base class names it)
        """Say nothing: a host's stderr belongs to the host."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:  # noqa: ARG002
        """Answer the base class's own refusals (bad request line, unknown method) as problem details."""
        self.close_connection = True
        if code == HTTPStatus.NOT_IMPLEMENTED:
            self._send_refusal(Refusal(405, "method_not_allowed", f"{message or 'Unknown method'}."))
        else:
            self._send_refusal(Refusal(400, "bad_request", f"{message or 'Not HTTP/1.1'}."))

    def _serve(self) -> None:
        try:
            self._serve_or_refuse()
        except Refusal as refusal:
            self._send_refusal(refusal)

    def _serve_or_refuse(self) -> None:
        if not self.server.allows(self.connection):
            self.close_connection = True
            raise Refusal(403, "forbidden", "Your uid may not talk to this agent; see ADOCD_ALLOW_UIDS.")
        body = self._body()
        self.server.running.wait()
        if self.server.closed:
            self.close_connection = True
            return
        status, answer = self.server.answer(self.command, self.path, body)
        if not self.server.closed:
            self._send(status, "application/json", answer)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") is not None:
            self.close_connection = True
            raise Refusal(400, "bad_request", "Send the body with a Content-Length.")
        word = self.headers.get("Content-Length", "0")
        if not word.isdigit():
            self.close_connection = True
            raise Refusal(400, "bad_request", "Content-Length is not a number.")
        if int(word) > MAX_BODY_BYTES:
            self.close_connection = True
            raise Refusal(413, "too_large", f"A body may have {MAX_BODY_BYTES} bytes.")
        data = self.rfile.read(int(word))
        if len(data) < int(word):
            self.close_connection = True
            raise Refusal(400, "bad_request", "The body is shorter than its Content-Length.")
        return data

    def _send_refusal(self, refusal: Refusal) -> None:
        self._send(refusal.status, "application/problem+json", refusal.body)

    def _send(self, status: int, media: str, body: Json) -> None:
        data = json.dumps(body, allow_nan=False).encode()
        self.request_version = "HTTP/1.1"  # also for a request line so broken that the base class assumes 0.9
        self.send_response_only(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if getattr(self, "command", None) != "HEAD":
            self.wfile.write(data)

    do_GET = do_PUT = do_PATCH = do_DELETE = do_POST = do_HEAD = do_OPTIONS = _serve  # noqa: N815
