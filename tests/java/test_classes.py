"""Every class of database, with the agent from the start or attached late, in whatever class loader."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conformance.hosts import wait_for_agent
from tests.java.conftest import Jvm, StartJvm, attach_late
from tests.support.agent_client import AgentClient
from tests.support.changes import back, family
from tests.support.java import rocksdbjni_version
from tests.support.programs import Program
from tests.support.waiting import eventually

CLASSES = ["plain", "transaction", "optimistic", "ttl"]


def begin(
    program: Program, late: bool, path: Path, java_agent: Path, run_dir: Path, kind: str = "plain"
) -> AgentClient:
    """Let a program open a database with a second column family, and return a client of its agent."""
    words = ["statistics=yes", "rate_limiter=100000000", "second"] + ([] if kind == "plain" else [f"class={kind}"])
    program.ask("open", path, *words)
    socket_path = run_dir / f"agent-{program.pid}.sock"
    if late:
        attach_late(program, java_agent, run_dir)

        def called() -> bool:
            program.ask("put", path, 1, "second")
            return socket_path.exists()

        eventually(called, what="the agent to see who is called")
    wait_for_agent(socket_path)
    return AgentClient(socket_path)


@pytest.mark.parametrize("late", [False, True], ids=["from the start", "late"])
@pytest.mark.parametrize("kind", CLASSES)
def test_a_database_of_each_class(
    start_jvm: StartJvm, tmp_path: Path, java_agent: Path, run_dir: Path, kind: str, late: bool
) -> None:
    program, path = start_jvm(agent=not late), tmp_path / "db"
    with begin(program, late, path, java_agent, run_dir, kind) as client:

        def both() -> bool:
            program.ask("put", path, 1, "second")
            return bool(client.only_database()["column_families"] == ["default", "second"])

        eventually(both, what="both column families")
        database = client.only_database()
        assert database.get("opened_before_agent") == late
        if late and kind == "ttl" and rocksdbjni_version().startswith("7."):
            assert not database["capabilities"]["rate_limiter"], "the object keeps no options there"
        else:
            assert database["capabilities"]["rate_limiter"]
            assert database["capabilities"]["statistics"] == "all"
            assert client.database(database["id"])["originals"]["rate_limiter_bytes_per_s"] == 100_000_000
        change = family("second", write_buffer_size="4194304")
        undo = back(family("second", write_buffer_size="67108864"))
        [step] = client.change(database["id"], client.acquire(database["id"]), [change], [undo]).ok()["steps"]
        assert (step["outcome"], step["error"]) == ("applied", None)
        client.fresh_snapshot(database["id"])
        program.ask("close", path)
        eventually(lambda: client.databases() == [], what="the close")
        program.ask("open", path, "second", "class=" + kind)
        eventually(client.databases, what="the database to be open again")
        assert not client.only_database().get("opened_before_agent")


@pytest.mark.parametrize("late", [False, True], ids=["from the start", "late"])
def test_a_rocksdb_in_a_class_loader_that_sees_nothing_of_ours(
    start_jvm: StartJvm, tmp_path: Path, java_agent: Path, run_dir: Path, late: bool
) -> None:
    program = start_jvm(agent=not late, main="Isolated")
    with begin(program, late, tmp_path / "db", java_agent, run_dir) as client:
        eventually(lambda: client.fresh_snapshot(client.only_database()["id"]), what="a snapshot")


def test_a_limiter_that_the_program_disposes_of(jvm: Jvm, tmp_path: Path) -> None:
    """RocksDB's own goes on; the object that reaches it is gone."""
    program, path = jvm.program, tmp_path / "db"
    program.ask("open", path, "rate_limiter=100000000")
    with jvm.client() as client:
        assert client.only_database()["capabilities"]["rate_limiter"]
        program.ask("close_limiter", path)
        assert not client.only_database()["capabilities"]["rate_limiter"]
        assert client.fresh_snapshot(client.only_database()["id"])["options"]["rate_limiter_bytes_per_s"] is None


def test_a_handle_that_the_program_disposes_of(jvm: Jvm, tmp_path: Path) -> None:
    """Kafka Streams closes one at the open; rocksdbjni keeps the object in its list."""
    program, path = jvm.program, tmp_path / "db"
    program.ask("open", path, "second", "third")
    with jvm.client() as client:
        db = client.only_database()["id"]
        program.ask("close_handle", path, "second")
        program.ask("close_handle", path, "default")
        described = client.only_database()
        assert described["column_families"] == ["default", "third"]
        assert described["unseen_column_families"] == ["second"]
        assert sorted(client.fresh_snapshot(db)["column_families"]) == ["default", "third"]


