"""The commands, run as a user runs them: as processes, most of them forked from one that has imported them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adocd.api.client import RestClient
from adocd.targets.run_dir import daemon_socket
from tests.support import forked
from tests.support.forked import Forked
from tests.support.waiting import PATIENCE_S, eventually

BIN = Path(sys.executable).parent
#: For output that nobody reads.
NOWHERE = Path(os.devnull)


@dataclass(frozen=True)
class Done:
    """What a command printed, and how it ended."""

    status: int
    out: str
    err: str

    def failed(self, status: int, *words: str) -> str:
        """Assert that it failed with one sentence on stderr that has these words; the sentence."""
        assert self.status == status, f"ended with {self.status}: {self.out}{self.err}"
        lines = self.err.strip().splitlines()
        assert len(lines) == 1, f"not one sentence: {self.err!r}"
        for word in words:
            assert word in lines[0], f"{word!r} is not in {lines[0]!r}"
        return lines[0]

    def ok(self) -> str:
        """Assert that it succeeded; its output."""
        assert self.status == 0, f"ended with {self.status}: {self.err}"
        return self.out


#: A command that runs.
Running = Forked | subprocess.Popen[str]


def start(name: str, *arguments: str, env: Mapping[str, str], out: Path, err: Path) -> Running:
    """Start `adocd` or `adocctl`, whose output is appended to these files."""
    env = {"COLUMNS": forked.COLUMNS, **env}
    if forked.possible(env):
        return Forked(name, arguments, env, out, err)
    return start_script(name, *arguments, env=env, out=out, err=err)


def start_script(name: str, *arguments: str, env: Mapping[str, str], out: Path, err: Path) -> Running:
    """Start what is installed, as `start` does where it cannot fork."""
    with out.open("a") as stdout, err.open("a") as stderr:
        return subprocess.Popen([str(BIN / name), *arguments], stdout=stdout, stderr=stderr, text=True, env=env)


def command(name: str, *arguments: str, run_dir: Path, **environment: str) -> Done:
    """Run `adocd` or `adocctl` to its end."""
    return _done(start, name, *arguments, env=environment_of(run_dir, **environment))


def script(name: str, *arguments: str, run_dir: Path, **environment: str) -> Done:
    """Run the installed `adocd` or `adocctl` to its end."""
    return _done(start_script, name, *arguments, env=environment_of(run_dir, **environment))


def serving(run_dir: Path, *arguments: str, **environment: str) -> AbstractContextManager[Running]:
    """Run `adocd serve` while the block runs, and stop it by SIGTERM; its log goes to serve.log."""
    return _serving(start, run_dir, *arguments, env=environment_of(run_dir, **environment))


def script_serving(run_dir: Path, *arguments: str, **environment: str) -> AbstractContextManager[Running]:
    """Run the installed `adocd serve`, as `serving` does otherwise."""
    return _serving(start_script, run_dir, *arguments, env=environment_of(run_dir, **environment))


def quickly_serving(run_dir: Path, *arguments: str) -> AbstractContextManager[Running]:
    """Serve with ten looks a second, so that nobody waits for the first."""
    quick = run_dir / "quick.toml"
    quick.write_text("[daemon]\ntick_s = 0.1\n")
    return serving(run_dir, "--config", str(quick), *arguments)


def adocctl_json(run_dir: Path, *arguments: str) -> Any:
    """Run adocctl, and read what it prints as JSON."""
    return json.loads(command("adocctl", *arguments, "--json", run_dir=run_dir).ok())


def wait_for_target(run_dir: Path) -> None:
    """Wait until the daemon has measured a database."""
    client = RestClient(daemon_socket(run_dir))
    eventually(
        lambda: any(t["writes_per_s"] is not None for t in client.get("/v1/targets")["targets"]),
        what="a sampled target",
    )


def _done(start: Callable[..., Running], name: str, *arguments: str, env: Mapping[str, str]) -> Done:
    with tempfile.TemporaryDirectory(prefix="adocd-") as directory:
        out, err = Path(directory) / "out", Path(directory) / "err"
        process = start(name, *arguments, env=env, out=out, err=err)
        try:
            status = process.wait(10 * PATIENCE_S)
        finally:
            process.kill()
            process.wait(PATIENCE_S)
        # As bytes, for a carriage return that reaches the terminal must be seen.
        return Done(status, out.read_bytes().decode(), err.read_bytes().decode())


@contextlib.contextmanager
def _serving(
    start: Callable[..., Running], run_dir: Path, *arguments: str, env: Mapping[str, str]
) -> Iterator[Running]:
    log = run_dir / "serve.log"
    log.write_text("")
    process = start("adocd", "serve", *arguments, env=env, out=log, err=log)
    try:
        # The socket alone says nothing: one that was killed has left its own.
        eventually(lambda: "serving at " in log_of(run_dir), what="the daemon serves")
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


def log_of(run_dir: Path) -> str:
    """What `serving`'s daemon has logged."""
    return (run_dir / "serve.log").read_text()


def no_traceback(run_dir: Path) -> None:
    """Fail where `serving`'s daemon has logged a traceback, and where it has not even logged that it serves."""
    log = log_of(run_dir)
    assert "serving at " in log, f"this is no log of a daemon that served: {log!r}"
    assert "Traceback" not in log, log


def environment_of(run_dir: Path, **more: str) -> dict[str, str]:
    """Give a process its run directory, and a terminal that is wide enough."""
    return dict(os.environ) | {"ADOCD_RUN_DIR": str(run_dir), "COLUMNS": forked.COLUMNS} | more
