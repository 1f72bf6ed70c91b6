"""A process in a stall is silent, and not gone: what the daemon makes of each, with the Python agent."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.cli.harness import command, environment_of, serving
from tests.support.waiting import eventually

#: Stands still for as many milliseconds as a line says. PyDLL keeps the interpreter lock, as a put of rocksdict's does
#: in a stall, which cannot be had for a given time.
PROGRAM = """
import ctypes, sys
import adocd_agent
from rocksdict import Options, Rdict

options = Options(raw_mode=True)
options.set_max_background_jobs(20)
database = Rdict(sys.argv[1], options)
adocd_agent.attach(database, options)
for line in sys.stdin:
    ctypes.PyDLL(None).usleep(int(line) * 1000)
"""
LEASE_TTL_S = 3


@contextlib.contextmanager
def host(run_dir: Path) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(run_dir / "db")],
        env=environment_of(run_dir),
        stdin=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def stand_still(process: subprocess.Popen[str], seconds: int) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{seconds * 1000}\n")
    process.stdin.flush()


def status(run_dir: Path) -> Any:
    return json.loads(command("adocctl", "status", "--json", run_dir=run_dir).ok())


def state(run_dir: Path) -> str | None:
    listed = json.loads(command("adocctl", "targets", "--json", run_dir=run_dir).ok())["targets"]
    return str(listed[0]["state"]) if listed else None


def test_a_process_that_stands_still_is_silent_and_keeps_its_lease(run_dir: Path) -> None:
    config = run_dir / "adocd.toml"
    config.write_text(f"[daemon]\nlease_ttl_s = {LEASE_TTL_S}\n")
    with host(run_dir) as process, serving(run_dir, "--policy", "adoc", "--config", str(config)):
        eventually(lambda: state(run_dir) == "attached" and status(run_dir)["lease"], what="it holds")
        before = status(run_dir)["lease"]["epoch"]
        stand_still(process, 3 * LEASE_TTL_S)
        eventually(lambda: state(run_dir) == "silent", what="it is silent")
        seen = status(run_dir)
        assert "possibly stalled" in seen["sentence"]
        assert (seen["stall"]["condition"], seen["stall"]["evidence"]) == ("possibly", "silence")
        eventually(lambda: state(run_dir) == "attached", what="it answers again")
        assert status(run_dir)["stall"] is None
        lease = status(run_dir)["lease"]
        assert lease is not None
        assert lease["epoch"] == before, "time in which nobody could renew does not count"


def test_a_process_that_dies_while_it_is_silent_is_gone(run_dir: Path) -> None:
    with host(run_dir) as process, serving(run_dir):
        eventually(lambda: state(run_dir) == "attached", what="it is attached")
        stand_still(process, 60)
        eventually(lambda: state(run_dir) == "silent", what="it is silent")
        process.kill()
        eventually(lambda: state(run_dir) == "closed", what="it is known to be gone")
