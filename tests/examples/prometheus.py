"""A real Prometheus on a free port, with its data in a directory of its own."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.waiting import eventually


@dataclass(frozen=True)
class Prometheus:
    """One that runs."""

    port: int
    log: Path

    def get(self, path: str, **query: str) -> Any:
        """Ask its API; the data of the answer, or an AssertionError with its own words."""
        address = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(address, timeout=60) as answer:
                content = json.load(answer)
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{path} {query}: {error.read().decode()}") from None
        assert content["status"] == "success", content
        return content["data"]

    def query(self, expression: str) -> list[Any]:
        """Evaluate an expression now; its series."""
        result: list[Any] = self.get("query", query=expression)["result"]
        return result

    def targets_up(self) -> bool:
        """Whether there is a target, and all are up."""
        found = [target["health"] for target in self.get("targets")["activeTargets"]]
        return bool(found) and set(found) == {"up"}


@contextlib.contextmanager
def prometheus(config: Path, directory: Path) -> Iterator[Prometheus]:
    """Run Prometheus while the block runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    running = Prometheus(port, directory / "prometheus.log")
    with running.log.open("w") as log:
        process = subprocess.Popen(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{port}",
                "--log.level=warn",
            ],
            stdout=log,
            stderr=log,
        )

    def is_ready() -> bool:
        assert process.poll() is None, running.log.read_text()
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5):
            return True
        return False

    try:
        eventually(is_ready, every_s=0.1, what=f"Prometheus is ready: {running.log}")
        yield running
    finally:
        process.terminate()
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
