"""A child process with its output in files; ending it also ends everything that it started."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from adocd_bench.errors import RunFailed

_GRACE_S = 8.0
_POLL_S = 0.05
_LIBC, _PR_SET_PDEATHSIG = ctypes.CDLL(None), 1


@dataclass(frozen=True)
class Child:
    """A running program; its standard output and error go to `NAME.out` and `NAME.err`."""

    name: str
    process: subprocess.Popen[bytes]
    output: Path
    errors: Path
    started_s: float = field(default_factory=time.monotonic)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

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

    def is_running(self, at_most_s: float) -> bool:
        """Return whether it still runs. Raises RunFailed if it failed or exceeded its time limit."""
        status = self.process.poll()
        if status is None and time.monotonic() > self.started_s + at_most_s:
            raise RunFailed(f"{self.name} did not end within {at_most_s:.0f} s")
        if status:
            raise RunFailed(f"{self.name} failed with status {status}: {self.last_words()}")
        return status is None

    def wait(self, at_most_s: float) -> None:
        """Wait until it has ended well; raises RunFailed otherwise."""
        while self.is_running(at_most_s):
            time.sleep(_POLL_S)


@contextlib.contextmanager
def child(name: str, command: Sequence[str], room: Path, added: Mapping[str, str] | None = None) -> Iterator[Child]:
    """Run a program, with agents' and daemon's sockets in `room`, its output too; `added` is to its environment.

    It has its own session, so that only we receive Ctrl-C and decide the order of shutdown. On exit, the program and
    everything it started get SIGTERM, then SIGKILL if they keep running; the program also if we are killed.
    """
    output, errors = room / f"{name}.out", room / f"{name}.err"
    with output.open("wb") as out, errors.open("wb") as err:
        process = subprocess.Popen(
            list(command),
            env=os.environ | {"ADOCD_RUN_DIR": str(room)} | dict(added or {}),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
            preexec_fn=_end_with_us,  # noqa: PLW1509  (a single system call)
        )
    try:
        yield Child(name, process, output, errors)
    finally:
        _end(process)


def _end_with_us() -> None:
    """Have the kernel end the program if the bench is killed, which can then end nothing itself (prctl(2))."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def wait_until(
    reached: Callable[[], bool], otherwise: str, *programs: Child, within_s: float, poll_s: float = _POLL_S
) -> None:
    """Wait for a condition; raises RunFailed with a program's last words when one ends first, or it takes too long."""
    deadline_s = time.monotonic() + within_s
    while not reached():
        ended = next((program for program in programs if program.ended()), None)
        if ended is not None:
            raise RunFailed(f"{otherwise}: {ended.name} ended: {ended.last_words()}")
        if time.monotonic() > deadline_s:
            raise RunFailed(f"{otherwise} within {within_s:.0f} s: {programs[0].last_words()}")
        time.sleep(poll_s)


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
