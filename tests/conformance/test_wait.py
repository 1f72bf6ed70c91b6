"""Waiting for events: answered at once when one comes, at the latest when the time is over, and nobody waits for it."""

from __future__ import annotations

import threading
import time

import pytest

from tests.conformance.hosts import Host, Launch
from tests.support.agent_client import AgentClient, Json, Reply
from tests.support.changes import back, family
from tests.support.waiting import PATIENCE_S, eventually

#: Longer than anything here takes.
LONG_MS = 10_000
KINDS = "stall,memtables_wait"


def asked_to_wait(client: AgentClient, db: str, after: int, at_most_ms: int, kinds: str = KINDS) -> Reply:
    """Wait for an event."""
    target = f"/v1/databases/{db}/wait?events_after={after}&for={kinds}&at_most_ms={at_most_ms}"
    return client.request("GET", target)


def wait(client: AgentClient, db: str, after: int, at_most_ms: int) -> Json:
    """Wait for an event; the event, or None."""
    return asked_to_wait(client, db, after, at_most_ms).ok()["event"]


def can_wait(client: AgentClient, db: str) -> bool:
    """Tell whether this agent can wait; if not, see that it refuses."""
    if client.database(db)["capabilities"].get("waits_for"):
        return True
    asked_to_wait(client, db, 0, 0).refused(422, "unsupported")
    return False


class Waiting:
    """A client that waits on a thread of its own."""

    def __init__(self, host: Host, db: str, after: int) -> None:
        self._reply: Reply | None = None
        self.answered_s = 0.0
        self._thread = threading.Thread(target=self._run, args=(host, db, after), daemon=True)
        self._thread.start()

    def _run(self, host: Host, db: str, after: int) -> None:
        with AgentClient(host.socket_path) as client:
            self._reply = asked_to_wait(client, db, after, LONG_MS)
            self.answered_s = time.monotonic()

    @property
    def goes_on(self) -> bool:
        """Whether it has no answer yet."""
        return self._thread.is_alive()

    def end(self) -> Reply:
        """Wait for its answer."""
        self._thread.join(PATIENCE_S)
        assert self._reply is not None
        return self._reply


def delay_writes(host: Host, client: AgentClient, db: str) -> None:
    """Let one file in level 0 be enough for a delay, and make one."""
    triggers = family(level0_file_num_compaction_trigger="1", level0_slowdown_writes_trigger="1")
    originals = family(level0_file_num_compaction_trigger="4", level0_slowdown_writes_trigger="20")
    client.change(db, client.acquire(db), [triggers], [back(originals)]).ok()
    host.write(10)
    host.flush()


@pytest.mark.shares_host
def test_the_time_is_over_without_an_event(client: AgentClient, db: str) -> None:
    if can_wait(client, db):
        last = client.snapshot(db)["last_event"]
        began_s = time.monotonic()
        assert wait(client, db, last, 50) is None
        assert time.monotonic() - began_s >= 0.05
        assert wait(client, db, last, 0) is None


def test_an_event_answers_at_once_and_the_next_snapshot_shows_it(host: Host, client: AgentClient, db: str) -> None:
    if not can_wait(client, db):
        return
    before = client.snapshot(db)
    waiting = Waiting(host, db, before["last_event"])
    client.snapshot(db)
    assert waiting.goes_on, "and others are served meanwhile"
    delay_writes(host, client, db)
    event = waiting.end().ok()["event"]
    assert event["kind"] == "stall"
    assert {event["condition"], event["previous"]} == {"delayed", "normal"}, "RocksDB may report two in either order"
    assert waiting.answered_s - event["monotonic_s"] < LONG_MS / 1000 - 1
    after = client.snapshot(db, before["last_event"])
    assert event in after["events"]
    assert after["monotonic_s"] - after["collect_s"] > event["monotonic_s"]
    assert wait(client, db, before["last_event"], LONG_MS) == event, "it is there already"


def test_memtables_that_wait_are_an_event(kind: str, launch: Launch) -> None:
    """A limiter makes flushes slower than writes; RocksDB stops these when three memtables wait (KNOWN_FAMILY)."""
    if kind != "native":
        return  # there nothing is flushed
    host = launch(limiter=1 << 20)
    with AgentClient(host.socket_path) as client:
        db = client.only_database()["id"]
        last = client.snapshot(db)["last_event"]
        host.write(40_000)
        event = asked_to_wait(client, db, last, LONG_MS, "memtables_wait").ok()["event"]
        assert (event["kind"], event["column_family"]) == ("memtables_wait", "default")
        host.flush()
        told = [each for each in client.fresh_snapshot(db, last)["events"] if each["kind"] == "memtables_wait"]
        assert event in told
        assert {each["waiting"] for each in told} <= {2, 3}
        settled = client.snapshot(db)["last_event"]
        host.write(1)
        host.flush()
        alone = asked_to_wait(client, db, settled, 100, "memtables_wait").ok()["event"]
        assert alone is None, "one memtable does not wait for another"


def test_a_flush_wakes_nobody(host: Host, client: AgentClient, db: str) -> None:
    if not can_wait(client, db):
        return
    last = client.snapshot(db)["last_event"]
    waiting = Waiting(host, db, last)
    host.write(200)
    host.flush()
    assert "flush_end" in {event["kind"] for event in client.fresh_snapshot(db, last)["events"]}
    assert wait(client, db, last, 100) is None
    assert waiting.goes_on
    host.close_database()
    assert waiting.end().status in (404, 409), "nothing comes any more"
    assert asked_to_wait(client, db, last, LONG_MS).status in (404, 409)


@pytest.mark.shares_host
def test_no_more_than_16_wait_and_everyone_else_is_served(kind: str, host: Host, client: AgentClient, db: str) -> None:
    if not can_wait(client, db) or kind != "native":
        return  # the others serve each connection on a thread, up to 64
    last = client.snapshot(db)["last_event"]
    waiting = [Waiting(host, db, last) for _ in range(16)]

    def all_wait() -> bool:
        """Ask for a place; whoever has lost theirs to that question, or has waited its time, waits again."""
        waiting[:] = [each if each.goes_on else Waiting(host, db, last) for each in waiting]
        return asked_to_wait(client, db, last, 0).status == 503

    eventually(all_wait, every_s=0.1, what="all of them wait")
    asked_to_wait(client, db, last, 0).refused(503, "unavailable")
    idle = [AgentClient(host.socket_path) for _ in range(40)]  # more than it keeps: those that wait are not closed
    for each in idle:
        each.info()
    assert client.snapshot(db)["last_event"] == last
    assert [each.end().ok()["event"] for each in waiting] == [None] * 16
    for each in idle:
        each.close()


@pytest.mark.parametrize(
    "query",
    [
        "",
        "events_after=0&for=stall",
        "for=stall&at_most_ms=5",
        "events_after=0&at_most_ms=5",
        "events_after=0&for=&at_most_ms=5",
        "events_after=0&for=flush_end&at_most_ms=5",
        "events_after=0&for=stall,nothing&at_most_ms=5",
        "events_after=-1&for=stall&at_most_ms=5",
        "events_after=0&for=stall&at_most_ms=10001",
        "events_after=0&for=stall&at_most_ms=0.5",
    ],
)
@pytest.mark.shares_host
def test_what_it_cannot_read_is_refused(client: AgentClient, db: str, query: str) -> None:
    if can_wait(client, db):
        client.request("GET", f"/v1/databases/{db}/wait?{query}").refused(400, "bad_request")
