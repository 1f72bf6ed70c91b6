"""A daemon's REST without a daemon: what its clients must do with answers that a real one gives seldom."""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

from adocd.targets.run_dir import daemon_socket

Answer = tuple[int, Any]
#: Answers a request (method, path with query, headers, body) with status and JSON; bytes are sent as they are.
Route = Callable[[str, str, dict[str, str], Any], Answer]


class FakeDaemon:
    """Answers by `routes`, by path without query; `asked` has every request's method, target, headers and body."""

    def __init__(self, run_dir: Path, routes: dict[str, Answer | Route]) -> None:
        self.routes = routes
        self.asked: list[tuple[str, str, dict[str, str], Any]] = []
        self._path = daemon_socket(run_dir)
        daemon = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                headers = {name.lower(): value for name, value in self.headers.items()}
                daemon.asked.append((self.command, self.path, headers, body))
                found = daemon.find(urlsplit(self.path).path)
                status, content = found(self.command, self.path, headers, body) if callable(found) else found
                is_stream = isinstance(content, bytes)
                sent = content if is_stream else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/event-stream" if is_stream else "application/json")
                self.send_header("Content-Length", str(len(sent)))
                self.end_headers()
                self.wfile.write(sent)

            do_GET = do_PUT = do_POST = do_DELETE = _answer  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                """Say nothing."""

            def address_string(self) -> str:
                return "terminal"

        class Server(socketserver.ThreadingUnixStreamServer):
            daemon_threads = True

        self._server = Server(str(self._path), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def find(self, path: str) -> Answer | Route:
        """Give what answers at this path."""
        return self.routes.get(path, (404, {"detail": "there is no such thing"}))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._path.unlink(missing_ok=True)


HEALTH: Answer = (
    200,
    {
        "status": "ok", "version": "0.1.0", "pid": 1, "targets": 0,
        "journal": {"path": "/j/journal.sqlite", "problem": None, "rescued": None, "lost_decisions": 0},
    },
)  # fmt: skip


def event(id_: int, kind: str, **data: Any) -> bytes:
    """Write one server-sent event as the daemon does."""
    content = {"id": id_, "unix_s": 1_700_000_000.0 + id_, "target": "ed765b", "path": "/db", "kind": kind} | data
    return f"id: {id_}\nevent: {kind}\ndata: {json.dumps(content)}\n\n".encode()
