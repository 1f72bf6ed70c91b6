"""Connections without end: control and operators go on while somebody connects and closes as fast as he can."""

from __future__ import annotations

import contextlib
import functools
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from adocd.api.client import NoDaemon, RestClient
from tests.cli.harness import log_of, script_serving
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually

LOOK_S = 3.0
#: Connects until its input ends, and says how often: closing at once, or keeping some hundreds for a moment.
FLOOD = """
import socket, sys, threading
address, keeps = sys.argv[1], int(sys.argv[2])
address = ("127.0.0.1", int(address)) if address.isdecimal() else address
ended = threading.Event()
threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
made, kept = 0, []
while not ended.is_set():
    connection = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    try:
        connection.connect(address)
        made += 1
    except OSError:
        pass
    kept.append(connection)
    if len(kept) > keeps:
        kept.pop(0).close()
print(made)
"""


@contextlib.contextmanager
def flood(address: str, keeps: int) -> Iterator[list[int]]:
    """Connect without end while the block runs; afterwards the list has how often that was."""
    made: list[int] = []
    command = [sys.executable, "-c", FLOOD, address, str(keeps)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield made
        finally:
            said, _ = process.communicate()
            made.append(int(said))


class Watched:
    """What a while of a daemon's is like: how many cycles its loop went through, and how many requests it answered."""

    def __init__(self, run_dir: Path, target: str) -> None:
        client = RestClient(run_dir / "daemon.sock", timeout_s=5)
        where = f"/v1/targets/{target}/samples"
        after = self._last(client, where, 0)
        self.asked = self.answered = 0
        until_s = time.monotonic() + LOOK_S
        while time.monotonic() < until_s:
            self.asked += 1
            with contextlib.suppress(NoDaemon):
                self.answered += client.get("/healthz")["status"] == "ok"
            time.sleep(0.05)
        self.cycles = self._last(client, where, after) - after

    def _last(self, client: RestClient, where: str, after: int) -> int:
        """Ask again where there was no place: how many are answered is counted elsewhere."""

        def asked() -> dict[str, Any] | None:
            with contextlib.suppress(NoDaemon):
                return cast("dict[str, Any]", client.get(where, after=after))
            return None

        answer = eventually(asked, what="an answer")
        assert answer is not None
        samples = answer["samples"]
        return int(samples[-1]["sequence"]) if samples else after


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str, str]]:
    """Serve one database, on a Unix socket and by TCP; its run directory, the port and the target."""
    run_dir = tmp_path_factory.mktemp("flood")
    config = run_dir / "adocd.toml"
    config.write_text("[daemon]\ntick_s = 0.25\n")
    with FakeAgent(run_dir, [FakeDatabase()]), script_serving(run_dir, "--port", "0", "--config", str(config)):
        (port,) = eventually(lambda: re.findall(r"127\.0\.0\.1:(\d+)", log_of(run_dir)), what="the port")
        client = RestClient(run_dir / "daemon.sock")
        (target,) = eventually(functools.partial(_measured, client), what="it is measured")
        yield run_dir, port, target


def _measured(client: RestClient) -> list[str]:
    return [each["id"] for each in client.get("/v1/targets")["targets"] if each["writes_per_s"] is not None]


@pytest.fixture(scope="module")
def quiet(daemon: tuple[Path, str, str]) -> Watched:
    """What it is like when nobody else connects."""
    seen = Watched(daemon[0], daemon[2])
    assert seen.cycles >= 4
    assert seen.answered == seen.asked
    return seen


@pytest.mark.parametrize("keeps", [0, 300], ids=["closing at once", "keeping 300"])
@pytest.mark.parametrize("side", ["unix", "tcp"])
def test_a_flood_of_connections_starves_nobody(
    daemon: tuple[Path, str, str], quiet: Watched, side: str, keeps: int
) -> None:
    run_dir, port, target = daemon
    with flood(str(run_dir / "daemon.sock") if side == "unix" else port, keeps) as made:
        time.sleep(0.5)
        seen = Watched(run_dir, target)
    assert made[0] > 500, "this was no flood"
    assert seen.cycles >= quiet.cycles / 2, (
        f"{seen.cycles} cycles, and {quiet.cycles} without it; {made[0]} connections"
    )
    assert seen.answered >= seen.asked / 2, f"{seen.answered} of {seen.asked} answered"
    assert "Traceback" not in log_of(run_dir)
