"""Processes that fork and exec: only who opens a database gets a socket, and nobody touches another's."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

from tests.native.conftest import Connect, Start
from tests.support.agent_client import AgentClient
from tests.support.programs import Program, environment
from tests.support.waiting import eventually


def sockets(run_dir: Path) -> list[str]:
    return sorted(path.name for path in run_dir.iterdir())


def test_no_socket_before_the_first_open(start: Start, directory: Path, run_dir: Path) -> None:
    host = start("lifecycle")
    assert sockets(run_dir) == []
    host.ask("open", directory / "db")
    assert sockets(run_dir) == [f"agent-{host.pid}.sock"]


def test_a_child_leaves_the_parents_socket_alone(
    start: Start, connect: Connect, directory: Path, run_dir: Path
) -> None:
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    for _ in range(5):
        child = host.ask("fork_child")
        assert client.only_database()
        assert host.ask("end_child", child) == "0"
        assert client.only_database()
        assert sockets(run_dir) == [f"agent-{host.pid}.sock"]
    host.ask("put", directory / "db", 100)


def test_a_child_that_outlives_its_parent_does_not_keep_the_socket(
    start: Start, connect: Connect, directory: Path, run_dir: Path
) -> None:
    """An inherited listening descriptor would make a dead agent look like one that hangs."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    client.only_database()
    child = host.ask("fork_child")
    assert children_of(host) == [child]
    assert sockets_of(str(host.pid)) != [], "it listens, and is connected"
    assert sockets_of(child) == []


def children_of(program: Program) -> list[str]:
    return Path(f"/proc/{program.pid}/task/{program.pid}/children").read_text().split()


def sockets_of(pid: str) -> list[Path]:
    return [path for path in Path(f"/proc/{pid}/fd").iterdir() if str(path.readlink()).startswith("socket:")]


def test_a_child_that_opens_gets_its_own(start: Start, connect: Connect, directory: Path, run_dir: Path) -> None:
    """The way of a server that forks its workers first."""
    host = start("lifecycle")
    child = host.ask("fork_child_open", directory / "two")
    host.ask("open", directory / "one")
    client = connect(host)
    assert sockets(run_dir) == sorted([f"agent-{host.pid}.sock", f"agent-{child}.sock"])
    with AgentClient(run_dir / f"agent-{child}.sock") as of_child:
        assert of_child.info()["pid"] == int(child)
        assert of_child.only_database()["path"] == str((directory / "two").resolve())
        of_child.snapshot(of_child.only_database()["id"])
    assert client.only_database()["path"] == str((directory / "one").resolve())
    assert host.ask("end_child", child) == "0"
    assert sockets(run_dir) == [f"agent-{host.pid}.sock"]
    assert client.only_database()


def test_a_child_that_opens_while_its_parent_has_one_open(
    start: Start, connect: Connect, directory: Path, run_dir: Path
) -> None:
    """The child is killed, not ended: RocksDB's own exit handlers crash or hang in such a child, agent or not."""
    host = start("lifecycle")
    host.ask("open", directory / "one")
    client = connect(host)
    child = host.ask("fork_child_open", directory / "two")
    with AgentClient(run_dir / f"agent-{child}.sock") as of_child:
        assert [database["path"] for database in of_child.databases()] == [str((directory / "two").resolve())]
    os.kill(int(child), signal.SIGKILL)
    assert client.only_database()["path"] == str((directory / "one").resolve())
    client.fresh_snapshot(client.only_database()["id"])
    assert set(sockets(run_dir)) - {f"agent-{child}.sock"} == {f"agent-{host.pid}.sock"}


def test_exec_of_a_program_that_opens_nothing(start: Start, directory: Path, run_dir: Path) -> None:
    host = start("lifecycle")
    host.send("exec", shutil.which("cat") or "cat", "/dev/null")
    assert host.finish() == 0
    assert sockets(run_dir) == []
    assert host.stderr() == ""


def test_exec_while_a_database_is_open(
    start: Start, connect: Connect, directory: Path, run_dir: Path, native_programs: Path
) -> None:
    """Exec keeps the pid: the new program's agent takes the name over, and the old socket does not answer."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    connect(host).only_database()
    host.send("exec", native_programs / "lifecycle")
    assert host.read_line() == "ready"
    host.ask("open", directory / "other")
    with AgentClient(run_dir / f"agent-{host.pid}.sock") as client:
        assert client.only_database()["path"] == str((directory / "other").resolve())
    assert sockets(run_dir) == [f"agent-{host.pid}.sock"]


def test_through_a_shell(native_agent_library: Path, native_programs: Path, run_dir: Path, directory: Path) -> None:
    """The shell and its tools inherit LD_PRELOAD and stay as they are; the one that opens is observed."""
    env = environment(native_agent_library, run_dir)
    script = 'ls / >/dev/null; date >/dev/null; "$0"; status=$?; true; exit $status'
    with Program(["/bin/sh", "-c", script, native_programs / "lifecycle"], env) as shell:
        shell.ask("open", directory / "db")
        [name] = eventually(lambda: sockets(run_dir), what="the socket")
        assert name != f"agent-{shell.pid}.sock"
        with AgentClient(run_dir / name) as client:
            assert client.info()["program"] == "lifecycle"
        assert shell.finish() == 0
        assert shell.stderr() == ""
    assert sockets(run_dir) == []
