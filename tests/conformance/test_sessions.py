"""Databases that close, open again and change their column families under the agent."""

from __future__ import annotations

import functools
import threading

from tests.conformance.hosts import KNOWN_FAMILY, Host
from tests.support.agent_client import AgentClient, Reply
from tests.support.changes import back, family
from tests.support.waiting import eventually

CHANGE, UNDO = family(write_buffer_size="4194304"), [back(family(write_buffer_size="8388608"))]


def test_a_closed_database_is_gone(host: Host, client: AgentClient, db: str) -> None:
    host.close_database()
    eventually(lambda: client.databases() == [], what="the empty list")
    for reply in (
        client.request("GET", f"/v1/databases/{db}"),
        client.request("GET", f"/v1/databases/{db}/snapshot"),
        client.put_lease(db, "tester"),
    ):
        assert reply.status in (404, 409), reply
        assert reply.body["code"] in ("no_such_database", "database_closed")
    assert host.socket_path.exists(), "the process lives on, and so does its socket"


def test_an_id_survives_a_reopen_and_a_session_does_not(host: Host, client: AgentClient, db: str) -> None:
    sessions = [client.only_database()["session"]]
    opened = [client.only_database()["opened_monotonic_s"]]
    for _ in range(3):
        host.close_database()
        host.open_database()
        again = eventually(client.databases, what="the database to be open again")[0]
        assert again["id"] == db
        sessions.append(again["session"])
        opened.append(again["opened_monotonic_s"])
    assert len(set(sessions)) == len(sessions)
    assert opened == sorted(set(opened))


def test_a_session_begins_anew(host: Host, client: AgentClient, db: str) -> None:
    """Lease, plan, counters and events belong to one open of the database."""
    host.write(100)
    epoch = client.acquire(db)
    client.change(db, epoch, [CHANGE], UNDO).ok()
    host.close_database()
    host.open_database()
    eventually(client.databases, what="the database to be open again")
    snapshot = client.snapshot(db)
    assert snapshot["lease"] is None
    assert snapshot["restore"]["state"] == "none"
    assert snapshot["counters"]["writes"] in (0, None)
    assert snapshot["options"]["column_families"]["default"].items() >= KNOWN_FAMILY.items()
    refused = client.put_lease(db, "tester", epoch=epoch)
    assert refused.status == 409, "an epoch of the session before is worth nothing"
    refused.refused(409, "lease_lost")


def test_the_originals_are_those_of_the_session(host: Host, client: AgentClient, db: str) -> None:
    epoch = client.acquire(db)
    client.change(db, epoch, [CHANGE], UNDO).ok()
    client.delete_lease(db, holder="tester", epoch=epoch, restore=False).ok(202)
    host.close_database()
    host.open_database()
    eventually(client.databases, what="the database to be open again")
    assert client.database(db)["originals"]["column_families"]["default"].items() >= KNOWN_FAMILY.items()


def test_reopening_while_clients_read(host: Host, client: AgentClient, db: str) -> None:
    """A reader gets a snapshot or the word that the database is closed; nothing else, and no crash."""
    stop = threading.Event()
    strange: list[Reply | BaseException] = []
    sessions: set[str] = set()

    def read() -> None:
        try:
            with AgentClient(host.socket_path) as another:
                while not stop.is_set():
                    reply = another.request("GET", f"/v1/databases/{db}/snapshot?events_after=0")
                    if reply.status == 200:
                        sessions.add(reply.body["session"])
                    elif reply.body["code"] not in ("no_such_database", "database_closed"):
                        strange.append(reply)
                    another.databases()
        except BaseException as error:  # a thread's exception would be lost
            strange.append(error)

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for _ in range(10):
        host.close_database()
        host.open_database()
        eventually(client.databases, what="the database to be open again")
        client.snapshot(db)
    stop.set()
    for reader in readers:
        reader.join()
    assert not strange
    assert len(sessions) >= 2


