"""A terminal with an interactive bash in it, typed at as by a person."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

#: Longest wait for a shell's first prompt.
_FIRST_PROMPT_S = 30.0
#: Ctrl-C ends a program by its own handler, or by the signal.
INTERRUPTED = (0, 130)


class Terminal:
    """One that is open. What is typed is not echoed, and the prompt is empty, so that `said` is what programs print."""

    def __init__(self, name: str, directory: Path, environment: Mapping[str, str], enter: Sequence[str] = ()) -> None:
        self.name = name
        self.running: str | None = None
        self._output = b""
        self._statuses = b""
        self._seen = 0
        self._master, slave = pty.openpty()
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        status_end, told = os.pipe()
        self._bash = subprocess.Popen(
            ["setsid", "--ctty", *enter, "bash", "--norc", "--noprofile", "--noediting", "-i"],
            stdin=slave, stdout=slave, stderr=slave, pass_fds=(told,), cwd=directory,
            env=dict(environment)
            | {"PS1": "", "PS2": "", "TERM": "dumb", "HISTFILE": "", "PROMPT_COMMAND": f"echo $? >&{told}"},
        )  # fmt: skip
        os.close(slave)
        os.close(told)
        self._told = told
        self._readers = [
            threading.Thread(target=self._read, args=(end, store), daemon=True)
            for end, store in ((self._master, "_output"), (status_end, "_statuses"))
        ]
        for reader in self._readers:
            reader.start()
        assert self.wait(_FIRST_PROMPT_S) == 0, f"terminal {name} shows no prompt"

    def _read(self, end: int, store: str) -> None:
        while True:
            try:
                data = os.read(end, 65536)
            except OSError:  # a terminal nobody holds open any more
                data = b""
            if not data:
                os.close(end)
                return
            setattr(self, store, getattr(self, store) + data)

    def said(self) -> str:
        """Return all that was printed here."""
        return self._output.decode(errors="replace").replace("\r\n", "\n")

    def type(self, command: str) -> None:
        """Type a command, without waiting for its end.

        Its status comes on a pipe that the command does not get, before the next prompt: after a program that Ctrl-C
        has killed, bash executes nothing more of the line.
        """
        assert self.running is None, f"terminal {self.name} is busy with {self.running!r}"
        self.running = command
        os.write(self._master, f"{{ {command.rstrip()}\n}} {self._told}>&-\n".encode())

    def wait(self, within_s: float) -> int | None:
        """Wait for the end of what runs here; its status, None while it still runs."""
        deadline_s = time.monotonic() + within_s
        while time.monotonic() < deadline_s:
            lines = self._statuses.decode().splitlines(keepends=True)
            if len(lines) > self._seen and lines[self._seen].endswith("\n"):
                self._seen += 1
                self.running = None
                return int(lines[self._seen - 1])
            time.sleep(0.02)
        return None

    def ctrl_c(self) -> None:
        """Press Ctrl-C."""
        os.write(self._master, b"\x03")

    def close(self) -> None:
        """Close the window: whatever runs here gets SIGHUP, then SIGKILL."""
        for number in (signal.SIGHUP, signal.SIGKILL):
            self._bash.send_signal(number)
            try:
                self._bash.wait(5)
                break
            except subprocess.TimeoutExpired:
                continue
        for reader in self._readers:
            reader.join(5)
