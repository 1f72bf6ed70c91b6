"""Databases that come, go and overlap in one process, the way hosts really use RocksDB."""

from __future__ import annotations

import functools
import threading
from pathlib import Path

import pytest

from tests.native.conftest import Connect, Start
from tests.support.agent_client import AgentClient
from tests.support.changes import back, database, family, threads
from tests.support.waiting import eventually

UNDO = [back(family(write_buffer_size="67108864"))]


def test_several_databases_in_one_process(start: Start, connect: Connect, directory: Path) -> None:
    host = start("lifecycle")
    for name in ("one", "two", "three"):
        host.ask("open", directory / name)
    client = connect(host)
    found = {Path(database["path"]).name: database for database in client.databases()}
    assert sorted(found) == ["one", "three", "two"]
    assert len({database["id"] for database in found.values()}) == 3
    assert len({database["session"] for database in found.values()}) == 3
    epoch = client.acquire(found["two"]["id"])
    change = family(write_buffer_size="4194304")
    client.change(found["two"]["id"], epoch, [change], UNDO).ok()
    assert host.ask("get_option", directory / "two", "default", "write_buffer_size") == "4194304"
    assert host.ask("get_option", directory / "one", "default", "write_buffer_size") == "67108864"
    assert client.snapshot(found["one"]["id"])["lease"] is None, "a lease is of one database"
    host.ask("close", directory / "two")
    assert sorted(Path(database["path"]).name for database in client.databases()) == ["one", "three"]
    host.ask("put", directory / "three", 100)


def test_an_id_survives_the_process(start: Start, connect: Connect, directory: Path) -> None:
    """And so does nothing else: another process, another session, the options of its own open."""
    seen = []
    for _ in range(2):
        host = start("lifecycle")
        host.ask("open", directory / "db")
        seen.append(connect(host).only_database())
        host.send("quit")
        assert host.finish() == 0
    assert seen[0]["id"] == seen[1]["id"]
    assert seen[0]["session"] != seen[1]["session"]


def test_a_path_is_canonical(start: Start, connect: Connect, directory: Path) -> None:
    """The same database by another name has the same id."""
    (directory / "link").symlink_to(directory / "real")
    (directory / "real").mkdir()
    ids = []
    for name in ("real", "link", "link/../real/"):
        host = start("lifecycle")
        host.ask("open", f"{directory}/{name}")
        database = connect(host).only_database()
        assert database["path"] == str((directory / "real").resolve())
        ids.append(database["id"])
        host.send("quit")
        assert host.finish() == 0
    assert len(set(ids)) == 1


def test_a_restore_reaches_the_database(start: Start, connect: Connect, directory: Path) -> None:
    """Read by the host's own eyes, not the agent's."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    client.change(db, epoch, [family(write_buffer_size="4194304")], UNDO).ok()
    assert host.ask("get_option", directory / "db", "default", "write_buffer_size") == "4194304"
    client.put_lease(db, "tester", ttl_s=0.5, epoch=epoch).ok()
    eventually(
        lambda: host.ask("get_option", directory / "db", "default", "write_buffer_size") == "67108864",
        what="the restore",
    )


def test_unchanged_writes_no_options_file(start: Start, connect: Connect, directory: Path) -> None:
    """SetOptions with nothing new would cost an OPTIONS file of all column families (HAZARDS 1)."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    before = sorted(path.name for path in (directory / "db").glob("OPTIONS-*"))
    assert before != []
    [step] = client.change(db, epoch, [family(write_buffer_size="67108864")], UNDO).ok()["steps"]
    assert step["outcome"] == "unchanged"
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    eventually(lambda: client.snapshot(db)["restore"]["state"] == "done", what="the restore")
    assert sorted(path.name for path in (directory / "db").glob("OPTIONS-*")) == before


