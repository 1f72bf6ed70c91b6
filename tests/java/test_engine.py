"""The agent's table of live options, against the RocksDB that it runs on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.conformance.hosts import wait_for_agent
from tests.java.conftest import StartJvm
from tests.support.agent_client import AgentClient
from tests.support.changes import back, database, family
from tests.support.waiting import eventually


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


def test_rocksdb_counts_a_stall_under_a_name_that_the_agent_knows(
    start_jvm: StartJvm, tmp_path: Path, run_dir: Path
) -> None:
    """The names changed between 7.8 and 11.8; with the older ones alone, each count was 0 for good."""
    program, path = start_jvm(), tmp_path / "db"
    program.ask("open", path)
    wait_for_agent(run_dir / f"agent-{program.pid}.sock")
    with AgentClient(run_dir / f"agent-{program.pid}.sock") as client:
        name = client.only_database()["id"]
        program.ask("set_option", path, "default", "level0_slowdown_writes_trigger", 1)
        program.ask("put", path, 1)
        program.ask("flush", path)

        def counts() -> Mapping[str, int]:
            found: Mapping[str, int] = client.fresh_snapshot(name)["column_families"]["default"]["stall_counts"]
            return found

        eventually(lambda: counts()["l0_slowdowns"] >= 1, what="the file in level 0 is counted")
        assert counts()["memtable_stops"] == 0
