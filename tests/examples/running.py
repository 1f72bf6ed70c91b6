"""Starting an example as a person does: in a terminal's process group, ended by Ctrl-C."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.cli.harness import BIN, command, environment_of
from tests.support.waiting import eventually


@contextlib.contextmanager
def started(arguments: Sequence[str | Path], run_dir: Path, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run an example with the commands of this checkout first in PATH; Ctrl-C reaches all that it started."""
    env = environment_of(run_dir, **{"PATH": f"{BIN}:{os.environ['PATH']}"} | environment)
    with (run_dir / "example.log").open("w") as log:
        process = subprocess.Popen(
            [str(word) for word in arguments], env=env, stdout=log, stderr=log, text=True, start_new_session=True
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            ctrl_c(process)


def ctrl_c(process: subprocess.Popen[str]) -> int:
    """Press Ctrl-C and wait for the end; the status."""
    os.killpg(process.pid, signal.SIGINT)
    try:
        return process.wait(60)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise


def said(run_dir: Path) -> str:
    """What the example has printed."""
    return (run_dir / "example.log").read_text(errors="replace")


def attached(process: subprocess.Popen[str], run_dir: Path) -> Any:
    """Wait until the daemon has attached to the one database there is; its target."""

    def open_targets() -> list[Any]:
        assert process.poll() is None, f"the example has ended: {said(run_dir)}"
        done = command("adocctl", "targets", "--json", run_dir=run_dir)
        return [t for t in json.loads(done.ok())["targets"] if t["state"] == "attached"]

    (target,) = eventually(open_targets, what=f"a database is attached to: {said(run_dir)}")
    return target
