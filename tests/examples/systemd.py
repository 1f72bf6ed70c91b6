"""A real systemd, booted in namespaces of its own (boot_systemd.sh)."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.cli.harness import Done
from tests.conftest import REPOSITORY
from tests.support.turns import turn
from tests.support.waiting import eventually

BOOT = Path(__file__).with_name("boot_systemd.sh")


class CannotBoot(Exception):
    """No systemd can be booted here; one sentence."""


@dataclass(frozen=True)
class Systemd:
    """One that runs."""

    pid: int
    state: Path

    def enter(self, *command: str) -> list[str]:
        """Build the command line that runs a command where this systemd is the first process."""
        return ["nsenter", f"--target={self.pid}", "--mount", "--pid", "--ipc", "--uts", "--", *command]

    def run(self, script: str) -> Done:
        """Run a script, as root, in the checkout."""
        done = subprocess.run(
            self.enter("sh", "-ec", f"cd {REPOSITORY}; export PATH=$PATH:/opt/adocd/bin; {script}"),
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        return Done(done.returncode, done.stdout, done.stderr)

    def log(self) -> str:
        """What its services have written."""
        log = self.state / "log"
        return log.read_text(errors="replace") if log.exists() else ""


@contextlib.contextmanager
def booted() -> Iterator[Systemd]:
    """Boot systemd, and end it with all its services. Raises CannotBoot."""
    if shutil.which("systemctl") is None:
        raise CannotBoot("systemd is not installed")
    with (
        turn("systemd"),
        tempfile.TemporaryDirectory(prefix="adocd-systemd-") as made,
        contextlib.ExitStack() as stack,
    ):
        state = Path(made)
        said = stack.enter_context((state / "boot.log").open("w"))
        process = subprocess.Popen(
            [str(BOOT), str(state), str(REPOSITORY), sysconfig.get_path("purelib"), sys.base_prefix],
            stdin=subprocess.DEVNULL, stdout=said, stderr=said,
        )  # fmt: skip
        stack.callback(_remove_group, state)
        stack.callback(process.wait, 20)
        stack.callback(process.kill)  # and with it, by --kill-child, the first process and so the whole namespace
        systemd = eventually(lambda: _system(process, state), what="a first process")
        assert systemd is not None
        _wait_until_booted(process, systemd)
        if process.poll() is not None:
            raise CannotBoot(_why(state))
        yield systemd


def _system(process: subprocess.Popen[bytes], state: Path) -> Systemd | None:
    """Find systemd, once boot_systemd.sh has become it; until then its children are commands of its own."""
    if process.poll() is not None:
        raise CannotBoot(_why(state))
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
            if Path(f"/proc/{child}/comm").read_text() == "systemd\n":
                return Systemd(int(child), state)
    return None


def _wait_until_booted(process: subprocess.Popen[bytes], systemd: Systemd) -> None:
    try:
        eventually(
            lambda: process.poll() is not None or systemd.run("systemctl is-system-running").out == "running\n",
        )
    except AssertionError as error:
        seen = systemd.run("systemctl is-system-running; systemctl list-jobs; systemctl --failed")
        raise AssertionError(f"systemd has not booted: {seen}; {_why(systemd.state)}; {systemd.log()}") from error


def _why(state: Path) -> str:
    return (state / "boot.log").read_text().strip().replace("\n", "; ")


def _remove_group(state: Path) -> None:
    """Remove the control group, which stays when its processes are gone."""
    with contextlib.suppress(FileNotFoundError):
        group = Path((state / "cgroup").read_text().strip())
        eventually(lambda: _removed(group), what="the control group is empty")


def _removed(group: Path) -> bool:
    with contextlib.suppress(OSError):
        for inner in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
            inner.rmdir()
        group.rmdir()
    return not group.exists()
