"""A database of one user, a daemon of another, and a run directory that they share: a change works end to end."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.security.conftest import Host, StartHost, python_as
from tests.support.agent_client import UnixConnection
from tests.support.users import ALICE, BOB, GROUP, ROOT, as_user
from tests.support.waiting import eventually

#: Small memtables and files that overflow at once, and threads enough that adoc need not turn them.
OPTIONS = ("write_buffer_size=262144", "max_write_buffer_number=2", "max_background_jobs=2")
USERS = (ALICE, BOB) if ROOT else (os.geteuid(), os.geteuid())
"""Whose the database is, and whose the daemon."""
GROUPS = (GROUP,) if ROOT else tuple(os.getgroups())


@contextlib.contextmanager
def daemon(run_dir: Path, log: Path, user: int, groups: Sequence[int], *arguments: str) -> Iterator[None]:
    """Run `adocd serve` as a user while the block runs, and stop it by SIGTERM."""
    command = python_as(user, groups, "adocd.cli.adocd", "serve", *arguments)
    with log.open("w") as stderr:
        process = subprocess.Popen(
            command, stderr=stderr, env=dict(os.environ) | {"ADOCD_RUN_DIR": str(run_dir), "COLUMNS": "200"}
        )
    try:
        eventually((run_dir / "daemon.sock").exists, what="the daemon serves")
        yield
    finally:
        process.terminate()
        status = process.wait(60)
    assert status == 0, log.read_text()
    assert "Traceback" not in log.read_text()


@contextlib.contextmanager
def written(host: Host) -> Iterator[None]:
    """Write into the database while the block runs."""
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            host.program.ask("put", host.path, 300, "default", 1000)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def call(run_dir: Path, method: str, path: str, body: Any = None) -> Any:
    """Call the daemon."""
    with contextlib.closing(UnixConnection(run_dir / "daemon.sock", 15)) as connection:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        content = json.loads(answer.read())
        assert answer.status == 200, content
        return content


def test_a_change_end_to_end(start: StartHost, shared: Path, base: Path) -> None:
    owner, steering = USERS
    host = start(owner, GROUPS, ADOCD_ALLOW_UIDS=str(steering)).open(*OPTIONS)
    arguments = ("--policy", "adoc", "--set", "tune_threads=false")
    with host.client() as client:
        identity = client.only_database()["id"]
        originals = client.database(identity)["originals"]["column_families"]["default"]

        def options() -> Any:
            return client.snapshot(identity)["options"]["column_families"]["default"]

        def is_changed() -> bool:
            return bool(options()["write_buffer_size"] != originals["write_buffer_size"])

        with daemon(shared, base / "log", steering, GROUPS, *arguments):
            assert (shared / "daemon.sock").stat().st_uid == steering
            with written(host):
                eventually(is_changed, every_s=0.1, what="the daemon changes an option")
                lease = client.snapshot(identity)["lease"]
                assert lease is not None
            with as_user(owner, GROUPS):  # in the group: may steer
                (target,) = call(shared, "GET", "/v1/targets")["targets"]
                assert target["state"] == "attached"
                call(shared, "POST", "/v1/restore")
            eventually(lambda: not is_changed(), what="the original is back")
    assert host.program.stderr() == ""


@pytest.mark.skipif(not ROOT, reason="needs root to become somebody else")
def test_a_daemon_that_the_agent_does_not_know_says_so(start: StartHost, shared: Path, base: Path) -> None:
    """And goes on; the sentence names the variable that lets it in."""
    owner, steering = USERS
    assert owner != steering
    host = start(owner, GROUPS).open()
    with daemon(shared, base / "log", steering, GROUPS), as_user(steering, GROUPS):

        def problem() -> str:
            return str(call(shared, "GET", "/v1/targets")["problems"].get(str(host.socket), ""))

        sentence = eventually(problem, what="the daemon sees it")
        assert "403" in sentence or "may not talk" in sentence
        assert "ADOCD_ALLOW_UIDS" in sentence
        assert call(shared, "GET", "/v1/targets")["targets"] == []
