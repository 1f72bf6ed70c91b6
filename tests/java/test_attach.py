"""`adocd attach PID` for a JVM."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from adocd.process.attach import jvm
from adocd.process.attach.problem import AttachRefused
from tests.cli.harness import command
from tests.conformance.hosts import wait_for_agent
from tests.java.conftest import StartJvm
from tests.support.agent_client import AgentClient
from tests.support.waiting import eventually


def test_a_jvm_is_attached_to_while_it_works(
    start_jvm: StartJvm, run_dir: Path, tmp_path: Path, java_agent: Path
) -> None:
    program, path = start_jvm(agent=False), tmp_path / "db"
    program.ask("open", path)
    looked = command("adocd", "attach", str(program.pid), "--dry-run", "--json", run_dir=run_dir)
    assert json.loads(looked.out) == {"databases": [str(path)], "left_alone": {}}
    assert not list(run_dir.iterdir())
    shown = command("adocd", "attach", str(program.pid), run_dir=run_dir)
    assert (shown.status, shown.err) == (0, "")
    assert shown.out == f"the Java agent is in java ({program.pid})\n  {path}: seen as soon as the program calls it\n"
    socket_path = run_dir / f"agent-{program.pid}.sock"

    def called() -> bool:
        program.ask("put", path, 1)
        return socket_path.exists()

    eventually(called, what="the agent to see the database")
    wait_for_agent(socket_path)
    with AgentClient(socket_path) as client:
        assert client.only_database()["opened_before_agent"]
    again = command("adocd", "attach", str(program.pid), run_dir=run_dir)
    again.failed(6, "has an agent already")


@pytest.mark.parametrize("option", ["-XX:+DisableAttachMechanism", "-Xrs"])
def test_a_jvm_that_lets_nobody_attach_is_left_alone(
    start_jvm: StartJvm, run_dir: Path, java_agent: Path, option: str
) -> None:
    """By SIGQUIT the one would print all its threads, and the other would end."""
    program = start_jvm(option, agent=False)
    command("adocd", "attach", str(program.pid), run_dir=run_dir).failed(6, "lets nobody attach")
    program.ask("sleep", 1)


@pytest.mark.parametrize(("name", "why"), [("a=b", "has an equals sign"), ("a,b", "may have no comma")])
def test_a_path_that_the_jvm_would_cut(
    start_jvm: StartJvm, run_dir: Path, tmp_path: Path, java_agent: Path, name: str, why: str
) -> None:
    program = start_jvm(agent=False)
    there = jvm.running(program.pid)
    assert there is not None
    (tmp_path / name).mkdir()
    with pytest.raises(AttachRefused, match=why):
        jvm.attach(there, Path(shutil.copy(java_agent, tmp_path / name)), run_dir)
    assert there.agent() is None


def test_a_jvm_without_a_database(start_jvm: StartJvm, run_dir: Path, tmp_path: Path, java_agent: Path) -> None:
    """One that it opens after the attach is seen from its open on."""
    program = start_jvm(agent=False)
    shown = command("adocd", "attach", str(program.pid), run_dir=run_dir)
    assert "it has no database open for writing" in shown.out
    program.ask("open", tmp_path / "db")
    socket_path = run_dir / f"agent-{program.pid}.sock"
    wait_for_agent(socket_path)
    with AgentClient(socket_path) as client:
        assert not client.only_database().get("opened_before_agent")
