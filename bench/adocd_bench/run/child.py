"""A child process with its output in files, ended with everything it started."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_GRACE_S = 8.0


@dataclass(frozen=True)
class Child:
    """A running program; its standard output and error go to `NAME.out` and `NAME.err`."""

    process: subprocess.Popen[bytes]
    output: Path
    errors: Path

    def ended(self) -> bool:
        """Say whether the program has ended."""
        return self.process.poll() is not None

    def said(self) -> str:
        """Read everything on its standard output so far."""
        return self.output.read_text(encoding="utf-8", errors="replace")

    def last_words(self) -> str:
        """Read its last line on standard error, for an error message."""
        text = self.errors.read_text(encoding="utf-8", errors="replace")
        # db_bench draws its progress over itself with carriage returns; splitlines takes those apart.
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        lines = [line for line in lines if not line.startswith("... finished")]
        return lines[-1] if lines else "it said nothing"


@contextlib.contextmanager
def child(name: str, command: Sequence[str], environment: Mapping[str, str], room: Path) -> Iterator[Child]:
    """Run a program in a session of its own, so that Ctrl-C reaches us alone and we decide the order.

    On the way out the program and what it started get SIGTERM, and SIGKILL when that does not help.
    """
    output, errors = room / f"{name}.out", room / f"{name}.err"
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(
            list(command),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
    try:
        yield Child(process, output, errors)
    finally:
        _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and its process group: it gets time to leave in order, its orphans do not."""
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
