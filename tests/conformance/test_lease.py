"""The lease: one holder at a time, rising epochs, an end that only an explicit renewal puts off."""

from __future__ import annotations

import threading
import time

import pytest

from tests.conformance.hosts import Host, Launch
from tests.support.agent_client import AgentClient, Json
from tests.support.changes import back, family
from tests.support.waiting import always, eventually

pytestmark = pytest.mark.shares_host

SMALL, ORIGINAL = family(write_buffer_size="4194304"), family(write_buffer_size="8388608")


def kinds_since(client: AgentClient, db: str, cursor: int) -> list[str]:
    return [event["kind"] for event in client.snapshot(db, cursor)["events"]]


def test_acquire(client: AgentClient, db: str) -> None:
    before_s = time.monotonic()
    lease = client.put_lease(db, "alice", ttl_s=30).ok()
    took_s = time.monotonic() - before_s
    assert lease["holder"] == "alice"
    assert lease["epoch"] >= 1
    assert lease["ttl_s"] == 30
    assert 30 - took_s <= lease["expires_in_s"] <= 30
    seen = client.snapshot(db)["lease"]
    assert (seen["holder"], seen["epoch"]) == ("alice", lease["epoch"])
    assert seen["expires_in_s"] <= lease["expires_in_s"]


@pytest.mark.parametrize("with_epoch", [True, False])
def test_renew(client: AgentClient, db: str, with_epoch: bool) -> None:
    first = client.put_lease(db, "alice", ttl_s=10).ok()
    before_s = time.monotonic()
    again = client.put_lease(db, "alice", ttl_s=20, epoch=first["epoch"] if with_epoch else None).ok()
    took_s = time.monotonic() - before_s
    assert again["epoch"] == first["epoch"], "a renewal is no acquisition"
    assert again["ttl_s"] == 20
    assert 20 - took_s <= again["expires_in_s"] <= 20


def test_a_renewal_can_shorten(client: AgentClient, db: str) -> None:
    client.acquire(db, "alice", ttl_s=60)
    client.put_lease(db, "alice", ttl_s=0.5).ok()
    eventually(lambda: client.snapshot(db)["lease"] is None, within_s=30, what="the shortened lease to expire")


def test_held_by_another(client: AgentClient, db: str) -> None:
    client.acquire(db, "alice")
    problem = client.put_lease(db, "bob").refused(409, "lease_held")
    assert problem["holder"] == "alice"
    assert "alice" in problem["detail"]
    assert client.snapshot(db)["lease"]["holder"] == "alice"