def test_the_host_changes_an_option_itself(start: Start, connect: Connect, directory: Path) -> None:
    """It shows at the next snapshot; it is no original, and no lease's doing."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    host.ask("set_option", directory / "db", "default", "write_buffer_size", "1048576")
    host.ask("set_db_option", directory / "db", "max_background_jobs", "7")

    def shown() -> tuple[str, str]:
        options = client.snapshot(db)["options"]
        family_options = options["column_families"]["default"]
        return family_options["write_buffer_size"], options["database"]["max_background_jobs"]

    eventually(lambda: shown() == ("1048576", "7"), what="the host's values")
    assert client.database(db)["originals"]["column_families"]["default"]["write_buffer_size"] == "67108864"


def test_what_the_host_has_set_since_its_open_is_what_a_restore_owes(
    start: Start, connect: Connect, directory: Path
) -> None:
    """Even where a lease sets the value that the database was opened with."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    host.ask("set_option", directory / "db", "default", "write_buffer_size", "1048576")
    host.ask("set_db_option", directory / "db", "max_background_jobs", "7")
    epoch = client.acquire(db)
    changes = [family(write_buffer_size="67108864"), database(max_background_jobs="2")]
    undo = [back(family(write_buffer_size="1048576")), back(database(max_background_jobs="7"))]
    assert [step["outcome"] for step in client.change(db, epoch, changes, undo).ok()["steps"]] == ["applied"] * 2
    another = family(max_write_buffer_number="4")
    plan = [back(family(max_write_buffer_number="2"))]
    client.change(db, epoch, [another], plan).refused(422, "plan_incomplete")
    client.change(db, epoch, [another], [*plan, undo[0]]).refused(422, "plan_incomplete")
    client.change(db, epoch, [another], [*plan, *undo]).ok()
    originals = client.database(db)["originals"]
    assert originals["column_families"]["default"]["write_buffer_size"] == "1048576"
    assert originals["database"]["max_background_jobs"] == "7"
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    eventually(lambda: client.snapshot(db)["restore"]["state"] == "done", what="the restore")
    client.change(db, client.acquire(db), [another], plan).ok()


def test_reopening_under_load_of_clients(start: Start, connect: Connect, directory: Path, run_dir: Path) -> None:
    """Thirty reopens while eight clients read, list and take leases: nobody sees anything but the contract."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    stop = threading.Event()
    failures: list[BaseException] = []
    answered: set[tuple[str, int]] = set()

    def read(number: int) -> None:
        try:
            with AgentClient(client.socket_path) as another:
                while not stop.is_set():
                    read = another.request("GET", f"/v1/databases/{db}/snapshot?events_after=0")
                    another.databases()
                    lease = another.put_lease(db, f"client-{number}", ttl_s=0.5)
                    answered.update([("read", read.status), ("lease", lease.status)])
                    another.request("GET", f"/v1/databases/{db}")
        except BaseException as error:  # a thread's exception would be lost
            failures.append(error)

    readers = [threading.Thread(target=read, args=(number,)) for number in range(8)]
    for reader in readers:
        reader.start()
    for _ in range(30):
        host.ask("put", directory / "db", 50)
        host.ask("close", directory / "db")
        host.ask("open", directory / "db")
    stop.set()
    for reader in readers:
        reader.join()
    assert not failures
    assert answered >= {("read", 200), ("read", 404), ("lease", 200)}, "nobody met an open, or nobody a closed one"
    assert client.only_database()["id"] == db
    host.send("quit")
    assert host.finish() == 0
    assert list(run_dir.iterdir()) == []


def test_column_families_come_and_go(start: Start, connect: Connect, directory: Path) -> None:
    host = start("lifecycle")
    host.ask("open", directory / "db", "first")
    client = connect(host)
    db = client.only_database()["id"]
    host.ask("create_cfs", directory / "db", "second", "third", "fourth")

    def names() -> list[str]:
        listed: list[str] = sorted(client.only_database()["column_families"])
        return listed

    eventually(lambda: names() == ["default", "first", "fourth", "second", "third"], what="the created ones")
    host.ask("drop_cf", directory / "db", "second")
    host.ask("drop_cf", directory / "db", "first")
    host.ask("delete_handle", directory / "db", "first")
    eventually(lambda: names() == ["default", "fourth", "third"], what="the dropped ones to be gone")
    client.snapshot(db)
    host.ask("put", directory / "db", 100, "third")


def test_an_imported_column_family(start: Start, connect: Connect, directory: Path) -> None:
    """RocksDB's import calls its own CreateColumnFamily: one handle, and none of it is left when it is deleted."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    host.ask("put", directory / "db", 100)
    host.ask("flush", directory / "db")
    host.ask("import_cf", directory / "db", "default", "copy")
    client = connect(host)
    assert sorted(client.only_database()["column_families"]) == ["copy", "default"]
    host.ask("delete_handle", directory / "db", "copy")
    assert client.only_database()["column_families"] == ["default"]
    db = client.only_database()["id"]
    first = client.snapshot(db)["sequence"]
    eventually(lambda: client.snapshot(db)["sequence"] > first + 3, what="some more snapshots")
    host.ask("close", directory / "db")


