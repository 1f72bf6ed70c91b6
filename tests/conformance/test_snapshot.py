"""The snapshot: cached, numbered, dated, complete, and the same for every client."""

from __future__ import annotations

import itertools
import threading
import time

import pytest

from tests.conformance.hosts import DECIDING, KNOWN_FAMILY, Host, Launch
from tests.support.agent_client import AgentClient, Json
from tests.support.changes import back, family
from tests.support.waiting import eventually

DATABASE_PROPERTIES = {
    "rocksdb.is-write-stopped",
    "rocksdb.actual-delayed-write-rate",
    "rocksdb.num-running-flushes",
    "rocksdb.num-running-compactions",
    "rocksdb.background-errors",
}
FAMILY_PROPERTIES = {
    "rocksdb.num-immutable-mem-table",
    "rocksdb.mem-table-flush-pending",
    "rocksdb.compaction-pending",
    "rocksdb.cur-size-active-mem-table",
    "rocksdb.cur-size-all-mem-tables",
    "rocksdb.estimate-pending-compaction-bytes",
    "rocksdb.base-level",
    "rocksdb.live-sst-files-size",
} | {f"rocksdb.num-files-at-level{level}" for level in range(7)}

FLUSH = "rocksdb.db.flush.micros"


def wait_for_events(client: AgentClient, db: str, cursor: int) -> Json:
    """Return the first snapshot that has events after the cursor."""
    return eventually(lambda: (found := client.snapshot(db, cursor))["events"] and found, what="events")


@pytest.mark.shares_host
def test_names_the_database_and_the_session(client: AgentClient, db: str) -> None:
    snapshot = client.snapshot(db)
    assert snapshot["database"] == db
    assert snapshot["session"] == client.database(db)["session"]


@pytest.mark.shares_host
def test_has_every_property_of_the_contract(client: AgentClient, db: str) -> None:
    snapshot = client.snapshot(db)
    assert set(snapshot["properties"]) >= DATABASE_PROPERTIES
    assert set(snapshot["column_families"]["default"]["properties"]) >= FAMILY_PROPERTIES


def test_is_normal_and_unleased_at_first(client: AgentClient, db: str) -> None:
    snapshot = client.snapshot(db)
    assert snapshot["stall"]["condition"] == "normal"
    assert snapshot["stall"]["stopped_s"] == snapshot["stall"]["delayed_s"] == 0
    assert snapshot["lease"] is None
    assert snapshot["restore"] == {"state": "none", "steps_left": 0, "waiting_for": None, "errors": []}
    assert snapshot["change_in_flight"] is False


@pytest.mark.shares_host
def test_shows_the_current_options(client: AgentClient, db: str) -> None:
    snapshot, originals = client.snapshot(db), client.database(db)["originals"]
    assert snapshot["options"]["database"] == originals["database"]
    assert snapshot["options"]["thread_pools"] == originals["thread_pools"]
    assert snapshot["options"]["column_families"]["default"].items() >= KNOWN_FAMILY.items()


@pytest.mark.shares_host
def test_shows_the_options_that_decide_what_the_others_do(client: AgentClient, db: str) -> None:
    found = client.snapshot(db)["options"]["column_families"]["default"]
    assert {name: found[name] for name in DECIDING} == {name: value or found[name] for name, value in DECIDING.items()}
    assert found["level_compaction_dynamic_level_bytes"] in ("true", "false")


@pytest.mark.shares_host
def test_is_dated(client: AgentClient, db: str) -> None:
    before_s = time.monotonic()
    snapshot = client.snapshot(db)
    after_s = time.monotonic()
    taken_s = snapshot["monotonic_s"]
    assert taken_s <= after_s
    assert before_s - 0.01 <= taken_s + snapshot["age_s"] <= after_s + 0.01
    assert 0 <= snapshot["collect_s"] <= taken_s - client.database(db)["opened_monotonic_s"]


