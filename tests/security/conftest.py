"""Databases under either agent, of any user, in a run directory that they share with others."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conformance.python_host import LIFECYCLE
from tests.support.agent_client import AgentClient
from tests.support.programs import Program, environment
from tests.support.users import GROUP, ROOT

BECOME = Path(__file__).with_name("become.py")
KINDS = ["native", "python"]


@contextlib.contextmanager
def base_directory() -> Iterator[Path]:
    """Make a directory that everyone may enter, with a short path."""
    with tempfile.TemporaryDirectory(prefix="adocd-") as made:
        Path(made).chmod(0o755)
        yield Path(made)


def run_directory(base: Path) -> Path:
    """Make the run directory as tmpfiles.d makes it: for its owner and a group that every socket in it inherits."""
    directory = base / "run"
    directory.mkdir()
    if ROOT:
        os.chown(directory, -1, GROUP)
    directory.chmod(0o2770)
    return directory


@pytest.fixture
def base() -> Iterator[Path]:
    """See base_directory."""
    with base_directory() as made:
        yield made


@pytest.fixture
def shared(base: Path) -> Path:
    """See run_directory."""
    return run_directory(base)


@dataclass(frozen=True)
class Host:
    """A program of some user with one database and an agent."""

    program: Program
    run_dir: Path
    path: Path

    @property
    def socket(self) -> Path:
        """Its agent's socket."""
        return self.run_dir / f"agent-{self.program.pid}.sock"

    def open(self, *options: str) -> Host:
        """Open the database, and with it the socket."""
        self.program.ask("open", self.path, *options)
        return self

    def open_to_all(self) -> Host:
        """Take the modes out of the way, so that the agent itself must decide."""
        self.run_dir.chmod(0o755)
        self.socket.chmod(0o666)
        return self

    def client(self) -> AgentClient:
        """Connect to its agent."""
        return AgentClient(self.socket)


StartHost = Callable[..., Host]


@contextlib.contextmanager
def hosts(fixture: Callable[[str], Path], base: Path, run_dir: Path) -> Iterator[StartHost]:
    """Start hosts of a kind of agent: `user` and `groups` say whose, other arguments are environment variables."""
    with contextlib.ExitStack() as stack:

        def started(kind: str, user: int | None = None, groups: Sequence[int] = (), **extra: str) -> Host:
            path = base / kind / "db"
            path.parent.mkdir()
            if user == os.geteuid():
                user = None
            elif user is not None:
                os.chown(path.parent, user, user)
            if kind == "native":
                library, programs = fixture("native_agent_library"), fixture("native_programs")
                program = _native(base, library, programs, run_dir, user, groups, extra)
            else:
                program = _python(run_dir, user, groups, extra)
            return Host(stack.enter_context(program), run_dir, path)

        yield started


@pytest.fixture(params=KINDS)
def start(request: pytest.FixtureRequest, base: Path, shared: Path) -> Iterator[StartHost]:
    """Start hosts of the kind of agent that this run of the test is about."""
    with hosts(request.getfixturevalue, base, shared) as started:
        yield functools.partial(started, request.param)


def _native(
    base: Path,
    library: Path,
    programs: Path,
    run_dir: Path,
    user: int | None,
    groups: Sequence[int],
    extra: dict[str, str],
) -> Program:
    for name in (library, programs / "lifecycle"):  # where that user can read them
        shutil.copy(name, base)
    env = environment(base / library.name, run_dir, **extra)
    return Program([base / "lifecycle"], env, user=user, groups=groups)


def _python(run_dir: Path, user: int | None, groups: Sequence[int], extra: dict[str, str]) -> Program:
    return Program(python_as(user, groups, str(LIFECYCLE)), environment(None, run_dir, PYTHONUTF8="1", **extra))


def python_as(user: int | None, groups: Sequence[int], program: str, *arguments: str) -> list[str]:
    """Write the command that runs a Python program with a `main` as a user."""
    chosen = os.geteuid() if user is None else user
    listed = ",".join(str(group) for group in (groups if user is not None else os.getgroups()))
    return [sys.executable, str(BECOME), str(chosen), listed, program, *arguments]
