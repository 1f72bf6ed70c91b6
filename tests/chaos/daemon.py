"""A real daemon that is started again and again on the same run directory, and how to ask it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from tests.cli.harness import BIN, Running, start
from tests.support.agent_client import UnixConnection
from tests.support.waiting import eventually

Json = Any


class Daemon:
    """One `adocd serve` after the other; all write to the same log."""

    def __init__(
        self,
        run_dir: Path,
        *arguments: str,
        lease_ttl_s: float = 1.0,
        tick_s: float = 0.2,
        memory_budget_bytes: int = 0,
        before: Sequence[str | Path] = (),
    ) -> None:
        """Give the arguments of `serve`, keys of its configuration, and what stands before the whole command."""
        self.run_dir = run_dir
        self.lease_ttl_s = lease_ttl_s
        self.environment: dict[str, str] = {}
        self._before = before
        self._arguments = arguments
        self._config = run_dir / "adocd.toml"
        self._config.write_text(
            f"[daemon]\ntick_s = {tick_s}\nlease_ttl_s = {lease_ttl_s}\nmemory_budget_bytes = {memory_budget_bytes}\n"
        )
        self._log = run_dir / "serve.log"
        self._log.touch()
        self._process: Running | None = None

    @property
    def pid(self) -> int:
        """The process that runs now."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """What all of them have logged."""
        return self._log.read_text()

    def start(self) -> None:
        """Start one and wait until it answers."""
        assert self._process is None
        env = dict(os.environ) | {"ADOCD_RUN_DIR": str(self.run_dir)} | self.environment
        arguments = ("serve", "--config", str(self._config), *self._arguments)
        if self._before:
            with self._log.open("ab") as log:
                command = [*self._before, str(BIN / "adocd"), *arguments]
                self._process = subprocess.Popen(command, stderr=log, text=True, env=env)
        else:
            self._process = start("adocd", *arguments, env=env, out=self._log, err=self._log)
        # The socket of one that was killed is still there.
        eventually(self._serves, what=f"the daemon serves; its log: {self.log[-2000:]}")

    def kill(self) -> float:
        """End it without a chance to say goodbye; returns the monotonic time just before."""
        assert self._process is not None
        now_s = time.monotonic()
        self._process.kill()
        self._process.wait()
        self._process = None
        return now_s

    def stop(self) -> None:
        """End it as a service manager does, if it runs."""
        if self._process is not None:
            process, self._process = self._process, None
            process.send_signal(signal.SIGTERM)
            process.wait(60)

    @contextmanager
    def running(self) -> Iterator[Daemon]:
        """Start one, and end whichever runs at the end."""
        try:
            self.start()
            yield self
        finally:
            self.stop()

    def ask(self, method: str, path: str, body: Json = None) -> Json:
        """Call its REST, which is what adocctl calls, without the second that a new process takes."""
        connection = UnixConnection(self.run_dir / "daemon.sock", 20)
        try:
            data = None if body is None else json.dumps(body)
            connection.request(method, path, data, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
            assert answer.status < 300, f"{method} {path}: {answer.status} {content.decode()}"
            return json.loads(content) if content else None
        finally:
            connection.close()

    def target(self, target: str) -> Json:
        """Return all of one target, None while the daemon has not found it."""
        known = [known["id"] for known in self.ask("GET", "/v1/targets")["targets"]]
        return self.ask("GET", f"/v1/targets/{target}") if target in known else None

    def pin(self, target: str, option: str, value: str, *, for_s: float = 600) -> None:
        """Set an override."""
        body = {"value": value, "column_family": None, "for_s": for_s, "reason": "chaos"}
        self.ask("PUT", f"/v1/targets/{target}/overrides/{option}", body)

    def unpin(self, target: str, option: str) -> None:
        """Remove an override."""
        self.ask("DELETE", f"/v1/targets/{target}/overrides/{option}")

    def _serves(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"the daemon ended: {self.log[-2000:]}"
        with suppress(OSError, http.client.HTTPException):
            return bool(self.ask("GET", "/healthz")["pid"] == self._process.pid)
        return False