def test_a_database_that_is_only_read(jvm: Jvm, tmp_path: Path) -> None:
    program, path = jvm.program, tmp_path / "db"
    program.ask("open", path)
    program.ask("close", path)
    program.ask("open_read_only", path)
    with jvm.client() as client:
        db = client.only_database()
        assert db["capabilities"]["column_family_options"] == db["capabilities"]["thread_pools"] == []
        assert client.snapshot(db["id"])["stall"]["condition"] == "normal"


def test_a_column_family_that_is_dropped_and_created_again(jvm: Jvm, tmp_path: Path) -> None:
    """It is another one, whatever the agent knew of the first."""
    program, path = jvm.program, tmp_path / "db"
    program.ask("open", path)
    with jvm.client() as client:
        db = client.only_database()["id"]

        def original() -> object:
            families = client.database(db)["originals"]["column_families"]
            return families.get("short", {}).get("write_buffer_size")

        program.ask("create_cf", path, "short")
        program.ask("set_option", path, "short", "write_buffer_size", 8 << 20)
        assert original() == str(8 << 20)
        program.ask("drop_cf", path, "short")
        program.ask("create_cf", path, "short")
        assert original() == str(64 << 20)


def test_a_drop_that_fails(jvm: Jvm, tmp_path: Path) -> None:
    """The column family is still there, and what a lease changed in it is restored."""
    program, path = jvm.program, tmp_path / "db"
    program.ask("open", path, "second")
    with jvm.client() as client:
        db = client.only_database()["id"]
        small, undo = family("second", write_buffer_size="4194304"), family("second", write_buffer_size="67108864")
        client.change(db, client.acquire(db), [small], [back(undo)]).ok()
        assert "default" in program.try_ask("drop_cfs", path, "default", "second")
        assert client.only_database()["column_families"] == ["default", "second"]
        assert client.database(db)["originals"]["column_families"]["second"]["write_buffer_size"] == "67108864"
        client.delete_lease(db, force=True).ok(202)
        eventually(lambda: client.fresh_snapshot(db)["restore"]["state"] == "done", what="the restore")
        snapshot = client.fresh_snapshot(db)
        assert snapshot["restore"]["errors"] == []
        assert snapshot["options"]["column_families"]["second"]["write_buffer_size"] == "67108864"
        program.ask("drop_cfs", path, "second")
        assert client.only_database()["column_families"] == ["default"]


def test_a_reader_beside_a_writer(jvm: Jvm, tmp_path: Path) -> None:
    """Both have one id; the writer is changed, the reader never, though it is the older one."""
    program, path = jvm.program, tmp_path / "db"
    program.ask("open", path)
    program.ask("open_read_only", path, "reader")
    program.ask("close", path)
    program.ask("open", path)
    with jvm.client() as client:
        eventually(lambda: len(client.databases()) == 2, what="both instances")
        writer, reader = client.databases()
        assert writer["id"] == reader["id"]
        assert writer["capabilities"]["column_family_options"]
        assert reader["capabilities"]["column_family_options"] == []
        change, undo = family(write_buffer_size="4194304"), back(family(write_buffer_size="67108864"))
        [step] = client.change(writer["id"], client.acquire(writer["id"]), [change], [undo]).ok()["steps"]
        assert (step["outcome"], step["error"]) == ("applied", None)


def test_a_database_that_the_program_forgets(jvm: Jvm, tmp_path: Path) -> None:
    """It stays open in RocksDB; the agent keeps no object of it from being collected."""
    program = jvm.program
    program.ask("open", tmp_path / "kept")
    program.ask("open", tmp_path / "db", "second", "statistics=yes")
    with jvm.client() as client:
        eventually(lambda: len(client.databases()) == 2, what="both databases")
        for each in client.databases():
            client.fresh_snapshot(each["id"])
        program.ask("forget", tmp_path / "db")

        def is_forgotten() -> bool:
            subprocess.run(["jcmd", str(program.pid), "GC.run"], capture_output=True, check=True)
            return len(client.databases()) == 1

        eventually(is_forgotten, what="the agent to forget it, too")
