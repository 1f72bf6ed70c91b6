"""Host programs with the native agent preloaded, and clients of their agents."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.agent_client import AgentClient
from tests.support.programs import Program, environment

Start = Callable[..., Program]
Connect = Callable[[Program], AgentClient]


@pytest.fixture
def directory() -> Iterator[Path]:
    """Make a directory with a short path for databases."""
    with tempfile.TemporaryDirectory(prefix="adocd-db-") as made:
        yield Path(made)


@pytest.fixture
def start(native_agent_library: Path, native_programs: Path, run_dir: Path, directory: Path) -> Iterator[Start]:
    """Start fixture programs with the agent preloaded; keyword arguments are environment variables.

    It asks for `directory` because the programs must end before their databases' directory is removed.
    """
    with contextlib.ExitStack() as stack:

        def started(program: str, *arguments: str | Path, **extra: str) -> Program:
            env = environment(native_agent_library, run_dir, **extra)
            return stack.enter_context(Program([native_programs / program, *arguments], env))

        yield started


@pytest.fixture
def connect(run_dir: Path) -> Iterator[Connect]:
    """Connect to the agent of a program that has opened a database."""
    with contextlib.ExitStack() as stack:

        def connected(program: Program) -> AgentClient:
            return stack.enter_context(AgentClient(run_dir / f"agent-{program.pid}.sock"))

        yield connected
