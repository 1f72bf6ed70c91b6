"""PATCH: what is applied, in which order, and what the answer says about it."""

from __future__ import annotations

import threading

import pytest

from tests.conformance.hosts import Host, Launch
from tests.support.agent_client import AgentClient, Json
from tests.support.changes import back, database, family, limiter, threads
from tests.support.waiting import eventually

ORIGINAL = family(write_buffer_size="8388608")
COVERED = [
    back(family(write_buffer_size="8388608", max_write_buffer_number="3", level0_stop_writes_trigger="36")),
    back(family(level0_slowdown_writes_trigger="20", level0_file_num_compaction_trigger="4")),
]
"""A plan that covers every column-family option that these tests change."""
GC = {"enable_blob_garbage_collection": "true", "blob_garbage_collection_age_cutoff": "2.000000"}
"""Two values that parse and that RocksDB refuses all the same."""


def value_of(client: AgentClient, db: str, option: str, column_family: str = "default") -> str:
    found: str = client.fresh_snapshot(db)["options"]["column_families"][column_family][option]
    return found


@pytest.mark.shares_host
def test_applied_and_read_back(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db)
    [step] = client.change(db, epoch, [family(write_buffer_size="4194304")], COVERED).ok()["steps"]
    assert step["outcome"] == "applied"
    assert step["error"] is None
    assert step["elapsed_s"] >= 0
    assert step["read_back"] == {"write_buffer_size": "4194304"}
    eventually(lambda: value_of(client, db, "write_buffer_size") == "4194304", what="the value in a snapshot")
    originals = client.database(db)["originals"]["column_families"]["default"]
    assert originals["write_buffer_size"] == "8388608", "an original stays what it was at the open"


@pytest.mark.shares_host
def test_unchanged_when_every_value_is_there(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db)
    cursor = client.snapshot(db)["last_event"]
    [step] = client.change(db, epoch, [ORIGINAL], COVERED).ok()["steps"]
    assert step["outcome"] == "unchanged"
    assert step["read_back"] == {"write_buffer_size": "8388608"}
    assert client.fresh_snapshot(db, cursor)["events"] == [], "nothing was executed"


@pytest.mark.shares_host
def test_a_step_with_one_new_value_is_applied_as_a_whole(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db)
    change = family(write_buffer_size="8388608", max_write_buffer_number="5")
    [step] = client.change(db, epoch, [change], COVERED).ok()["steps"]
    assert step["outcome"] == "applied"
    assert step["read_back"] == {"write_buffer_size": "8388608", "max_write_buffer_number": "5"}


@pytest.mark.shares_host
def test_steps_are_executed_in_order(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db)
    changes = [
        family(level0_stop_writes_trigger="60"),
        family(level0_slowdown_writes_trigger="40"),
        family(level0_stop_writes_trigger="50"),
        family(level0_stop_writes_trigger="50"),
    ]
    steps = client.change(db, epoch, changes, COVERED).ok()["steps"]
    assert [step["outcome"] for step in steps] == ["applied", "applied", "applied", "unchanged"]
    assert [step["read_back"] for step in steps] == [change["options"] for change in changes]
    eventually(lambda: value_of(client, db, "level0_stop_writes_trigger") == "50", what="the last value")


@pytest.mark.shares_host
def test_a_failing_step_stops_the_list(client: AgentClient, db: str) -> None:
    live = client.database(db)["capabilities"]["column_family_options"]
    first, last = family(write_buffer_size="4194304"), family(max_write_buffer_number="5")
    plan = [*COVERED, back(family(enable_blob_garbage_collection="false"))]
    plan.append(back(family(blob_garbage_collection_age_cutoff="0.250000")))
    epoch = client.acquire(db)
    reply = client.change(db, epoch, [first, family(**GC), last], plan)
    if not set(GC) <= set(live):
        reply.refused(422, "unsupported", "no_such_option", "not_live")
        return
    steps = reply.ok()["steps"]
    assert [step["outcome"] for step in steps] == ["applied", "error"]
    assert "age cutoff" in steps[1]["error"], "RocksDB's own words"
    assert set(steps[1]["read_back"]) == set(GC), "an error means unknown: therefore read back"
    assert steps[1]["read_back"]["enable_blob_garbage_collection"] == "false"
    assert value_of(client, db, "max_write_buffer_number") == "3"


