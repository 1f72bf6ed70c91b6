"""Real host programs with the native agent preloaded, driven by one line in and one line out."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO


def environment(library: Path | None, run_dir: Path | None, **extra: str) -> dict[str, str]:
    """Return this process's environment with the agent preloaded, and none of the agent's own variables but these."""
    base = {name: value for name, value in os.environ.items() if not name.startswith("ADOCD_")}
    base.pop("LD_PRELOAD", None)
    if library is not None:
        base["LD_PRELOAD"] = str(library)
    if run_dir is not None:
        base["ADOCD_RUN_DIR"] = str(run_dir)
    return base | extra


class Program:
    """A program that answers each line on stdin with one line on stdout, and says "ready" first.

    What it writes to stderr is kept: an agent that chatters there, or a sanitizer that complains, must show.
    """

    def __init__(
        self,
        arguments: Sequence[str | Path],
        env: Mapping[str, str],
        *,
        expect: str = "ready",
        user: int | None = None,
        groups: Sequence[int] = (),
    ) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by stop)
        self._lock = threading.Lock()
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [str(argument) for argument in arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=dict(env),
            text=True,
            user=user,
            group=user,
            extra_groups=None if user is None else list(groups),
        )
        self.pid = self.process.pid
        if expect:
            while (line := self.read_line()) and line != expect:
                pass
            assert line == expect, f"no {expect!r} from {arguments}: {self.lines}, stderr {self.stderr()!r}"

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _pipe(self, pipe: IO[str] | None) -> IO[str]:
        assert pipe is not None
        return pipe

    def read_line(self) -> str:
        """Read one line of stdout, "" at its end."""
        line = self._pipe(self.process.stdout).readline().rstrip("\n")
        self.lines.append(line)
        return line

    def send(self, *words: str | Path | int) -> None:
        """Write one line without waiting for an answer."""
        stdin = self._pipe(self.process.stdin)
        stdin.write(" ".join(str(word) for word in words) + "\n")
        stdin.flush()

    def ask(self, *words: str | Path | int) -> str:
        """Send a command and return what follows "ok"."""
        answer = self.try_ask(*words)
        assert answer == "ok" or answer.startswith("ok "), f"{words}: {answer!r}, stderr {self.stderr()!r}"
        return answer[3:]

    def try_ask(self, *words: str | Path | int) -> str:
        """Send a command and return the answer, whatever it is."""
        with self._lock:
            self.send(*words)
            return self.read_line()

    def stderr(self) -> str:
        """Return what the program has written to stderr so far."""
        size = os.fstat(self._errors.fileno()).st_size
        return os.pread(self._errors.fileno(), size, 0).decode(errors="replace")

    def finish(self, timeout_s: float = 20) -> int:
        """End stdin, wait for the program and return its status."""
        with contextlib.suppress(BrokenPipeError):
            self._pipe(self.process.stdin).close()
        status = self.process.wait(timeout=timeout_s)
        self.lines += [line.rstrip("\n") for line in self._pipe(self.process.stdout)]
        return status

    def stop(self) -> None:
        """End the program, by force when it does not end by itself, and give everything back."""
        try:
            if self.process.poll() is None:
                self.finish()
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            with contextlib.suppress(BrokenPipeError):
                self._pipe(self.process.stdin).close()
            self._pipe(self.process.stdout).close()
            self._errors.close()


def debugger_of(pid: int) -> Program:
    """Start a program that traces another one and lets it run (ptrace(2), PTRACE_SEIZE)."""
    code = (
        "import ctypes, sys; c = ctypes.CDLL(None, use_errno=True)\n"
        f"assert c.ptrace(0x4206, {pid}, None, None) == 0, ctypes.get_errno()\n"
        "print('ready', flush=True); sys.stdin.read()"
    )
    return Program([sys.executable, "-c", code], environment(None, None))