def test_a_changed_column_family_whose_handle_is_deleted(start: Start, connect: Connect, directory: Path) -> None:
    """Nothing of it can be restored; it must not stand in the way of every further change."""
    host = start("lifecycle")
    host.ask("open", directory / "db", "first")
    client = connect(host)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    undo = [*UNDO, back(family("first", write_buffer_size="67108864"))]
    client.change(db, epoch, [family("first", write_buffer_size="4194304")], undo).ok()
    host.ask("delete_handle", directory / "db", "first")
    client.change(db, epoch, [family(write_buffer_size="4194304")], UNDO).ok()


def test_a_column_family_that_is_created_again(start: Start, connect: Connect, directory: Path) -> None:
    """The plan was made for the one that was dropped: its steps must not touch the new one of the same name."""
    host = start("lifecycle")
    host.ask("open", directory / "db", "first", "write_buffer_size=33554432")
    client = connect(host)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    undo = [back(family("first", write_buffer_size="33554432"))]
    client.change(db, epoch, [family("first", write_buffer_size="4194304")], undo).ok()
    host.ask("drop_cf", directory / "db", "first")
    host.ask("delete_handle", directory / "db", "first")
    host.ask("create_cf", directory / "db", "first")
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    eventually(lambda: client.snapshot(db)["restore"]["state"] == "done", what="the restore")
    assert host.ask("get_option", directory / "db", "first", "write_buffer_size") == "67108864"


@pytest.mark.parametrize("gone", [True, False], ids=["first", "second"])
def test_a_drop_of_several_that_fails_half_way(start: Start, connect: Connect, directory: Path, gone: bool) -> None:
    """RocksDB stops at one that was dropped before, and does not say which are gone: those get no change any more."""
    host = start("lifecycle")
    host.ask("open", directory / "db", "one", "other", "write_buffer_size=33554432")
    client = connect(host)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    undo = [back(family("one", write_buffer_size="33554432"))]
    client.change(db, epoch, [family("one", write_buffer_size="4194304")], undo).ok()
    host.ask("drop_cf", directory / "db", "other")
    answer = host.try_ask("drop_cfs", directory / "db", *(("one", "other") if gone else ("other", "one")))
    assert "already dropped" in answer
    assert ("one" in client.only_database()["column_families"]) == (not gone)
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    restore = eventually(lambda: (done := client.snapshot(db)["restore"])["state"] == "done" and done, what="it ends")
    assert [error.rpartition(": ")[2] for error in restore["errors"]] == (
        ["Column family 'one' is gone."] if gone else []
    )
    assert host.ask("get_option", directory / "db", "one", "write_buffer_size") == (
        "4194304" if gone else "33554432"
    ), "one that is dropped is left alone"


