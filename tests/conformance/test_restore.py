"""The restore plan: what the agent undoes, alone, when its daemon falls silent."""

from __future__ import annotations

import time

import pytest

from tests.conformance.hosts import Host
from tests.support.agent_client import AgentClient, Json
from tests.support.changes import back, database, family, threads
from tests.support.waiting import always, eventually

CHANGE = family(write_buffer_size="4194304", max_write_buffer_number="5")
UNDO = [back(family(write_buffer_size="8388608")), back(family(max_write_buffer_number="3"))]
MEMTABLE_EMPTY = ("default", "rocksdb.cur-size-active-mem-table", 100_000)
"""A condition that a test can make false (write) and true (flush)."""


def options(client: AgentClient, db: str) -> tuple[str, str]:
    values = client.fresh_snapshot(db)["options"]["column_families"]["default"]
    return values["write_buffer_size"], values["max_write_buffer_number"]


def restored(client: AgentClient, db: str) -> Json:
    """Wait for the end of a restore and return its final state."""
    found: Json = eventually(
        lambda: (state := client.snapshot(db)["restore"])["state"] == "done" and state, what="the restore"
    )
    eventually(lambda: options(client, db) == ("8388608", "3"), what="the original values")
    return found


def changed(client: AgentClient, db: str, plan: list[Json]) -> int:
    """Make the change with this plan, and return the epoch."""
    epoch = client.acquire(db)
    assert [step["outcome"] for step in client.change(db, epoch, [CHANGE], plan).ok()["steps"]] == ["applied"]
    eventually(lambda: options(client, db) == ("4194304", "5"), what="the change")
    return epoch


def test_armed_while_the_lease_holds(client: AgentClient, db: str) -> None:
    changed(client, db, UNDO)
    expected = {"state": "armed", "steps_left": 2, "waiting_for": None, "errors": []}
    assert eventually(lambda: client.snapshot(db)["restore"], what="the state") == expected


def test_on_expiry(client: AgentClient, db: str) -> None:
    epoch = changed(client, db, UNDO)
    cursor = client.snapshot(db, 0)["last_event"]
    began_s = time.monotonic()
    client.put_lease(db, "tester", ttl_s=0.5, epoch=epoch).ok()
    eventually(lambda: options(client, db) == ("8388608", "3"), what="the original values")
    assert time.monotonic() - began_s >= 0.5, "not before the lease ended"
    restored(client, db)
    snapshot = client.snapshot(db, cursor)
    events = {event["kind"]: event["monotonic_s"] for event in snapshot["events"]}
    assert began_s + 0.5 <= events["lease_expired"] <= events["restore_begin"]
    kinds = [event["kind"] for event in snapshot["events"]]
    assert kinds.count("restore_step") == 2
    begin = kinds.index("restore_begin")
    assert kinds.index("lease_expired") < begin < kinds.index("restore_step") < kinds.index("restore_end")
    client.put_lease(db, "tester", epoch=epoch).refused(409, "lease_lost")


def test_on_release(client: AgentClient, db: str) -> None:
    epoch = changed(client, db, UNDO)
    reply = client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    assert reply["state"] in ("running", "done")
    assert restored(client, db) == {"state": "done", "steps_left": 0, "waiting_for": None, "errors": []}


def test_on_force(client: AgentClient, db: str) -> None:
    changed(client, db, UNDO)
    client.delete_lease(db, force=True).ok(202)
    restored(client, db)


def test_the_last_plan_counts(client: AgentClient, db: str) -> None:
    """Each change brings the plan that replaces the one before, even where it ends elsewhere."""
    epoch = changed(client, db, UNDO)
    elsewhere = [back(family(write_buffer_size="16777216")), UNDO[1]]
    client.change(db, epoch, [family(max_write_buffer_number="6")], elsewhere).ok()
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    eventually(lambda: options(client, db) == ("16777216", "3"), what="the last plan's values")


def test_a_change_that_changed_nothing_leaves_nothing_to_do(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db)
    same = family(write_buffer_size="8388608")
    client.change(db, epoch, [same], UNDO).ok()
    cursor = client.snapshot(db, 0)["last_event"]
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    restored(client, db)
    kinds = [event["kind"] for event in client.fresh_snapshot(db, cursor)["events"]]
    assert "lease_released" in kinds
    assert "options_changed" not in kinds, "values that are there are not set again"


