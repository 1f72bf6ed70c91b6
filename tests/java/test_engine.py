"""The agent's table of live options, against the RocksDB that it runs on."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.hosts import wait_for_agent
from tests.java.conftest import StartJvm
from tests.support.agent_client import AgentClient
from tests.support.changes import back, database, family


def test_rocksdb_takes_every_live_option_with_the_value_that_it_has(
    start_jvm: StartJvm, tmp_path: Path, run_dir: Path
) -> None:
    program = start_jvm()
    program.ask("open", tmp_path / "db")
    wait_for_agent(run_dir / f"agent-{program.pid}.sock")
    with AgentClient(run_dir / f"agent-{program.pid}.sock") as client:
        described = client.database(client.only_database()["id"])
        originals, live = described["originals"], described["capabilities"]
        values = originals["column_families"]["default"]
        changes = [family(**{name: values[name]}) for name in live["column_family_options"]]
        changes += [database(**{name: originals["database"][name]}) for name in live["database_options"]]
        assert len(changes) > 50
        reply = client.change(
            described["id"], client.acquire(described["id"]), changes, [back(each) for each in changes], repeat=True
        )
        steps = reply.ok()["steps"]
        assert [step["error"] for step in steps] == [None] * len(changes)
