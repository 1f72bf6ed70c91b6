"""A command at a terminal, as a person runs it: 80 columns, 24 lines, keys."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from pathlib import Path
from types import TracebackType

from tests.cli.harness import BIN


class PseudoTerminal:
    """Runs `adocctl` with these arguments at a terminal of its own; `output` is all that it wrote."""

    def __init__(
        self, *arguments: str, run_dir: Path, columns: int = 80, lines: int = 24, kind: str = "xterm-256color"
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [str(BIN / "adocctl"), *arguments],
            stdin=slave, stdout=slave, stderr=slave, start_new_session=True,
            env=environment | {"ADOCD_RUN_DIR": str(run_dir), "TERM": kind},
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 its keys shall be signals
        )  # fmt: skip
        self._slave = slave
        self.output = ""

    def __enter__(self) -> PseudoTerminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._slave)
        os.close(self._master)

    def shows(self, words: str, *, within_s: float = 30.0) -> None:
        """Wait until these words are written, after what `forget` dropped."""
        deadline_s = time.monotonic() + within_s
        while words not in self.output:
            assert time.monotonic() < deadline_s, f"{words!r} was not shown within {within_s} s:\n{self.output[-3000:]}"
            self._read(0.1)

    def forget(self) -> None:
        """Drop what was written until now."""
        self._read(0.0)
        self.output = ""

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def ends(self, within_s: float = 20.0) -> int:
        """Wait for its end; the exit status."""
        deadline_s = time.monotonic() + within_s
        while self.process.poll() is None:
            assert time.monotonic() < deadline_s, f"it did not end:\n{self.output[-3000:]}"
            self._read(0.05)
        self._read(0.0)
        return self.process.returncode

    @property
    def settings_now(self) -> list[object]:
        """How the terminal is set."""
        return termios.tcgetattr(self._slave)

    def _read(self, seconds: float) -> None:
        while select.select([self._master], [], [], seconds)[0]:
            with contextlib.suppress(OSError):
                self.output += os.read(self._master, 65536).decode("utf-8", "replace")
            seconds = 0.0