def test_only_one_of_many_gets_it(host: Host, client: AgentClient, db: str) -> None:
    statuses: list[int] = []
    ready = threading.Barrier(8)

    def take(holder: str) -> None:
        with AgentClient(host.socket_path) as another:
            another.info()
            ready.wait()
            statuses.append(another.put_lease(db, holder).status)

    takers = [threading.Thread(target=take, args=(f"daemon-{number}",)) for number in range(8)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()
    assert sorted(statuses) == [200] + [409] * 7


def test_a_wrong_epoch_is_lost(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db, "alice")
    client.put_lease(db, "alice", epoch=epoch + 1).refused(409, "lease_lost")
    client.delete_lease(db, holder="alice", epoch=epoch + 1).refused(409, "lease_lost")
    assert client.snapshot(db)["lease"]["epoch"] == epoch


def test_a_former_holder_learns_that_it_lost(client: AgentClient, db: str) -> None:
    """By its old epoch it learns of the loss even when somebody else holds the lease by now."""
    epoch = client.acquire(db, "alice")
    client.delete_lease(db, force=True).ok(202)
    client.acquire(db, "bob")
    client.put_lease(db, "alice", epoch=epoch).refused(409, "lease_lost")
    client.put_lease(db, "alice").refused(409, "lease_held")
    assert client.snapshot(db)["lease"]["holder"] == "bob"


def test_an_epoch_without_a_lease_is_lost(client: AgentClient, db: str) -> None:
    client.put_lease(db, "alice", epoch=1).refused(409, "lease_lost")


def test_expiry(client: AgentClient, db: str) -> None:
    cursor = client.snapshot(db)["last_event"]
    epoch = client.acquire(db, "alice", ttl_s=0.5)
    eventually(lambda: client.snapshot(db)["lease"] is None, what="the lease to expire")
    client.put_lease(db, "alice", epoch=epoch).refused(409, "lease_lost")
    client.change(db, epoch, [SMALL], [back(ORIGINAL)], holder="alice").refused(409, "lease_lost", "lease_required")
    eventually(lambda: kinds_since(client, db, cursor)[:2] == ["lease_acquired", "lease_expired"], what="the events")
    assert client.acquire(db, "alice") > epoch


def test_reading_and_changing_do_not_extend(client: AgentClient, db: str) -> None:
    began_s = time.monotonic()
    epoch = client.acquire(db, "alice", ttl_s=1.0)
    number = 0

    def still_held() -> bool:
        nonlocal number
        number += 1
        value = family(write_buffer_size=str(4194304 + 4096 * number))
        reply = client.change(db, epoch, [value], [back(ORIGINAL)], holder="alice")
        return reply.status == 200 and client.snapshot(db, 0)["lease"] is not None

    eventually(lambda: not still_held(), what="the lease to expire in spite of its holder's changes")
    assert time.monotonic() - began_s >= 0.9


def test_renewal_keeps_it(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db, "alice", ttl_s=2)
    always(
        lambda: client.put_lease(db, "alice", ttl_s=2, epoch=epoch).status == 200,
        for_s=3,
        every_s=0.15,
        what="the renewed lease",
    )
    assert client.snapshot(db)["lease"]["epoch"] == epoch


def test_release(launch: Launch) -> None:
    with AgentClient(launch().socket_path) as client:
        db = client.only_database()["id"]
        cursor = client.snapshot(db)["last_event"]
        epoch = client.acquire(db, "alice")
        assert client.delete_lease(db, holder="alice", epoch=epoch).ok(202)["state"] == "none"
        assert eventually(lambda: client.snapshot(db), what="a snapshot")["lease"] is None
        eventually(lambda: kinds_since(client, db, cursor) == ["lease_acquired", "lease_released"], what="the events")
        client.put_lease(db, "alice", epoch=epoch).refused(409, "lease_lost")


def test_release_where_nobody_holds_it(client: AgentClient, db: str) -> None:
    client.delete_lease(db, holder="alice", epoch=7).ok(202)
    client.delete_lease(db, force=True).ok(202)


def test_release_by_another_is_refused(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db, "alice")
    problem = client.delete_lease(db, holder="bob", epoch=epoch).refused(409, "lease_held", "lease_lost")
    assert problem["code"] == "lease_lost" or problem["holder"] == "alice"
    assert client.snapshot(db)["lease"]["holder"] == "alice"


def test_release_without_saying_who_is_refused(client: AgentClient, db: str) -> None:
    client.acquire(db, "alice")
    assert client.delete_lease(db).status in (400, 409, 422)
    assert client.snapshot(db)["lease"]["holder"] == "alice"


def test_force_revokes(client: AgentClient, db: str) -> None:
    cursor = client.snapshot(db)["last_event"]
    epoch = client.acquire(db, "alice")
    client.delete_lease(db, force=True).ok(202)
    client.put_lease(db, "alice", epoch=epoch).refused(409, "lease_lost")
    client.change(db, epoch, [SMALL], [back(ORIGINAL)], holder="alice").refused(409, "lease_lost", "lease_required")
    eventually(lambda: kinds_since(client, db, cursor) == ["lease_acquired", "lease_revoked"], what="the events")
    assert client.acquire(db, "bob") > epoch


def test_the_former_holder_can_see_that_it_was_revoked_whenever_it_looks(launch: Launch) -> None:
    """Events are lost when there are many; and an operator may revoke what has just expired."""
    with AgentClient(launch().socket_path) as client:
        db = client.only_database()["id"]
        assert client.snapshot(db)["revoked_epoch"] is None
        epoch = client.acquire(db, "alice")
        client.delete_lease(db, holder="alice", epoch=epoch).ok(202)
        assert client.snapshot(db)["revoked_epoch"] is None, "it was given back"
        client.delete_lease(db, force=True).ok(202)
        assert client.snapshot(db)["revoked_epoch"] == epoch
        another = client.acquire(db, "bob")
        assert client.snapshot(db)["revoked_epoch"] == epoch
        client.delete_lease(db, force=True).ok(202)
        assert client.snapshot(db)["revoked_epoch"] == another


def test_epochs_increase(client: AgentClient, db: str) -> None:
    epochs = []
    for holder in ("alice", "bob", "alice", "alice"):
        epochs.append(client.acquire(db, holder))
        client.delete_lease(db, holder=holder, epoch=epochs[-1]).ok(202)
    assert epochs == sorted(set(epochs))


@pytest.mark.parametrize("ttl_s", [0.5, 3600])
def test_ttl_at_the_bounds(client: AgentClient, db: str, ttl_s: float) -> None:
    assert client.put_lease(db, "alice", ttl_s=ttl_s).ok()["ttl_s"] == ttl_s


@pytest.mark.parametrize(
    "body",
    [
        {"holder": "alice", "ttl_s": 0.49},
        {"holder": "alice", "ttl_s": 3601},
        {"holder": "alice", "ttl_s": 0},
        {"holder": "alice", "ttl_s": -1},
        {"holder": "alice", "ttl_s": 1e300},
        {"holder": "alice", "ttl_s": "5"},
        {"holder": "alice", "ttl_s": True},
        {"holder": "alice", "ttl_s": None},
        {"holder": "alice"},
        {"ttl_s": 5},
        {"holder": "", "ttl_s": 5},
        {"holder": "a" * 201, "ttl_s": 5},
        {"holder": 7, "ttl_s": 5},
        {"holder": "alice", "ttl_s": 5, "epoch": 0},
        {"holder": "alice", "ttl_s": 5, "epoch": "1"},
        {"holder": "alice", "ttl_s": 5, "epoch": 1.5},
        {"holder": "alice", "ttl_s": 5, "unknown": 1},
        [],
        "alice",
        None,
    ],
)
def test_a_body_that_is_no_lease_request(client: AgentClient, db: str, body: Json) -> None:
    raw = b"null" if body is None else None
    reply = client.request("PUT", f"/v1/databases/{db}/lease", body, raw=raw)
    assert reply.status in (400, 422)
    assert reply.body["code"] == "bad_request"
    assert client.snapshot(db)["lease"] is None


@pytest.mark.parametrize("holder", ["a" * 200, "adocd on host:1234 (päd)", '"quoted"\\', "日本語", "a b&c=d%20"])
def test_a_holder_is_free_text(client: AgentClient, db: str, holder: str) -> None:
    epoch = client.acquire(db, holder)
    assert client.snapshot(db)["lease"]["holder"] == holder
    assert client.put_lease(db, "bob").refused(409, "lease_held")["holder"] == holder
    client.delete_lease(db, holder=holder, epoch=epoch).ok(202)
    eventually(lambda: client.snapshot(db)["lease"] is None, what="the release")


@pytest.mark.parametrize("query", ["restore=maybe", "force=2", "epoch=x"])
def test_a_release_that_is_not_understood(client: AgentClient, db: str, query: str) -> None:
    client.acquire(db, "alice")
    reply = client.request("DELETE", f"/v1/databases/{db}/lease?holder=alice&{query}")
    assert reply.status in (400, 422)
    assert client.snapshot(db)["lease"]["holder"] == "alice"
