"""JVMs with the agent, without it, and with the agent attached late."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from adocd.process.attach import jvm
from tests.support.java import java_command
from tests.support.programs import Program, environment


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


def attach_late(program: Program, java_agent: Path, run_dir: Path) -> None:
    """Load the agent into a JVM that runs already."""
    found = jvm.running(program.pid)
    assert found is not None
    jvm.attach(found, java_agent, run_dir)