def test_a_step_that_sets_what_is_set_waits_for_a_second_condition(client: AgentClient, db: str) -> None:
    """A step has one condition. adocd lets two follow each other where both must hold (its plan's base level)."""
    few_files = ("default", "rocksdb.num-files-at-level0", 100)
    plan = [UNDO[0], back(family(max_write_buffer_number="5"), when=few_files)]
    plan.append(back(family(max_write_buffer_number="3"), when=("default", "rocksdb.num-immutable-mem-table", 1)))
    epoch = changed(client, db, plan)
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    assert restored(client, db) == {"state": "done", "steps_left": 0, "waiting_for": None, "errors": []}


def test_a_condition_waits(host: Host, client: AgentClient, db: str) -> None:
    plan = [UNDO[0], back(family(max_write_buffer_number="3"), when=MEMTABLE_EMPTY)]
    epoch = changed(client, db, plan)
    host.write(1000)
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    waiting = eventually(
        lambda: (state := client.snapshot(db)["restore"])["state"] == "waiting" and state, what="the wait"
    )
    assert waiting["steps_left"] == 1
    assert "rocksdb.cur-size-active-mem-table" in waiting["waiting_for"]
    eventually(lambda: options(client, db) == ("8388608", "5"), what="the step before the condition")
    always(lambda: client.snapshot(db)["restore"]["state"] == "waiting", for_s=1.2, what="waiting")
    host.flush()
    restored(client, db)  # waits for some seconds: conditions are checked at least once a second


def test_a_database_option_waits_for_a_column_family(host: Host, client: AgentClient, db: str) -> None:
    """As the width of merges does for a level 0 that has to be merged."""
    wide, narrow = database(max_subcompactions="4"), database(max_subcompactions="1")
    epoch, plan = client.acquire(db), [back(narrow, when=MEMTABLE_EMPTY)]
    if not client.info()["capabilities"]["database_options"]:
        client.change(db, epoch, [wide], plan).refused(422, "unsupported")
        return
    client.change(db, epoch, [wide], plan).ok()
    host.write(1000)
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    eventually(lambda: client.snapshot(db)["restore"]["state"] == "waiting", what="the wait")
    assert client.fresh_snapshot(db)["options"]["database"]["max_subcompactions"] == "4"
    host.flush()
    eventually(lambda: client.snapshot(db)["restore"]["state"] == "done", what="the restore")
    assert client.fresh_snapshot(db)["options"]["database"]["max_subcompactions"] == "1"


@pytest.mark.parametrize(
    "when",
    [
        ("no_such_family", "rocksdb.num-files-at-level0", 1),
        ("default", "rocksdb.no-such-property", 1),
        ("default", "no property at all", 1),
        ("default", "rocksdb.stats", 1),
    ],
)
def test_a_condition_that_cannot_be_read(client: AgentClient, db: str, when: tuple[str, str, int]) -> None:
    """It is refused, or it does not stand in the way: nobody is there to correct a restore that waits forever."""
    epoch = client.acquire(db)
    plan = [back(UNDO[0]["change"], when=when), UNDO[1]]
    reply = client.change(db, epoch, [CHANGE], plan)
    if reply.status != 200:
        reply.refused(422, "no_such_column_family", "bad_value", "unsupported", "bad_request")
        return
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    restored(client, db)


def test_a_condition_on_a_dropped_column_family(host: Host, client: AgentClient, db: str) -> None:
    """What is gone has no level-0 files: the condition holds, or the change of the others would stay for good."""
    host.create_column_family("short")
    eventually(lambda: "short" in client.snapshot(db)["column_families"], what="the column family")
    epoch = client.acquire(db)
    plan = [back(UNDO[0]["change"], when=("short", "rocksdb.num-files-at-level0", 1)), UNDO[1]]
    client.change(db, epoch, [CHANGE], plan).ok()
    host.drop_column_family("short")
    eventually(lambda: "short" not in client.snapshot(db)["column_families"], what="the shorter snapshot")
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    restored(client, db)


