"""A restore on a full disk waits: RocksDB writes files at each change of options."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conformance.hosts import wait_for_agent
from tests.support import full_disk
from tests.support.agent_client import AgentClient
from tests.support.changes import back, family
from tests.support.java import java_command
from tests.support.programs import Program, environment
from tests.support.waiting import eventually


def test_a_restore_waits_for_space(java_agent: Path, run_dir: Path, tmp_path: Path) -> None:
    if not full_disk.can_mount(tmp_path):
        pytest.skip("nothing can be mounted here")
    command = [*full_disk.on_small_disk(tmp_path), *java_command(java_agent)]
    with Program(command, environment(None, run_dir)) as program:
        program.ask("open", tmp_path / "db")
        wait_for_agent(run_dir / f"agent-{program.pid}.sock")
        with AgentClient(run_dir / f"agent-{program.pid}.sock") as client:
            db = client.only_database()["id"]
            epoch = client.acquire(db)
            plan = [back(family(write_buffer_size="67108864"))]
            client.change(db, epoch, [family(write_buffer_size="4194304")], plan).ok()
            disk = full_disk.seen_by(program.pid, tmp_path)
            full_disk.fill(disk)
            [step] = client.change(db, epoch, [family(write_buffer_size="8388608")], plan).ok()["steps"]
            assert step["error"].startswith("Not executed: less than 8 MiB are free for ")
            client.delete_lease(db, force=True).ok(202)
            waiting = eventually(
                lambda: (state := client.snapshot(db)["restore"])["state"] == "waiting" and state, what="the wait"
            )
            assert "8 MiB" in waiting["waiting_for"]
            full_disk.make_room(disk)
            eventually(lambda: client.fresh_snapshot(db)["restore"]["state"] == "done", what="the restore")
            snapshot = client.fresh_snapshot(db)
            assert snapshot["restore"]["errors"] == []
            assert snapshot["options"]["column_families"]["default"]["write_buffer_size"] == "67108864"
        assert program.finish() == 0
        assert program.stderr() == ""
