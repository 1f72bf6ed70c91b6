"""The agent wakes a rate limiter whose requests have all gone to sleep (facebook/rocksdb#11742, before 8.5.3)."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from adocd.process.attach import attachment
from tests.native.conftest import Connect, Start
from tests.support.agent_client import AgentClient
from tests.support.programs import Program, environment
from tests.support.waiting import always, eventually

MIB = 1 << 20
FIXED_IN = (8, 5, 3)
ATTEMPTS = 20
"""Two threads must meet within some microseconds; nearly every attempt succeeds."""


def lose_a_wakeup(host: Program, directory: Path) -> None:
    """Open a database whose limiter has a request that nobody will grant."""
    for attempt in range(ATTEMPTS):
        database = directory / str(attempt)
        host.ask("open", database, f"rate_limiter={10 * MIB}")
        host.ask("lose_a_wakeup", database)
        if settled(host) == "1":
            return
        assert host.ask("waiting") == "0"
        host.ask("close", database)
    version = host.ask("version")
    assert tuple(map(int, version.split("."))) >= FIXED_IN, f"no wake-up was lost in {ATTEMPTS} attempts"
    pytest.skip(f"RocksDB {version} loses no wake-up")


def settled(host: Program) -> str:
    """Return how many of the two wait after some refills: they come every 0.1 s, and the first one is granted."""
    eventually(lambda: host.ask("waiting") in ("0", "1"), what="the first request is granted")
    time.sleep(0.5)
    return host.ask("waiting")


def woken(client: AgentClient) -> list[dict[str, object]]:
    snapshots = [client.fresh_snapshot(database["id"], 0) for database in client.databases()]
    return [event for each in snapshots for event in each["events"] if event["kind"] == "limiter_woken"]


def test_requests_that_nobody_would_grant_are_granted(start: Start, connect: Connect, directory: Path) -> None:
    host = start("lifecycle")
    host.ask("open", directory / "without-a-limiter")
    client = connect(host)
    lose_a_wakeup(host, directory)
    eventually(lambda: host.ask("waiting") == "0", what="the request is granted")
    (event,) = eventually(lambda: woken(client), what="the event")
    assert event["waiting"] == 1
    said = "granted nothing for [0-9]+ s \\(waiting requests: 1\\), so the agent woke it"
    eventually(lambda: re.search(said, host.stderr()), what="the line on stderr")


def test_also_those_that_have_waited_since_before_the_agent_came(
    native_programs: Path, directory: Path, run_dir: Path
) -> None:
    with Program([native_programs / "lifecycle"], environment(None, None)) as host:
        lose_a_wakeup(host, directory)
        always(lambda: host.ask("waiting") == "1", for_s=5, every_s=0.5, what="without an agent nothing is granted")
        attachment.attach(host.pid, run_dir, {})
        eventually(lambda: host.ask("waiting") == "0", what="the request is granted")
        socket = attachment.socket_of(host.pid, run_dir)
        assert socket is not None
        with AgentClient(socket) as client:
            assert len(eventually(lambda: woken(client), what="the event")) == 1