def test_a_new_lease_inherits_the_rest(host: Host, client: AgentClient, db: str) -> None:
    plan = [UNDO[0], back(family(max_write_buffer_number="3"), when=MEMTABLE_EMPTY)]
    epoch = changed(client, db, plan)
    host.write(1000)
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    eventually(lambda: client.snapshot(db)["restore"]["state"] == "waiting", what="the wait")
    successor = client.acquire(db, "successor")
    assert successor > epoch
    inherited = eventually(
        lambda: (state := client.snapshot(db)["restore"])["state"] == "armed" and state, what="the inheritance"
    )
    assert inherited["steps_left"] == 1
    host.flush()
    eventually(lambda: options(client, db) == ("8388608", "5"), what="the step before the condition")
    always(lambda: options(client, db) == ("8388608", "5"), for_s=1.3, what="the restore to stand still")
    other = family(level0_stop_writes_trigger="40")
    undo_other = back(family(level0_stop_writes_trigger="36"))
    client.change(db, successor, [other], [undo_other], holder="successor").refused(422, "plan_incomplete")
    client.delete_lease(db, holder="successor", epoch=successor).ok(202)
    restored(client, db)


def test_an_inherited_plan_survives_another_silence(host: Host, client: AgentClient, db: str) -> None:
    plan = [back(family(write_buffer_size="8388608", max_write_buffer_number="3"), when=MEMTABLE_EMPTY)]
    epoch = changed(client, db, plan)
    host.write(1000)
    client.put_lease(db, "tester", ttl_s=0.5, epoch=epoch).ok()
    eventually(lambda: client.snapshot(db)["restore"]["state"] == "waiting", what="the wait")
    client.acquire(db, "successor", ttl_s=0.5)
    host.flush()
    restored(client, db)


@pytest.mark.parametrize("force", [True, False])
def test_without_restore_the_new_values_become_the_originals(client: AgentClient, db: str, force: bool) -> None:
    epoch = changed(client, db, UNDO)
    client.delete_lease(db, holder="tester", epoch=epoch, restore=False, force=force).ok(202)
    always(lambda: options(client, db) == ("4194304", "5"), for_s=0.5, what="the new values")
    assert client.snapshot(db)["restore"]["state"] == "none"
    originals = client.database(db)["originals"]["column_families"]["default"]
    assert (originals["write_buffer_size"], originals["max_write_buffer_number"]) == ("4194304", "5")
    epoch = client.acquire(db)
    value, undo = family(level0_stop_writes_trigger="40"), back(family(level0_stop_writes_trigger="36"))
    client.change(db, epoch, [value], [undo]).ok()


def test_a_failing_step_does_not_stop_the_plan(client: AgentClient, db: str) -> None:
    live = client.database(db)["capabilities"]["column_family_options"]
    refused = {"enable_blob_garbage_collection": "true", "blob_garbage_collection_age_cutoff": "2.000000"}
    plan = [UNDO[0], back(family(**refused)), UNDO[1]]
    if not set(refused) <= set(live):
        epoch = client.acquire(db)
        client.change(db, epoch, [CHANGE], plan).refused(422)
        return
    epoch = changed(client, db, plan)
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    final = restored(client, db)
    assert len(final["errors"]) == 1
    assert "age cutoff" in final["errors"][0]


def test_a_restored_database_is_done_only_once(client: AgentClient, db: str) -> None:
    """An executed plan is spent: the next lease owes nothing, and its end executes nothing."""
    epoch = changed(client, db, UNDO)
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    restored(client, db)
    cursor = client.snapshot(db, 0)["last_event"]
    epoch = client.acquire(db)
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    kinds = eventually(
        lambda: len(found := [e["kind"] for e in client.snapshot(db, cursor)["events"]]) >= 2 and found,
        what="the events",
    )
    assert kinds == ["lease_acquired", "lease_released"]


def test_every_scope_is_restored(client: AgentClient, db: str) -> None:
    described = client.database(db)
    pools = described["originals"]["thread_pools"]
    changes: list[Json] = [CHANGE, threads("low", pools["low"] + 2)]
    plan: list[Json] = [*UNDO, back(threads("low", pools["low"]))]
    epoch = client.acquire(db)
    jobs, undo_jobs = database(max_background_jobs="6"), back(database(max_background_jobs="3"))
    if "max_background_jobs" in described["capabilities"]["database_options"]:
        changes, plan = [*changes, jobs], [*plan, undo_jobs]
    else:
        client.change(db, epoch, [*changes, jobs], [*plan, undo_jobs]).refused(422, "unsupported")
    client.change(db, epoch, changes, plan).ok()
    client.delete_lease(db, force=True).ok(202)
    restored(client, db)
    now = client.fresh_snapshot(db)["options"]
    assert now["database"]["max_background_jobs"] == "3"
    assert now["thread_pools"] == pools
