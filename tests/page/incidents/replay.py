"""Serves a recorded incident to a real web process, as the daemon would at its end."""

from __future__ import annotations

import contextlib
import gzip
import json
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.page.browser import Site
from tests.page.incidents.record import HERE, INCIDENTS
from tests.support.waiting import PATIENCE_S

__all__ = ["INCIDENTS", "replayed"]


def _moved(value: Any, by_s: float, name: str = "") -> Any:
    """Move every time of an answer, so that the incident ends now."""
    if isinstance(value, dict):
        return {key: _moved(each, by_s, key) for key, each in value.items()}
    if isinstance(value, list):
        return [_moved(each, by_s, name) for each in value]
    is_time = name.endswith("unix_s") or name in ("begin", "end")
    return value + by_s if is_time and isinstance(value, int | float) and value > 1e9 else value


#: The last seconds of an incident, which repeat for as long as its page is looked at.
_LAST_S = 60.0


def _going_on(points: list[Any]) -> list[Any]:
    """Repeat the last minute up to now, as an agent that still measures would: so every minute is like the last."""
    now = time.time()
    last = [point for point in points if point["unix_s"] > points[-1]["unix_s"] - _LAST_S]
    turns = range(1, 2 + int((now - points[-1]["unix_s"]) / _LAST_S)) if points else ()
    more = [point | {"unix_s": point["unix_s"] + turn * _LAST_S} for turn in turns for point in last]
    return points + [point for point in more if point["unix_s"] <= now]


class _Daemon(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def __init__(self, path: Path, recording: dict[str, Any]) -> None:
        super().__init__(str(path), _Answering)
        self.answers = _moved(recording["answers"], time.time() - recording["unix_s"])
        self.ends = threading.Event()


class _Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Daemon

    def address_string(self) -> str:
        return "unix"

    def log_message(self, *args: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        """Answer as the daemon did."""
        url = urlsplit(self.path)
        if url.path == "/v1/events":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.server.ends.wait()
            return
        answer = self.server.answers.get(url.path)
        if answer is not None and url.path.endswith("/history"):
            if self.server.answers[url.path.removesuffix("/history")]["state"] == "attached":
                answer = answer | {"points": _going_on(answer["points"])}
            begin = float(parse_qs(url.query).get("from_unix_s", ["0"])[0])
            answer = answer | {"points": [point for point in answer["points"] if point["unix_s"] > begin]}
        content = json.dumps(answer).encode()
        self.send_response(200 if answer is not None else 404)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextlib.contextmanager
def replayed(name: str) -> Iterator[Site]:
    """Serve the page of one recorded incident while the block runs."""
    recording = json.loads(gzip.decompress((HERE / f"{name}.json.gz").read_bytes()))
    with tempfile.TemporaryDirectory(prefix="adocd-") as directory, socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        port = listener.getsockname()[1]
        path = Path(directory) / "daemon.sock"
        with _Daemon(path, recording) as daemon, (Path(directory) / "web.log").open("w") as log:
            threading.Thread(target=daemon.serve_forever, daemon=True).start()
            web = subprocess.Popen(
                [sys.executable, "-m", "adocd.api.web", "--fd", str(listener.fileno()), "--daemon-socket", str(path),
                 "--tokens", str(Path(directory) / "tokens.json"), "--anonymous-read"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, pass_fds=[listener.fileno()],
            )  # fmt: skip
            try:
                assert web.stdin is not None
                assert web.stdout is not None
                web.stdin.write(b"secret\n")
                web.stdin.flush()
                assert web.stdout.read(1) == b".", "the web process lives"
                yield Site(Path(directory), port, "", 0)
            finally:
                web.terminate()
                web.wait(PATIENCE_S)
                for pipe in (web.stdin, web.stdout):
                    if pipe is not None:
                        pipe.close()
                daemon.ends.set()
                daemon.shutdown()