@pytest.mark.shares_host
def test_a_change_is_an_event(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db)
    cursor = client.snapshot(db)["last_event"]
    client.change(db, epoch, [family(write_buffer_size="4194304")], COVERED).ok()
    kinds = eventually(lambda: [e["kind"] for e in client.snapshot(db, cursor)["events"]], what="the event")
    assert "options_changed" in kinds


@pytest.mark.shares_host
def test_a_change_that_is_there_is_executed_again_on_demand(client: AgentClient, db: str) -> None:
    """What is shown may not be what is in force (facebook/rocksdb#13294); nobody can tell but by the effect."""
    epoch = client.acquire(db)
    change = family(write_buffer_size="4194304")
    client.change(db, epoch, [change], COVERED).ok()
    cursor = client.snapshot(db)["last_event"]
    for repeat, outcome in ((None, "unchanged"), (False, "unchanged"), (True, "applied")):
        [step] = client.change(db, epoch, [change], COVERED, repeat=repeat).ok()["steps"]
        assert step["outcome"] == outcome, repeat
        assert step["error"] is None
        assert step["read_back"] == {"write_buffer_size": "4194304"}
    changed = [e for e in client.fresh_snapshot(db, cursor)["events"] if e["kind"] == "options_changed"]
    assert len(changed) == 1, "the repeated one, and no other"


@pytest.mark.shares_host
def test_a_change_may_ask_for_a_lift_of_the_rate_limit(client: AgentClient, db: str) -> None:
    """Also of an agent that cannot: a daemon may not know yet."""
    epoch = client.acquire(db)
    for lift in (False, True):
        [step] = client.change(db, epoch, [family(write_buffer_size="4194304")], COVERED, lift_rate_limit=lift).ok()[
            "steps"
        ]
        assert step["error"] is None


def test_a_repeat_of_every_scope(launch: Launch) -> None:
    host = launch(limiter=100_000_000)
    with AgentClient(host.socket_path) as client:
        described = client.only_database()
        can = described["capabilities"]
        changes, plan = [family(max_write_buffer_number="3")], list(COVERED)
        if "max_background_jobs" in can["database_options"]:
            changes.append(database(max_background_jobs="3"))
        if can["rate_limiter"]:
            changes.append(limiter(100_000_000))
        if "low" in can["thread_pools"]:
            changes.append(threads("low", client.database(described["id"])["originals"]["thread_pools"]["low"]))
        plan += [back(change) for change in changes]
        epoch = client.acquire(described["id"])
        steps = client.change(described["id"], epoch, changes, plan, repeat=True).ok()["steps"]
        assert [step["outcome"] for step in steps] == ["applied"] * len(changes)
        client.change(described["id"], epoch, changes, []).refused(422, "plan_incomplete")
        client.delete_lease(described["id"], holder="tester", epoch=epoch).ok(202)


@pytest.mark.shares_host
def test_a_repeat_of_what_differs_nowhere_need_not_be_undone(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db)
    client.change(db, epoch, [ORIGINAL], COVERED, repeat=True).ok()
    another = family(max_write_buffer_number="5")
    client.change(db, epoch, [another], [back(family(max_write_buffer_number="3"))]).ok()


def test_each_column_family_has_its_own_options(launch: Launch) -> None:
    host = launch(families=["second", "third-ünï"])
    with AgentClient(host.socket_path) as client:
        db = client.only_database()["id"]
        epoch = client.acquire(db)
        original = client.database(db)["originals"]["column_families"]["third-ünï"]["write_buffer_size"]
        change = family("third-ünï", write_buffer_size="4194304")
        undo = back(family("third-ünï", write_buffer_size=original))
        client.change(db, epoch, [change], [undo]).ok()
        eventually(lambda: value_of(client, db, "write_buffer_size", "third-ünï") == "4194304", what="the change")
        assert value_of(client, db, "write_buffer_size") == "8388608"
        assert value_of(client, db, "write_buffer_size", "second") == original