def test_thread_pools_outlive_a_database(start: Start, connect: Connect, directory: Path) -> None:
    """The next open must not take for its original what a lease on the last one has set."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    pools = client.database(db)["originals"]["thread_pools"]
    epoch = client.acquire(db)
    client.change(db, epoch, [threads("low", pools["low"] + 3)], [back(threads("low", pools["low"]))]).ok()
    host.ask("close", directory / "db")
    host.ask("open", directory / "db")
    assert client.database(db)["originals"]["thread_pools"] == pools


def test_a_close_leaves_pools_alone_that_were_given_back(start: Start, connect: Connect, directory: Path) -> None:
    """A database that was opened while another's lease had changed a pool must not bring that size back."""
    host = start("lifecycle")
    host.ask("open", directory / "one")
    client = connect(host)
    one = client.only_database()["id"]
    low = client.database(one)["originals"]["thread_pools"]["low"]
    undo, epoch = [back(threads("low", low))], client.acquire(one)
    client.change(one, epoch, [threads("low", low + 3)], undo).ok()
    host.ask("open", directory / "two")
    client.change(one, epoch, [threads("low", low)], undo).ok()
    two = next(database["id"] for database in client.databases() if database["id"] != one)
    epoch = client.acquire(two)
    client.change(two, epoch, [threads("low", low + 5)], undo).ok()
    client.delete_lease(two, holder="tester", epoch=epoch).ok(202)
    eventually(lambda: client.snapshot(two)["restore"]["state"] == "done", what="the restore")
    host.ask("close", directory / "two")
    assert client.fresh_snapshot(one)["options"]["thread_pools"]["low"] == low


def test_a_close_leaves_pools_alone_that_the_host_has_changed(start: Start, connect: Connect, directory: Path) -> None:
    """More background jobs enlarge the pools: that is not what the lease has set, so it is not undone."""
    host = start("lifecycle")
    host.ask("open", directory / "one")
    host.ask("open", directory / "two")
    client = connect(host)
    one, two = (client.database(found["id"]) for found in client.databases())
    if not one["path"].endswith("/one"):
        one, two = two, one
    low = two["originals"]["thread_pools"]["low"]
    epoch = client.acquire(two["id"])
    client.change(two["id"], epoch, [threads("low", low + 1)], [back(threads("low", low))]).ok()
    host.ask("set_db_option", directory / "one", "max_background_jobs", "16")
    grown = client.fresh_snapshot(one["id"])["options"]["thread_pools"]["low"]
    assert grown > low + 1, "the test shows nothing"
    host.ask("close", directory / "two")
    assert client.fresh_snapshot(one["id"])["options"]["thread_pools"]["low"] == grown


def test_a_handle_deleted_early(start: Start, connect: Connect, directory: Path) -> None:
    """The host deletes a handle while the column family lives on: the agent must not use what is freed."""
    host = start("lifecycle")
    host.ask("open", directory / "db", "first", "second", "third")
    client = connect(host)
    db = client.only_database()["id"]
    host.ask("drop_cf", directory / "db", "third")
    for name in ("third", "first"):
        host.ask("delete_handle", directory / "db", name)
    detail = client.database(db)
    assert detail["column_families"] == ["default", "second"]
    assert detail["unseen_column_families"] == ["first"], "it is not dropped: its options are as they were"
    first = client.snapshot(db)["sequence"]
    eventually(lambda: client.snapshot(db)["sequence"] > first + 3, what="some more snapshots")
    epoch = client.acquire(db)
    change = family("first", write_buffer_size="4194304")
    reply = client.change(db, epoch, [change], [back(family("first", write_buffer_size="67108864"))])
    if reply.status == 200:
        assert reply.body["steps"][0]["outcome"] == "applied"
    else:
        reply.refused(422, "no_such_column_family")
    host.ask("put", directory / "db", 100, "second")
    host.ask("close", directory / "db")


