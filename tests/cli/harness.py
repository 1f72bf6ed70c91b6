"""The commands, run as a user runs them: as processes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.waiting import eventually

BIN = Path(sys.executable).parent


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


def command(name: str, *arguments: str, run_dir: Path, **environment: str) -> Done:
    """Run `adocd` or `adocctl` to its end."""
    done = subprocess.run(
        [str(BIN / name), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=environment_of(run_dir, **environment),
    )
    return Done(done.returncode, done.stdout, done.stderr)


@contextlib.contextmanager
def serving(run_dir: Path, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """Run `adocd serve` while the block runs, and stop it by SIGTERM; its log goes to serve.log."""
    with (run_dir / "serve.log").open("w") as log:
        process = subprocess.Popen(
            [str(BIN / "adocd"), "serve", *arguments],
            stderr=log,
            text=True,
            env=environment_of(run_dir, **environment),
        )
    try:
        # The socket alone says nothing: one that was killed has left its own.
        eventually(lambda: "serving at " in log_of(run_dir), within_s=20, what="the daemon serves")
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def log_of(run_dir: Path) -> str:
    """What `serving`'s daemon has logged."""
    return (run_dir / "serve.log").read_text()


@contextlib.contextmanager
def running(arguments: Sequence[str | Path], run_dir: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program while the block runs, without its words, and stop it by SIGTERM."""
    process = subprocess.Popen(
        [str(word) for word in arguments],
        env=environment_of(run_dir),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(20)


def environment_of(run_dir: Path, **more: str) -> dict[str, str]:
    """Give a process its run directory, and a terminal that is wide enough."""
    return dict(os.environ) | {"ADOCD_RUN_DIR": str(run_dir), "COLUMNS": "200"} | more
