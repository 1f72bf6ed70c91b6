"""A daemon's REST on a Unix socket, answering with what a test puts in."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class FakeDaemon:
    """What the daemon knows; tests change it while it serves."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.targets: list[dict[str, Any]] = []
        self.samples: list[dict[str, Any]] = []
        self.decisions: list[dict[str, Any]] = []
        self.sentence: str | None = None
        self.raw: dict[str, bytes] = {}

    def answer(self, url: str) -> tuple[int, bytes]:
        """Answer a GET: the status and the body."""
        parts = urlsplit(url)
        if parts.path in self.raw:
            return 200, self.raw[parts.path]
        answers: dict[str, Any] = {"/healthz": {"status": "ok"}, "/v1/targets": {"targets": self.targets}}
        for target in self.targets:
            answers[f"/v1/targets/{target['id']}"] = {
                "process": None,
                "originals": None,
                "sentence": self.sentence,
                "sample": self.samples[-1] if self.samples else None,
                "last_decision": self.decisions[-1] if self.decisions else None,
            } | target
            answers[f"/v1/targets/{target['id']}/decisions"] = {"decisions": self.decisions}
        if parts.path not in answers:
            return 404, b"{}"
        return 200, json.dumps(answers[parts.path]).encode()


class _Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = False
    block_on_close = True
    knows: FakeDaemon


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        status, body = self.server.knows.answer(self.path)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def address_string(self) -> str:
        return "unix"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def fake_daemon(socket_path: Path) -> Iterator[FakeDaemon]:
    """Serve a FakeDaemon on `socket_path`."""
    with _Server(str(socket_path), _Handler) as server:
        server.knows = FakeDaemon()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.knows
        finally:
            server.shutdown()
            thread.join()
