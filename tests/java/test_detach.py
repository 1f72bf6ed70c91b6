"""`adocd detach PID` for a JVM: it is then as it was before the attach, and can be attached to again."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.harness import command
from tests.conformance.hosts import wait_for_agent
from tests.java.conftest import StartJvm, attach_late
from tests.support.agent_client import AgentClient
from tests.support.changes import back, family
from tests.support.programs import Program
from tests.support.waiting import always, eventually

Held = tuple[list[str], list[str]]


def held(pid: int) -> Held:
    """Return the threads by their names, without those of the JVM's compilers, and what the descriptors are open on."""
    proc = Path(f"/proc/{pid}")
    names = sorted(each.read_text().strip() for each in proc.glob("task/*/comm"))
    links = sorted(re.sub(r"\d+", "N", os.readlink(each)) for each in (proc / "fd").iterdir())
    return [name for name in names if not name.startswith(("C1 ", "C2 "))], links


def attached(program: Program, path: Path, java_agent: Path, run_dir: Path) -> AgentClient:
    """Attach to a program with a database of the column families `default` and `more`, and let it be seen."""
    attach_late(program, java_agent, run_dir)
    socket_path = run_dir / f"agent-{program.pid}.sock"

    def called() -> bool:
        program.ask("put", path, 1, "more")
        return socket_path.exists()

    eventually(called, what="the agent to see who is called")
    wait_for_agent(socket_path)
    client = AgentClient(socket_path)

    def both() -> bool:
        program.ask("put", path, 1, "more")
        return bool(client.only_database()["column_families"] == ["default", "more"])

    eventually(both, what="both column families")
    return client


def objects_of_the_agent(pid: int) -> set[str]:
    """Name the agent's classes that have objects which can be reached."""
    shown = subprocess.run(["jcmd", str(pid), "GC.class_histogram"], capture_output=True, text=True, check=True)
    assert "org.rocksdb.RocksDB" in shown.stdout
    return set(re.findall(r"net\.adocd\.agent\.[\w.$]+", shown.stdout))


def overflow(program: Program, path: Path, files: int) -> None:
    """Add files to level 0 of the default column family."""
    for _ in range(files):
        program.ask("put", path, 10)
        program.ask("flush", path)


@pytest.mark.parametrize("main", ["Lifecycle", "Isolated"])
def test_again_and_again(start_jvm: StartJvm, tmp_path: Path, java_agent: Path, run_dir: Path, main: str) -> None:
    """Each time the options are the originals again, and nothing of the agent runs, is open or holds an object."""
    program, path = start_jvm(agent=False, main=main), tmp_path / "db"
    program.ask("open", path, "more", "statistics=yes", "rate_limiter=100000000")
    with attached(program, path, java_agent, run_dir):
        command("adocd", "detach", str(program.pid), run_dir=run_dir).ok()
    before = held(program.pid)  # with the agent's jar open, and with the JVM's own socket for attaching
    for _ in range(3):
        with attached(program, path, java_agent, run_dir) as client:
            assert objects_of_the_agent(program.pid) >= {"net.adocd.agent.session.Session"}
            database = client.only_database()
            assert database["opened_before_agent"]
            original = client.database(database["id"])["originals"]["column_families"]["more"]["write_buffer_size"]
            plan = [back(family("more", write_buffer_size=original))]
            small = family("more", write_buffer_size=str(1 << 20))
            [step] = client.change(database["id"], client.acquire(database["id"]), [small], plan).ok()["steps"]
            assert step["outcome"] == "applied"
            said = command("adocd", "detach", str(program.pid), run_dir=run_dir)
            assert (said.status, said.err) == (0, "")
            assert said.out == (
                f"detached from process {program.pid}: its options are restored, and the agent has ended\n"
            )
        assert list(run_dir.iterdir()) == []
        eventually(lambda: held(program.pid) == before, what=f"threads and descriptors as before, {before}")
        kept = {name.rpartition(".")[2] for name in objects_of_the_agent(program.pid)}
        whose = {"ProcessAgent", "Presence", "Registry", "HostDatabase", "HostOptions", "RocksApi", "Session", "Server"}
        assert not kept & whose
    options = max(path.glob("OPTIONS-*"))
    assert f"write_buffer_size={original}" in options.read_text().partition('[CFOptions "more"]')[2]
    program.ask("put", path, 100, "more")
    program.ask("drop_cf", path, "more")
    program.ask("close", path)
    program.ask("open", path)
    always(lambda: not list(run_dir.iterdir()), for_s=0.3, what="the program's RocksDB tells nobody of its open")


