"""Bodies that nobody thought of: never a 5xx, never an answer outside the contract, and the host lives.

Every answer goes through the contract's validator (an undeclared status or code fails there), so the properties
here are short. Values stay away from what RocksDB would rightly be killed by; HAZARDS is the daemon's business.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.conftest import Hosts
from tests.support.agent_client import AgentClient, Json
from tests.support.contract import is_a

QUICK = settings(
    max_examples=int(os.environ.get("ADOCD_FUZZ_EXAMPLES", "120")),
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=10), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["write_buffer_size", "max_write_buffer_number", "level0_stop_writes_trigger", "num_levels", "nothing", ""]
)
VALUES = st.sampled_from(["4194304", "8388608", "3", "4", "40", "12x", "", "-5", "true", "1e7"]) | st.text(
    alphabet="ab \x00é{}=;", max_size=6
)
SCOPES = st.sampled_from(["column_family", "database", "rate_limiter", "thread_pool", "cluster"])


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly the right kind of thing, sometimes anything."""
    return st.one_of(strategy, strategy, strategy, ANYTHING)


CHANGES = maybe(
    st.fixed_dictionaries(
        {"scope": SCOPES},
        optional={
            "column_family": maybe(st.sampled_from(["default", "none"])),
            "options": maybe(st.dictionaries(NAMES, maybe(VALUES), max_size=3)),
            "pool": maybe(st.sampled_from(["low", "middle"])),
            "threads": maybe(st.integers(0, 3)),
            "bytes_per_s": maybe(st.integers(-1, 10**8)),
        },
    )
)
WHEN = st.fixed_dictionaries(
    {
        "column_family": maybe(st.just("default")),
        "property": maybe(st.sampled_from(["rocksdb.num-files-at-level0", "rocksdb.nothing", "rocksdb.stats"])),
        "below": maybe(st.integers(-5, 5)),
    }
)
STEPS = maybe(st.fixed_dictionaries({"change": CHANGES}, optional={"when": maybe(WHEN)}))


Fuzzed = tuple[AgentClient, str]


@pytest.fixture(scope="module")
def fuzzed(hosts: Hosts) -> Iterator[Fuzzed]:
    """Start one host for all the examples, which must survive every one of them; a client of it, and the database."""
    with AgentClient(hosts.own().socket_path) as client:
        yield client, client.only_database()["id"]


@QUICK
@given(
    body=maybe(
        st.fixed_dictionaries(
            {},
            optional={
                "holder": maybe(st.sampled_from(["tester", "someone else", ""])),
                "ttl_s": maybe(st.floats(0, 5000, allow_nan=False)),
                "epoch": maybe(st.integers(-1, 3)),
                "more": ANYTHING,
            },
        )
    )
)
def test_lease_bodies(fuzzed: Fuzzed, body: Json) -> None:
    client, db = fuzzed
    reply = client.request("PUT", f"/v1/databases/{db}/lease", body, raw=b"null" if body is None else None)
    client.delete_lease(db, force=True, restore=False).ok(202)
    assert reply.status < 500
    assert reply.status in ((200, 409) if is_a("LeaseRequest", body) else (400, 422))


@QUICK
@given(
    changes=maybe(st.lists(CHANGES, max_size=4)),
    plan=maybe(st.lists(STEPS, max_size=4)),
    optional=st.fixed_dictionaries(
        {}, optional={"repeat": maybe(st.booleans()), "lift_rate_limit": maybe(st.booleans())}
    ),
    more=ANYTHING,
)
def test_change_bodies(fuzzed: Fuzzed, changes: Json, plan: Json, optional: dict[str, Json], more: Json) -> None:
    client, db = fuzzed
    body = {"holder": "tester", "epoch": client.acquire(db), "changes": changes, "restore_plan": plan, **optional}
    if isinstance(more, str) and more:
        body[more] = more
    reply = client.request("PATCH", f"/v1/databases/{db}/options", body)
    client.delete_lease(db, force=True, restore=False).ok(202)
    assert reply.status < 500
    if is_a("ChangeRequest", body):
        assert reply.status in (200, 422)
    else:
        assert reply.status in (400, 422)
        assert reply.status == 422 or reply.body["code"] == "bad_request"


@QUICK
@given(body=ANYTHING)
def test_any_json(fuzzed: Fuzzed, body: Json) -> None:
    client, db = fuzzed
    raw = b"null" if body is None else None
    assert client.request("PATCH", f"/v1/databases/{db}/options", body, raw=raw).status in (400, 409, 422)
    assert client.request("PUT", f"/v1/databases/{db}/lease", body, raw=raw).status in (400, 422)


@QUICK
@given(query=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#"), max_size=40))
def test_queries(fuzzed: Fuzzed, query: str) -> None:
    client, db = fuzzed
    assert client.request("GET", f"/v1/databases/{db}/snapshot?{query}").status in (200, 400)
    assert client.request("GET", f"/v1/databases/{db}/snapshot?events_after={query}").status in (200, 400)
    assert client.request("DELETE", f"/v1/databases/{db}/lease?{query}").status in (202, 400, 422)