def test_an_explicit_close_that_is_refused(start: Start, connect: Connect, directory: Path) -> None:
    """DB::Close answers Aborted while a snapshot is held: the database is still open, and still observed."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    host.ask("hold_snapshot", directory / "db")
    assert host.ask("try_close", directory / "db").startswith("Operation aborted")
    assert client.snapshot(db)["database"] == db
    host.ask("release_snapshot", directory / "db")
    assert host.ask("try_close", directory / "db") == "OK"
    assert client.databases() == []
    host.ask("close", directory / "db")


def test_changes_while_closes_are_refused(start: Start, connect: Connect, directory: Path) -> None:
    """An attempt to close keeps the agent out for a moment: changes and restore steps wait for it, none is lost."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    host.ask("hold_snapshot", directory / "db")
    stop = threading.Event()
    attempts: list[str] = []

    def attempt() -> None:
        while not stop.is_set():
            attempts.append(host.ask("try_close", directory / "db"))

    def has_tried(before: int) -> bool:
        return len(attempts) > before

    host_thread = threading.Thread(target=attempt)
    host_thread.start()
    try:
        for _ in range(20):
            eventually(functools.partial(has_tried, len(attempts)), what="an attempt to close")
            epoch = client.acquire(db)
            steps = client.change(db, epoch, [family(write_buffer_size="4194304")], UNDO).ok()["steps"]
            assert [step["outcome"] for step in steps] == ["applied"]
            client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
            eventually(lambda: client.snapshot(db)["restore"]["state"] == "done", what="the restore")
            assert client.snapshot(db)["restore"]["errors"] == []
    finally:
        stop.set()
        host_thread.join()
    assert all(said.startswith("Operation aborted") for said in attempts), attempts
    assert host.ask("get_option", directory / "db", "default", "write_buffer_size") == "67108864"


def test_options_that_were_copied_from_another_database(start: Start, connect: Connect, directory: Path) -> None:
    """The copy carries the agent's listener along: the events must still go to the right database, once."""
    host = start("lifecycle")
    host.ask("open", directory / "one")
    host.ask("open_like", directory / "two", directory / "one")
    client = connect(host)
    ids = {Path(database["path"]).name: database["id"] for database in client.databases()}
    host.ask("put", directory / "two", 100)
    host.ask("flush", directory / "two")

    def flushes(name: str) -> int:
        counted: int = client.snapshot(ids[name])["counters"]["flushes"]
        return counted

    eventually(lambda: flushes("two") == 1, what="the flush")
    assert flushes("one") == 0
    host.ask("close", directory / "two")  # the copy first: RocksDB itself does not survive the other order
    host.ask("put", directory / "one", 100)
    host.ask("flush", directory / "one")
    eventually(lambda: flushes("one") == 1, what="the flush of the database that was copied from")


@pytest.mark.parametrize(("command", "leaves_socket"), [("exit", False), ("_exit", True)])
def test_a_host_that_exits_with_open_databases(
    start: Start, connect: Connect, directory: Path, run_dir: Path, command: str, leaves_socket: bool
) -> None:
    """Exit handlers remove the socket; without them it stays, and refuses connections."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    client.only_database()
    host.send(command, "7")
    assert host.finish() == 7
    assert host.stderr() == ""
    assert [path.suffix for path in run_dir.iterdir()] == ([".sock"] if leaves_socket else [])
    client.close()
    with pytest.raises((ConnectionRefusedError, FileNotFoundError)):
        client.info()


def test_a_stale_socket_is_replaced(start: Start, connect: Connect, directory: Path, run_dir: Path) -> None:
    """A killed process leaves its socket behind; a later one of the same pid takes the name over."""
    host = start("lifecycle")
    stale = run_dir / f"agent-{host.pid}.sock"
    stale.touch()
    host.ask("open", directory / "db")
    assert connect(host).only_database()["path"] == str((directory / "db").resolve())
    assert [path.name for path in run_dir.iterdir()] == [stale.name]