def test_database_options(client: AgentClient, db: str) -> None:
    change, plan = database(max_background_jobs="6"), [back(database(max_background_jobs="3"))]
    epoch = client.acquire(db)
    reply = client.change(db, epoch, [change], plan)
    if "max_background_jobs" not in client.database(db)["capabilities"]["database_options"]:
        reply.refused(422, "unsupported")
        return
    [step] = reply.ok()["steps"]
    assert step["outcome"] == "applied"
    assert step["read_back"] == {"max_background_jobs": "6"}
    eventually(
        lambda: client.fresh_snapshot(db)["options"]["database"]["max_background_jobs"] == "6", what="the new value"
    )


def test_rate_limiter(launch: Launch) -> None:
    host = launch(limiter=100_000_000)
    with AgentClient(host.socket_path) as client:
        db = client.only_database()["id"]
        epoch = client.acquire(db)
        reply = client.change(db, epoch, [limiter(50_000_000)], [back(limiter(100_000_000))])
        if not client.info()["capabilities"]["rate_limiter"]:
            reply.refused(422, "unsupported")
            return
        [step] = reply.ok()["steps"]
        assert step["outcome"] == "applied"
        assert step["read_back"] == {"bytes_per_s": "50000000"}
        eventually(
            lambda: client.fresh_snapshot(db)["options"]["rate_limiter_bytes_per_s"] == 50_000_000, what="the new rate"
        )
        again = client.change(db, epoch, [limiter(50_000_000)], [back(limiter(100_000_000))]).ok()["steps"]
        assert [step["outcome"] for step in again] == ["unchanged"]


def test_thread_pools(client: AgentClient, db: str) -> None:
    described = client.database(db)
    epoch = client.acquire(db)
    for pool in ("low", "high", "bottom"):
        before = described["originals"]["thread_pools"].get(pool, 1)
        change, undo = threads(pool, before + 3), back(threads(pool, max(1, before)))
        # A plan cannot say 0 threads, which is what the bottom pool has at first; 1 is as near as it gets.
        reply = client.change(db, epoch, [change], [undo])
        if pool not in described["capabilities"]["thread_pools"]:
            reply.refused(422, "unsupported")
            continue
        [step] = reply.ok()["steps"]
        assert step["outcome"] == "applied"
        assert step["read_back"] == {"threads": str(before + 3)}
        # Put back by hand: the next pool's plan need not name this one then.
        if before >= 1:
            client.change(db, epoch, [threads(pool, before)], [undo]).ok()
        else:
            break


def test_mixed_scopes_in_one_request(client: AgentClient, db: str) -> None:
    described = client.database(db)
    epoch = client.acquire(db)
    changes: list[Json] = [
        family(write_buffer_size="4194304"),
        database(max_background_jobs="5"),
        family(level0_slowdown_writes_trigger="25", level0_stop_writes_trigger="40"),
    ]
    plan = [*COVERED, back(database(max_background_jobs="3"))]
    reply = client.change(db, epoch, changes, plan)
    if "max_background_jobs" not in described["capabilities"]["database_options"]:
        reply.refused(422, "unsupported")
        assert value_of(client, db, "write_buffer_size") == "8388608", "refused as a whole"
        return
    assert [step["outcome"] for step in reply.ok()["steps"]] == ["applied"] * 3


@pytest.mark.shares_host
def test_one_change_at_a_time(host: Host, client: AgentClient, db: str) -> None:
    """Changes of the same holder from several connections are queued, not mixed and not refused."""
    epoch = client.acquire(db)
    outcomes: list[str] = []

    def change(number: int) -> None:
        with AgentClient(host.socket_path) as another:
            sizes = [str((4 + number) << 20), str((40 + number) << 20)]
            steps = another.change(db, epoch, [family(write_buffer_size=size) for size in sizes], COVERED)
            outcomes.extend(step["outcome"] for step in steps.ok()["steps"])

    changers = [threading.Thread(target=change, args=(number,)) for number in range(4)]
    for changer in changers:
        changer.start()
    for changer in changers:
        changer.join()
    assert outcomes == ["applied"] * 8
    eventually(lambda: client.snapshot(db)["change_in_flight"] is False, what="the end of the changes")


@pytest.mark.shares_host
def test_under_load(host: Host, client: AgentClient, db: str) -> None:
    epoch = client.acquire(db)
    host.start_load()
    try:
        for size in ("4194304", "8388608", "16777216"):
            [step] = client.change(db, epoch, [family(write_buffer_size=size)], COVERED).ok()["steps"]
            assert step["read_back"] == {"write_buffer_size": size}
    finally:
        host.stop_load()
