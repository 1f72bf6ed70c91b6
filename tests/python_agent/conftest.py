"""Hosts of the Python agent: the `lifecycle` program, told what to do line by line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.python_host import LIFECYCLE
from tests.python_agent.sessions import Watched
from tests.support.agent_client import AgentClient
from tests.support.programs import Program, environment


class Scene:
    """A host without a database yet, and what a test needs of it."""

    def __init__(self, run_dir: Path, **env: str) -> None:
        self.run_dir = run_dir
        self.program = Program([sys.executable, LIFECYCLE], environment(None, run_dir, PYTHONUTF8="1", **env))
        self.socket_path = run_dir / f"agent-{self.program.pid}.sock"
        self.path = run_dir.parent / f"db-{self.program.pid}"

    def ask(self, command: str, *words: object, path: Path | None = None) -> str:
        """Give a command about the database."""
        return self.program.ask(command, path or self.path, *(str(word) for word in words))

    def client(self) -> AgentClient:
        """Connect to its agent."""
        return AgentClient(self.socket_path)


@pytest.fixture
def scene(tmp_path: Path, run_dir: Path) -> Iterator[Scene]:
    """Start a host; the databases are removed with the test's directory."""
    started = Scene(run_dir)
    started.path = tmp_path / "db"
    try:
        yield started
        assert started.program.stderr() == "", "nothing of the agent belongs on the host's stderr"
    finally:
        started.program.stop()


@pytest.fixture
def database() -> Iterator[Watched]:
    """Open one, and close it."""
    opened = Watched()
    yield opened
    opened.while_checking = lambda: None
    opened.close()
