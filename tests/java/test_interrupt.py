"""A host that interrupts all threads of a ThreadGroup, as some do when they stop a part of theirs, keeps its agent."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.hosts import wait_for_agent
from tests.java.conftest import StartJvm
from tests.support.agent_client import AgentClient
from tests.support.changes import back, family
from tests.support.waiting import eventually


def test_the_agent_outlives_interrupts(start_jvm: StartJvm, tmp_path: Path, run_dir: Path) -> None:
    """It listens anew, samples, and restores when the lease ends that was held before."""
    program = start_jvm()
    socket_path = run_dir / f"agent-{program.pid}.sock"
    program.ask("open", tmp_path / "db", "write_buffer_size=8388608")
    wait_for_agent(socket_path)
    for _ in range(3):
        with AgentClient(socket_path) as client:
            db = client.only_database()["id"]
            undo = [back(family(write_buffer_size="8388608"))]
            client.change(db, client.acquire(db), [family(write_buffer_size="4194304")], undo).ok()
        program.ask("interrupt")
        program.ask("sleep", 300)
        wait_for_agent(socket_path)
        assert [each.name for each in run_dir.iterdir()] == [socket_path.name]
        with AgentClient(socket_path) as client:
            client.delete_lease(db, force=True).ok(202)
            eventually(lambda: client.fresh_snapshot(db)["restore"]["state"] == "done", what="the restore")  # noqa: B023
            values = client.fresh_snapshot(db)["options"]["column_families"]["default"]
            assert values["write_buffer_size"] == "8388608"