@pytest.mark.shares_host
def test_a_fresh_snapshot_is_shared(client: AgentClient, db: str) -> None:
    """Within 50 ms every client gets the same one: no client can make the agent read more often."""

    def is_one_twice() -> bool:
        first = client.snapshot(db)
        second = client.snapshot(db)
        if second["sequence"] != first["sequence"]:  # the machine was busy: the first was too old by then
            assert second["monotonic_s"] - first["monotonic_s"] > 0.049
            return False
        assert second["monotonic_s"] == first["monotonic_s"]
        assert second["age_s"] >= first["age_s"]
        return True

    eventually(is_one_twice, what="two snapshots in quick succession")


@pytest.mark.shares_host
def test_many_clients_do_not_make_it_sample_more(host: Host, client: AgentClient, db: str) -> None:
    first = client.snapshot(db)
    read_by_all: list[int] = []

    def read() -> None:
        with AgentClient(host.socket_path) as another:
            for _ in range(50):
                read_by_all.append(another.snapshot(db)["sequence"])

    clients = [threading.Thread(target=read) for _ in range(4)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    assert len(read_by_all) == 4 * 50
    last = client.snapshot(db)
    elapsed_s = last["monotonic_s"] - first["monotonic_s"]
    assert last["sequence"] - first["sequence"] <= elapsed_s / 0.05 + 2


@pytest.mark.shares_host
def test_an_old_snapshot_is_replaced(client: AgentClient, db: str) -> None:
    def is_replaced_by_the_next() -> bool:
        first = client.snapshot(db)
        later = eventually(
            lambda: (found := client.snapshot(db))["sequence"] > first["sequence"] and found, what="a newer snapshot"
        )
        assert later["monotonic_s"] > first["monotonic_s"]
        # A sampler that is late takes one after the client has given up, and another at the next request.
        return bool(later["sequence"] == first["sequence"] + 1)

    eventually(is_replaced_by_the_next, what="the very next snapshot")


def test_the_time_of_writes_is_as_the_capability_says(host: Host, client: AgentClient, db: str) -> None:
    """Cumulative, and about as many as were written; null where the agent does not time them."""
    can = client.database(db)["capabilities"].get("write_latency", "none")
    before = client.snapshot(db).get("write_latency")
    assert (before is not None) == (can == "sampled")
    host.write(2000)
    if before is None:
        assert client.fresh_snapshot(db).get("write_latency") is None
        return
    after = client.fresh_snapshot(db)["write_latency"]
    counts = dict(zip(before["values_ns"], before["counts"], strict=True))
    new = {
        value: count - counts.pop(value, 0) for value, count in zip(after["values_ns"], after["counts"], strict=True)
    }
    assert not counts, "no bucket empties"
    assert min(new.values()) >= 0
    # One in 8 counts for 8: 250 in the sample, give or take 10.
    assert 1000 < sum(new.values()) < 3000
    assert all(later > earlier for earlier, later in itertools.pairwise(after["values_ns"]))


def test_writes_are_counted(host: Host, client: AgentClient, db: str) -> None:
    """Without statistics an agent may know none of them, and says so; that the writes were made shows all the same."""
    before = client.snapshot(db)["counters"]
    host.write(200)
    expected = {"writes": 200, "written_bytes": 200_000, "wal_bytes": 200_000}
    readable = {name: least for name, least in expected.items() if before[name] is not None}
    if client.only_database()["capabilities"]["statistics"] != "none":
        assert readable == expected

    def counted() -> bool:
        snapshot = client.snapshot(db)
        written: int = snapshot["column_families"]["default"]["properties"]["rocksdb.cur-size-active-mem-table"]
        counters = snapshot["counters"]
        return written >= 200_000 and all(counters[name] >= before[name] + n for name, n in readable.items())

    eventually(counted, what=f"200 writes, and the counters {list(readable)}")
    unknown = expected.keys() - readable.keys()
    assert [client.fresh_snapshot(db)["counters"][name] for name in unknown] == [None] * len(unknown)


def test_a_flush_is_counted_and_reported(host: Host, client: AgentClient, db: str) -> None:
    """An agent that came after the open hears of no flush, so it counts none; the file shows all the same."""
    cursor = client.snapshot(db)["last_event"]
    counts = not client.only_database().get("opened_before_agent", False)
    host.write(200)
    host.flush()

    def flush() -> Json:
        snapshot = client.snapshot(db, cursor)
        files = snapshot["column_families"]["default"]["properties"]["rocksdb.num-files-at-level0"]
        return snapshot if files == 1 and snapshot["counters"]["flushes"] == (1 if counts else None) else None

    snapshot = eventually(flush, what="the flush")
    if counts:
        assert snapshot["counters"]["flush_written_bytes"] > 0
    flushed = [event for event in snapshot["events"] if event["kind"].startswith("flush")]
    if not counts or "flush" not in client.info()["capabilities"]["events"]:
        assert flushed == []
        return
    assert [event["kind"] for event in flushed] == ["flush_begin", "flush_end"]
    assert all(event["column_family"] == "default" for event in flushed)
    assert flushed[0]["job"] == flushed[1]["job"]
    assert flushed[1]["bytes"] > 0
    assert 0 <= flushed[1]["elapsed_s"] <= snapshot["monotonic_s"] - client.database(db)["opened_monotonic_s"]


def test_a_flush_is_one_value_in_its_histogram(host: Host, client: AgentClient, db: str) -> None:
    kept = client.only_database()["capabilities"]["statistics"] == "all"
    assert FLUSH not in (client.snapshot(db)["histograms"] or {}), "one without values is left out"
    host.write(200)
    host.flush()
    if not kept:
        assert client.fresh_snapshot(db)["histograms"] is None
        return

    def recorded() -> Json:
        histograms = client.snapshot(db)["histograms"]
        return histograms if FLUSH in histograms else None

    found = eventually(recorded, what="the flush")
    assert found[FLUSH]["count"] == 1
    assert 0 < found[FLUSH]["sum"] < 60e6, "it is in microseconds"
    assert all(totals["count"] > 0 for totals in found.values())


def test_levels_have_the_size_of_their_files(launch: Launch) -> None:
    host = launch(families=["second"])
    with AgentClient(host.socket_path) as client:
        db = client.only_database()["id"]
        host.write(200, "second")
        host.flush("second")

        def levels() -> Json:
            families = client.snapshot(db)["column_families"]
            live = families["second"]["properties"]["rocksdb.live-sst-files-size"]
            found = {name: family["level_bytes"] for name, family in families.items()}
            return found if 0 < live == sum(found["second"]) else None

        found = eventually(levels, what="the file in its level")
        assert found["default"] == [0] * 7
        assert found["second"][1:] == [0] * 6


def test_column_families_have_an_id_of_their_own_where_it_can_be_read(launch: Launch) -> None:
    host = launch(families=["second"])
    with AgentClient(host.socket_path) as client:
        families = client.snapshot(client.only_database()["id"])["column_families"]
        ids = [family.get("id") for family in families.values()]
        assert ids == [None, None] or len(set(ids) - {None}) == 2


def test_counters_only_grow_under_load(host: Host, client: AgentClient, db: str) -> None:
    host.start_load()
    try:
        first = previous = client.fresh_snapshot(db)
        for _ in range(10):
            snapshot = client.fresh_snapshot(db)
            assert snapshot["monotonic_s"] > previous["monotonic_s"]
            for name, value in snapshot["counters"].items():
                assert (value is None) == (previous["counters"][name] is None), name
                assert value is None or value >= previous["counters"][name], name
            for name, value in (snapshot["tickers"] or {}).items():
                assert value >= previous["tickers"][name], name
            for name, totals in (previous["histograms"] or {}).items():
                assert snapshot["histograms"][name]["count"] >= totals["count"], name
                assert snapshot["histograms"][name]["sum"] >= totals["sum"], name
            previous = snapshot
        if first["counters"]["writes"] is not None:
            assert previous["counters"]["writes"] > first["counters"]["writes"]
        eventually(lambda: _memtable(client.snapshot(db)) != _memtable(first), what="writes of the load")
    finally:
        host.stop_load()


def _memtable(snapshot: Json) -> int:
    size: int = snapshot["column_families"]["default"]["properties"]["rocksdb.cur-size-active-mem-table"]
    return size


@pytest.mark.shares_host
def test_without_a_cursor_there_are_no_events(client: AgentClient, db: str) -> None:
    client.acquire(db)
    snapshot = client.snapshot(db)
    assert snapshot["events"] == []
    assert snapshot["lost_events"] == 0
    assert snapshot["last_event"] >= 1, "the acquisition is an event"


@pytest.mark.shares_host
def test_the_cursor_returns_each_event_once(client: AgentClient, db: str) -> None:
    cursor = before = client.snapshot(db)["last_event"]
    seen: list[int] = []
    for _ in range(3):
        client.acquire(db)
        client.delete_lease(db, force=True).ok(202)
        snapshot = wait_for_events(client, db, cursor)
        seen += [event["sequence"] for event in snapshot["events"]]
        assert snapshot["last_event"] == seen[-1]
        cursor = snapshot["last_event"]
    assert len(seen) >= 2 * 3
    assert seen == list(range(before + 1, before + 1 + len(seen))), "numbered without gaps, none twice"
    assert client.snapshot(db, cursor)["events"] == []


@pytest.mark.shares_host
def test_a_cursor_from_the_future_is_harmless(client: AgentClient, db: str) -> None:
    snapshot = client.snapshot(db, events_after=10**12)
    assert snapshot["events"] == []
    assert snapshot["lost_events"] == 0


@pytest.mark.shares_host
def test_lost_events_are_counted(client: AgentClient, db: str) -> None:
    """The ring is bounded: whoever comes too late learns how much was lost, and the sums agree."""
    cursor = client.snapshot(db)["last_event"]
    snapshot = client.snapshot(db, cursor)
    for _ in range(40):
        for _ in range(100):
            client.acquire(db)
            client.delete_lease(db, force=True).ok(202)
        snapshot = client.snapshot(db, cursor)
        if snapshot["lost_events"]:
            break
    assert snapshot["lost_events"] > 0, "the ring never overflowed"
    assert snapshot["last_event"] - cursor == len(snapshot["events"]) + snapshot["lost_events"]


@pytest.mark.shares_host
def test_a_cursor_that_is_no_number_is_refused(client: AgentClient, db: str) -> None:
    for wrong in ("-1", "x", "1e3", "", "99999999999999999999999"):
        client.request("GET", f"/v1/databases/{db}/snapshot?events_after={wrong}").refused(400, "bad_request")


@pytest.mark.shares_host
def test_an_unknown_query_member_is_ignored(client: AgentClient, db: str) -> None:
    client.request("GET", f"/v1/databases/{db}/snapshot?later=1").ok()


@pytest.mark.shares_host
def test_an_unknown_database_is_named_as_such(client: AgentClient) -> None:
    unknown = "/v1/databases/0123456789abcdef"
    client.request("GET", unknown).refused(404, "no_such_database")
    client.request("GET", f"{unknown}/snapshot").refused(404, "no_such_database")
    client.put_lease("0123456789abcdef", "tester").refused(404, "no_such_database")
    client.delete_lease("0123456789abcdef", force=True).refused(404, "no_such_database")
    value = family(write_buffer_size="8388608")
    client.change("0123456789abcdef", 1, [value], [back(value)]).refused(404, "no_such_database")
