"""What a lease has changed and somebody else changes too, while it lasts or while its plan waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.java.conftest import Jvm
from tests.support.agent_client import AgentClient, Json
from tests.support.changes import back, family, limiter, threads
from tests.support.programs import Program
from tests.support.waiting import eventually

MIB = 1 << 20


def by_path(client: AgentClient, path: Path) -> Json:
    """Return a database of several."""
    return next(each for each in client.databases() if each["path"] == str(path))


def replace(program: Program, client: AgentClient, old: Path, new: Path) -> Json:
    """Close a database and open another, which is listed when the session of the old one is over."""
    program.ask("close", old)
    program.ask("open", new)
    eventually(lambda: any(each["path"] == str(new) for each in client.databases()), what="the new database")
    return by_path(client, new)


def open_two(jvm: Jvm, first: Path, second: Path) -> AgentClient:
    """Open two databases of one rate limiter."""
    jvm.program.ask("open", first, f"rate_limiter={8 * MIB}")
    jvm.program.ask("open", second, f"limiter_of={first}")
    client = jvm.client()
    eventually(lambda: len(client.databases()) == 2, what="both databases")
    return client


@pytest.mark.parametrize("host_sets", [False, True])
def test_a_close_sets_back_only_what_is_as_it_was_set(jvm: Jvm, tmp_path: Path, host_sets: bool) -> None:
    """Thread pools and the limiter are shared: what the host, or another lease, has set meanwhile is left alone."""
    first, second, third = tmp_path / "first", tmp_path / "second", tmp_path / "third"
    program = jvm.program
    with open_two(jvm, first, second) as client:
        low = program.ask("pool", "LOW")
        db = by_path(client, second)["id"]
        changes = [limiter(4 * MIB), threads("low", 5)]
        plan = [back(limiter(8 * MIB)), back(threads("low", int(low)))]
        steps = client.change(db, client.acquire(db), changes, plan).ok()["steps"]
        assert [step["outcome"] for step in steps] == ["applied", "applied"]
        if host_sets:
            program.ask("limiter", first, 6 * MIB)
            program.ask("pool", "LOW", 7)
        db = replace(program, client, second, third)["id"]
        assert program.ask("limiter", first) == str((6 if host_sets else 8) * MIB)
        assert program.ask("pool", "LOW") == ("7" if host_sets else low)
        originals = client.database(db)["originals"]
        assert originals["thread_pools"]["low"] == (7 if host_sets else int(low))


def test_a_close_leaves_what_another_databases_lease_set(jvm: Jvm, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    program = jvm.program
    with open_two(jvm, first, second) as client:
        low = int(program.ask("pool", "LOW"))
        for path, size in ((second, 5), (first, 6)):
            db = by_path(client, path)["id"]
            client.change(db, client.acquire(db), [threads("low", size)], [back(threads("low", low))]).ok()
        replace(program, client, second, tmp_path / "third")
        assert program.ask("pool", "LOW") == "6"
        program.ask("close", first)
        eventually(lambda: program.ask("pool", "LOW") == str(low), what="the last one to set it back")


def test_a_condition_does_not_pass_to_a_column_family_of_the_same_name(jvm: Jvm, tmp_path: Path) -> None:
    """The planned one was dropped, so that its condition counts as true, whatever the new one's value is."""
    path = tmp_path / "db"
    program = jvm.program
    program.ask("open", path, "more", "write_buffer_size=8388608")
    with jvm.client() as client:
        db = client.only_database()["id"]
        client.fresh_snapshot(db)
        undo = back(family(write_buffer_size="8388608"), when=("more", "rocksdb.num-files-at-level0", 1))
        client.change(db, client.acquire(db), [family(write_buffer_size="4194304")], [undo]).ok()
        program.ask("drop_cf", path, "more")
        program.ask("create_cf", path, "more")
        program.ask("put", path, 10, "more")
        program.ask("flush", path, "more")
        client.delete_lease(db, force=True).ok(202)
        eventually(lambda: client.fresh_snapshot(db)["restore"]["state"] == "done", what="the restore")
        options = client.fresh_snapshot(db)["options"]["column_families"]["default"]
        assert options["write_buffer_size"] == "8388608"
