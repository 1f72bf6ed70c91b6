"""The fixture program whose disk is slow or full where a test wants it (tests/native_programs/bad_disk.cc)."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.support.agent_client import AgentClient
from tests.support.programs import Program, environment
from tests.support.waiting import eventually


@contextlib.contextmanager
def bad_disk(programs: Path, library: Path, run_dir: Path, delay_s: float, *options: str) -> Iterator[Program]:
    """Run it under the native agent, with its database beside the sockets; at the end its disk is a good one again."""
    command: list[str | Path] = [programs / "bad_disk", run_dir / "db", str(delay_s), *options]
    with Program(command, environment(library, run_dir)) as program:
        try:
            yield program
        finally:
            if program.process.poll() is None:
                make_good(program)


def make_good(program: Program) -> None:
    """Let its disk be fast and have room, so that what waits for it ends and what follows is quick."""
    for command in ("delay_options 0", "drain", "let_tables_go"):
        program.ask(command)


def socket_of(program: Program, run_dir: Path) -> Path:
    """Where its agent listens; waits until it has listed the database."""
    path = run_dir / f"agent-{program.pid}.sock"
    eventually(path.exists, what="the agent's socket")
    with AgentClient(path) as client:
        eventually(client.databases, what="the database")
    return path
