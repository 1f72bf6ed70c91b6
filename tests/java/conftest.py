"""JVMs with the agent, without it, and with the agent attached late."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from adocd.process.attach import jvm
from tests.conformance.hosts import wait_for_agent
from tests.support.agent_client import AgentClient
from tests.support.java import java_command
from tests.support.programs import Program, environment
from tests.support.waiting import eventually


class StartJvm(Protocol):
    """Starts `lifecycle` programs, which end with the test, all in an orderly way."""

    def __call__(self, *options: str, agent: bool = True, main: str = "Lifecycle") -> Program:
        """Start one with java's options."""


@pytest.fixture
def start_jvm(java_agent: Path, run_dir: Path) -> Iterator[StartJvm]:
    """Start JVMs that end with the test: with status 0, and without a word on stderr."""
    programs: list[Program] = []

    def start(*options: str, agent: bool = True, main: str = "Lifecycle") -> Program:
        command = java_command(java_agent if agent else None, *options, main=main)
        programs.append(Program(command, environment(None, run_dir)))
        return programs[-1]

    try:
        yield start
        for each in programs:
            assert each.finish() == 0, each.stderr()
            assert each.stderr() == ""
            assert not (run_dir / f"agent-{each.pid}.sock").exists(), "the socket outlived its process"
    finally:
        for each in programs:
            each.stop()


@dataclass(frozen=True)
class Jvm:
    """A `lifecycle` program with the agent from its start."""

    program: Program
    socket_path: Path

    def client(self) -> AgentClient:
        """Connect to its agent, as soon as that lists a database."""
        wait_for_agent(self.socket_path)
        return AgentClient(self.socket_path)


@pytest.fixture(scope="module")
def shared_jvm(java_agent: Path) -> Iterator[Jvm]:
    """Start one for a module: a JVM takes longer to start than most tests take."""
    with tempfile.TemporaryDirectory(prefix="adocd-") as run_dir:
        with Program(java_command(java_agent), environment(None, Path(run_dir))) as program:
            yield Jvm(program, Path(run_dir, f"agent-{program.pid}.sock"))
            assert program.finish() == 0, program.stderr()
            assert program.stderr() == ""
        assert not list(Path(run_dir).iterdir()), "the socket outlived its process"


@pytest.fixture(name="jvm")
def emptied_jvm(shared_jvm: Jvm) -> Iterator[Jvm]:
    """Return the module's, without a database before the test and after it."""
    yield shared_jvm
    shared_jvm.program.ask("close_all")
    with AgentClient(shared_jvm.socket_path) as client:
        eventually(lambda: client.databases() == [], what="the close of all databases")


def attach_late(program: Program, java_agent: Path, run_dir: Path) -> None:
    """Load the agent into a JVM that runs already."""
    found = jvm.running(program.pid)
    assert found is not None
    jvm.attach(found, java_agent, run_dir)
