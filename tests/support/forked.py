"""`adocd` and `adocctl` as processes, forked from one that has imported them already.

To import adocd takes ten times as long as what most commands do then. What is forked is a process like any other: its
environment, output, signals and exit status are its own.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path

#: Processes that are forked from one that has imported all of adocd.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.support.imported"])
#: How wide tables are.
COLUMNS = "200"
#: What is read by the linker, by the interpreter and while adocd is imported: the same for all that are forked.
_READ_AT_START = re.compile("PYTHON|LD_|MALLOC_|LINES|TERM|NO_COLOR|FORCE_COLOR|TZ|LANG|LC_")
AT_START = {name: value for name, value in os.environ.items() if _READ_AT_START.match(name)}


def possible(environment: Mapping[str, str]) -> bool:
    """Whether a process with this environment can be forked, or has to be started."""
    return {name: value for name, value in environment.items() if _READ_AT_START.match(name)} == AT_START


def main_of(command: str) -> Callable[[], None]:
    """Return what the installed script of this name calls."""
    (found,) = set(entry_points(group="console_scripts", name=command))
    main: Callable[[], None] = found.load()
    return main


class Forked:
    """A running command, with what tests use of subprocess.Popen. Its output goes to files; it has no input."""

    def __init__(
        self, command: str, arguments: Sequence[str], environment: Mapping[str, str], out: Path, err: Path
    ) -> None:
        self.args = [command, *arguments]
        self._process = PROCESSES.Process(target=_run, args=(command, arguments, environment, out, err), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """As subprocess.Popen has it."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """Its status, None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end; its status, below 0 where a signal ended it."""
        self._process.join(timeout)
        if (status := self._process.exitcode) is None:
            raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


def _run(command: str, arguments: Sequence[str], environment: Mapping[str, str], out: Path, err: Path) -> None:
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [command, *arguments]
    _redirect(0, os.open(os.devnull, os.O_RDONLY))
    for number, file in ((1, out), (2, err)):
        _redirect(number, os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND))
    sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w", buffering=1)  # noqa: SIM115 - to the end
    from adocd.cli.show import console  # noqa: PLC0415 - only here all of adocd has been imported

    console.width = int(environment["COLUMNS"])  # it has been found out when it was imported
    main_of(command)()


def _redirect(number: int, opened: int) -> None:
    os.dup2(opened, number)
    os.close(opened)