def test_the_terminal_says_what_there_is_to_detach(
    start_jvm: StartJvm, tmp_path: Path, java_agent: Path, run_dir: Path
) -> None:
    program = start_jvm(agent=False)
    nothing = command("adocd", "detach", str(program.pid), run_dir=run_dir)
    nothing.failed(6, f"java ({program.pid}) has no agent: there is nothing to detach")
    attach_late(program, java_agent, run_dir)  # it has no database yet
    command("adocd", "attach", str(program.pid), run_dir=run_dir).failed(6, "an agent is in this process already")
    command("adocd", "detach", str(program.pid), run_dir=run_dir).ok()
    again = command("adocd", "detach", str(program.pid), run_dir=run_dir)
    again.failed(6, "no agent was attached to this process")
    attach_late(program, java_agent, run_dir)
    program.ask("open", tmp_path / "db")
    wait_for_agent(run_dir / f"agent-{program.pid}.sock")


def test_an_agent_that_came_with_the_program_stays(start_jvm: StartJvm, tmp_path: Path, run_dir: Path) -> None:
    program = start_jvm()
    program.ask("open", tmp_path / "db")
    wait_for_agent(run_dir / f"agent-{program.pid}.sock")
    said = command("adocd", "detach", str(program.pid), run_dir=run_dir)
    said.failed(6, "no agent was attached to this process: the agent came with the program, and ends with it")
    with AgentClient(run_dir / f"agent-{program.pid}.sock") as client:
        assert client.only_database()["path"] == str(tmp_path / "db")


def test_a_restore_that_waits(start_jvm: StartJvm, tmp_path: Path, java_agent: Path, run_dir: Path) -> None:
    """As in a stall: the agent stays, and goes on with it by itself; then it can be detached."""
    program, path = start_jvm(agent=False), tmp_path / "db"
    program.ask("open", path, "more", "level0_file_num_compaction_trigger=8")
    with attached(program, path, java_agent, run_dir) as client:
        database = client.only_database()["id"]
        client.fresh_snapshot(database)
        original = client.database(database)["originals"]["column_families"]["default"]["write_buffer_size"]
        when = ("default", "rocksdb.num-files-at-level0", 2)
        plan = [back(family(write_buffer_size=original), when=when)]
        client.change(database, client.acquire(database), [family(write_buffer_size=str(1 << 20))], plan).ok()
        overflow(program, path, 2)
        refused = command("adocd", "detach", str(program.pid), run_dir=run_dir)
        refused.failed(5, f"the agent in process {program.pid} still restores options (1 steps left): try again when")
        assert client.fresh_snapshot(database)["restore"]["state"] == "waiting"
        overflow(program, path, 6)  # compaction then empties level 0
        eventually(lambda: client.fresh_snapshot(database)["restore"]["state"] == "done", what="the restore")
        command("adocd", "detach", str(program.pid), run_dir=run_dir).ok()
    assert not (run_dir / f"agent-{program.pid}.sock").exists()


def test_a_request_that_waits(start_jvm: StartJvm, tmp_path: Path, java_agent: Path, run_dir: Path) -> None:
    """Clients in the middle of anything are broken off, and nothing waits for them."""
    program, path = start_jvm(agent=False), tmp_path / "db"
    program.ask("open", path, "more")
    with attached(program, path, java_agent, run_dir) as client:
        database = client.only_database()["id"]
        client.acquire(database)  # a lease that has changed nothing
        command("adocd", "detach", str(program.pid), run_dir=run_dir).ok()
        with pytest.raises(OSError):  # noqa: PT011 (refused or gone, by the moment)
            client.databases()


def test_while_databases_are_still_looked_for(
    start_jvm: StartJvm, tmp_path: Path, java_agent: Path, run_dir: Path
) -> None:
    """The methods of a database that nobody calls would report for ten seconds."""
    program, path = start_jvm(agent=False), tmp_path / "db"
    program.ask("open", path, "more")
    attach_late(program, java_agent, run_dir)
    command("adocd", "detach", str(program.pid), run_dir=run_dir).ok()
    assert "adocd-search" not in held(program.pid)[0]
    program.ask("put", path, 10, "more")
    always(lambda: not list(run_dir.iterdir()), for_s=0.3, what="nobody hears of the call")
    with attached(program, path, java_agent, run_dir) as client:
        assert client.only_database()["opened_before_agent"]
