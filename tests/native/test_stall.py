"""During a real write stall: the agent answers, says so, and a change in flight holds up nobody but itself."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from tests.native.conftest import Connect, Start
from tests.support.agent_client import AgentClient, Json
from tests.support.changes import back, family, limiter
from tests.support.programs import Program
from tests.support.waiting import PATIENCE_S, eventually

CHANGE, UNDO = family(max_write_buffer_number="4"), back(family(max_write_buffer_number="2"))


@pytest.fixture
def stalled(start: Start, directory: Path) -> Program:
    """Start a host whose writes are stopped."""
    host = start("lifecycle")
    host.ask("open", directory / "db", "write_buffer_size=65536")
    host.ask("stall", directory / "db")
    return host


def test_a_stall_is_seen_while_it_lasts(stalled: Program, connect: Connect, directory: Path) -> None:
    client = connect(stalled)
    db = client.only_database()["id"]
    first = eventually(
        lambda: (found := client.snapshot(db, 0))["stall"]["condition"] == "stopped" and found, what="the stall"
    )
    assert first["properties"]["rocksdb.is-write-stopped"] == 1
    assert 0 < first["stall"]["since_monotonic_s"] <= time.monotonic()
    later = eventually(
        lambda: (found := client.snapshot(db))["stall"]["stopped_s"] > first["stall"]["stopped_s"] and found,
        what="time to be counted while the stall lasts",
    )
    assert later["sequence"] > first["sequence"], "the sampling thread is not held up by the stall"
    stalled.ask("unstall", directory / "db")
    after = eventually(
        lambda: (found := client.snapshot(db))["stall"]["condition"] == "normal" and found, what="the end"
    )
    assert after["properties"]["rocksdb.is-write-stopped"] == 0
    stalls = [event["condition"] for event in client.snapshot(db, 0)["events"] if event["kind"] == "stall"]
    assert "stopped" in stalls, "RocksDB reports it at the latest when the stalled write is done"
    counts = after["column_families"]["default"]["stall_counts"]
    assert counts["memtable_stops"] >= 1


def test_a_change_in_a_stall_holds_up_nobody(stalled: Program, connect: Connect, directory: Path) -> None:
    """SetOptions hangs until the stall ends; snapshots, renewals and listings go on meanwhile."""
    client = connect(stalled)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    steps: list[Json] = []

    def change() -> None:
        with AgentClient(client.socket_path, timeout_s=60) as another:
            steps.extend(another.change(db, epoch, [CHANGE], [UNDO]).ok()["steps"])

    changer = threading.Thread(target=change)
    changer.start()
    eventually(lambda: client.snapshot(db)["change_in_flight"], what="the change in flight")
    began_s = time.monotonic()
    sequences: set[int] = set()

    def others() -> bool:
        sequences.add(client.snapshot(db)["sequence"])
        client.put_lease(db, "tester", epoch=epoch).ok()
        client.databases()
        return len(sequences) >= 3 and time.monotonic() > began_s + 0.6

    eventually(others, what="snapshots stay fresh")
    assert steps == [], "the change did not hang: the test shows nothing"
    hung_s = time.monotonic() - began_s
    stalled.ask("unstall", directory / "db")
    changer.join(timeout=PATIENCE_S)
    assert [step["outcome"] for step in steps] == ["applied"]
    assert steps[0]["elapsed_s"] > 0.9 * hung_s
    eventually(lambda: client.snapshot(db)["change_in_flight"] is False, what="the end of the change")


def test_a_lease_that_ends_during_a_change(stalled: Program, connect: Connect, directory: Path) -> None:
    """The change that hangs is finished first, then what it did is undone; the rest of its list is not executed."""
    client = connect(stalled)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    steps: list[Json] = []
    second = family(level0_stop_writes_trigger="50")
    plan = [UNDO, back(family(level0_stop_writes_trigger="36"))]

    def change() -> None:
        with AgentClient(client.socket_path, timeout_s=60) as another:
            steps.extend(another.change(db, epoch, [CHANGE, second], plan).ok()["steps"])

    changer = threading.Thread(target=change)
    changer.start()
    # In flight is also what waits for its turn, and without the lease it would be refused.
    eventually(lambda: client.fresh_snapshot(db)["restore"]["steps_left"] == len(plan), what="the change's plan")
    client.put_lease(db, "tester", ttl_s=0.5, epoch=epoch).ok()
    eventually(lambda: client.snapshot(db)["lease"] is None, what="the lease to expire")
    assert steps == [], "the change did not hang: the test shows nothing"
    stalled.ask("unstall", directory / "db")
    changer.join(timeout=PATIENCE_S)
    assert [step["outcome"] for step in steps][:1] == ["applied"]
    eventually(lambda: client.snapshot(db)["restore"]["state"] == "done", what="the restore")
    assert stalled.ask("get_option", directory / "db", "default", "max_write_buffer_number") == "2"
    assert stalled.ask("get_option", directory / "db", "default", "level0_stop_writes_trigger") == "36"


def test_a_rate_limit_is_restored_though_a_change_hangs(start: Start, connect: Connect, directory: Path) -> None:
    """The stall may last because a flush waits for that very limit."""
    host = start("lifecycle")
    host.ask("open", directory / "db", "write_buffer_size=65536", f"rate_limiter={100 << 20}")
    client = connect(host)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    plan = [back(limiter(100 << 20)), back(family(max_write_buffer_number="2"))]
    client.change(db, epoch, [limiter(2 << 20)], plan[:1]).ok()
    host.ask("stall", directory / "db")
    steps: list[Json] = []

    def change() -> None:
        with AgentClient(client.socket_path, timeout_s=60) as another:
            steps.extend(another.change(db, epoch, [CHANGE], plan).ok()["steps"])

    changer = threading.Thread(target=change)
    changer.start()
    # In flight is also what waits for its turn, and without the lease it would be refused.
    eventually(lambda: client.fresh_snapshot(db)["restore"]["steps_left"] == len(plan), what="the change's plan")
    client.delete_lease(db, force=True).ok(202)
    eventually(
        lambda: client.snapshot(db)["options"]["rate_limiter_bytes_per_s"] == 100 << 20, what="the limit to be restored"
    )
    assert steps == [], "the change did not hang: the test shows nothing"
    host.ask("unstall", directory / "db")
    changer.join(timeout=PATIENCE_S)
    eventually(lambda: client.snapshot(db)["restore"]["state"] == "done", what="the restore")
    assert client.fresh_snapshot(db)["restore"]["errors"] == []


def test_one_stalled_database_does_not_hold_up_another(stalled: Program, connect: Connect, directory: Path) -> None:
    """Each database has its own executor: a change that hangs in one leaves the others free."""
    stalled.ask("open", directory / "free")
    client = connect(stalled)
    ids = {Path(database["path"]).name: database["id"] for database in client.databases()}
    stuck_epoch = client.acquire(ids["db"])
    steps: list[Json] = []

    def change() -> None:
        with AgentClient(client.socket_path, timeout_s=60) as another:
            steps.extend(another.change(ids["db"], stuck_epoch, [CHANGE], [UNDO]).ok()["steps"])

    changer = threading.Thread(target=change)
    changer.start()
    eventually(lambda: client.snapshot(ids["db"])["change_in_flight"], what="the change in flight")
    # The stall ends when this test says so, and before that the client gives up.
    [free] = client.change(ids["free"], client.acquire(ids["free"]), [CHANGE], [UNDO]).ok()["steps"]
    assert free["outcome"] == "applied"
    assert steps == [], "the other one hangs all the while"
    stalled.ask("unstall", directory / "db")
    changer.join(timeout=PATIENCE_S)
    assert [step["outcome"] for step in steps] == ["applied"]


def test_closing_while_a_change_hangs(stalled: Program, connect: Connect, directory: Path) -> None:
    """The host's close waits for the call into RocksDB that is under way, and nothing crashes."""
    client = connect(stalled)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    statuses: list[int] = []

    def change() -> None:
        with AgentClient(client.socket_path, timeout_s=60) as another:
            statuses.append(another.change(db, epoch, [CHANGE, CHANGE], [UNDO]).status)

    changer = threading.Thread(target=change)
    changer.start()
    eventually(lambda: client.snapshot(db)["change_in_flight"], what="the change in flight")
    stalled.ask("close", directory / "db")
    changer.join(timeout=PATIENCE_S)
    assert statuses[0] in (200, 404, 409)
    assert client.databases() == []


def test_changes_that_wait_are_few(stalled: Program, connect: Connect, directory: Path) -> None:
    """Clients give up on a change that hangs, and send another: the host's memory must not keep all of them."""
    client = connect(stalled)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    statuses: list[int] = []

    def change() -> None:
        with AgentClient(client.socket_path, timeout_s=60) as another:
            statuses.append(another.change(db, epoch, [CHANGE], [UNDO]).status)

    def hangs() -> bool:
        options: Json = client.snapshot(db)["options"]["column_families"]["default"]
        return bool(options["max_write_buffer_number"] == "4")

    changers = [threading.Thread(target=change) for _ in range(12)]
    changers[0].start()
    eventually(hangs, what="the first change, which is in force and has not returned")
    for changer in changers[1:]:
        changer.start()
    eventually(lambda: len(statuses) == 3, what="the answers to those beyond eight")
    assert statuses == [503] * 3
    with AgentClient(client.socket_path) as another:
        another.change(db, epoch, [CHANGE], [UNDO]).refused(503, "unavailable")
    stalled.ask("unstall", directory / "db")
    for changer in changers:
        changer.join(timeout=PATIENCE_S)
    assert sorted(statuses) == [200] * 9 + [503] * 3