def test_closing_in_the_middle_of_changes(host: Host, client: AgentClient, db: str) -> None:
    """A change that meets the close ends in an answer of the contract, not in a hang or a crash."""
    stop = threading.Event()
    strange: list[Reply | BaseException] = []
    applied = 0

    def change() -> None:
        nonlocal applied
        try:
            with AgentClient(host.socket_path) as another:
                number = 0
                while not stop.is_set():
                    number += 1
                    held = another.put_lease(db, "changer")
                    if held.status != 200:
                        continue
                    value = family(write_buffer_size=str(4194304 + number * 4096))
                    reply = another.change(db, held.body["epoch"], [value] * 3, UNDO, holder="changer")
                    # A host lets go of its column families before it closes.
                    has_let_go = reply.status == 422 and reply.body["code"] == "no_such_column_family"
                    if reply.status not in (200, 404, 409) and not has_let_go:
                        strange.append(reply)
                    elif reply.status == 200:
                        applied += all(step["outcome"] in ("applied", "unchanged") for step in reply.body["steps"])
        except BaseException as error:  # a thread's exception would be lost
            strange.append(error)

    def has_changed(before: int) -> bool:
        return applied > before or bool(strange)

    changer = threading.Thread(target=change)
    changer.start()
    for _ in range(10):
        eventually(functools.partial(has_changed, applied), what="a change of this session")
        host.close_database()
        host.open_database()
        eventually(client.databases, what="the database to be open again")
        client.snapshot(db)
    stop.set()
    changer.join(timeout=30)
    assert not changer.is_alive()
    assert not strange


def test_a_new_column_family_appears(host: Host, client: AgentClient, db: str) -> None:
    host.create_column_family("late")
    eventually(lambda: "late" in client.only_database()["column_families"], what="the column family in the list")
    eventually(lambda: "late" in client.snapshot(db)["column_families"], what="the column family in a snapshot")
    original = client.database(db)["originals"]["column_families"]["late"]["write_buffer_size"]
    epoch = client.acquire(db)
    [step] = client.change(
        db,
        epoch,
        [family("late", write_buffer_size="4194304")],
        [back(family("late", write_buffer_size=original))],
    ).ok()["steps"]
    assert step["outcome"] == "applied"


def test_a_dropped_column_family_disappears(host: Host, client: AgentClient, db: str) -> None:
    host.create_column_family("short")
    eventually(lambda: "short" in client.snapshot(db)["column_families"], what="the column family")
    host.drop_column_family("short")
    eventually(lambda: "short" not in client.only_database()["column_families"], what="the shorter list")
    eventually(lambda: "short" not in client.snapshot(db)["column_families"], what="the shorter snapshot")
    epoch = client.acquire(db)
    change = family("short", write_buffer_size="4194304")
    client.change(db, epoch, [change], [back(change)]).refused(422, "no_such_column_family")


def test_a_plan_outlives_its_column_family(host: Host, client: AgentClient, db: str) -> None:
    """A plan that names a dropped column family is executed as far as there is something to execute."""
    host.create_column_family("short")
    eventually(lambda: "short" in client.snapshot(db)["column_families"], what="the column family")
    original = client.database(db)["originals"]["column_families"]["short"]["write_buffer_size"]
    epoch = client.acquire(db)
    changes = [family("short", write_buffer_size="4194304"), CHANGE]
    client.change(db, epoch, changes, [back(family("short", write_buffer_size=original)), *UNDO]).ok()
    host.drop_column_family("short")
    eventually(lambda: "short" not in client.snapshot(db)["column_families"], what="the shorter snapshot")
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    eventually(lambda: client.snapshot(db)["restore"]["state"] == "done", what="the restore")
    eventually(
        lambda: client.fresh_snapshot(db)["options"]["column_families"]["default"]["write_buffer_size"] == "8388608",
        what="the step after the one for the dropped column family",
    )
