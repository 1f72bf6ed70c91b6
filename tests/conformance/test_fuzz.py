"""Bodies that nobody thought of: never a 5xx, never an answer outside the contract, and the host lives.

Every answer goes through the contract's validator (an undeclared status or code fails there), so the properties
here are short. Values stay away from what RocksDB would rightly be killed by; HAZARDS is the daemon's business.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conformance.hosts import Host, HostFactory, remove, wait_for_agent
from tests.support.agent_client import AgentClient, Json
from tests.support.contract import schema_errors

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


@pytest.fixture(scope="module")
def fuzzed(host_factory: HostFactory) -> Iterator[Host]:
    """Start one host for all the examples: it must survive every one of them."""
    base = Path(tempfile.mkdtemp(prefix="adocd-"))
    (base / "run").mkdir()
    host = host_factory(base / "run", base / "db", None, ())
    try:
        wait_for_agent(host.socket_path)
        yield host
        assert host.is_alive()
    finally:
        host.stop()
        remove(base)


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
def test_lease_bodies(fuzzed: Host, body: Json) -> None:
    with AgentClient(fuzzed.socket_path) as client:
        db = client.only_database()["id"]
        reply = client.request("PUT", f"/v1/databases/{db}/lease", body, raw=b"null" if body is None else None)
        client.delete_lease(db, force=True, restore=False).ok(202)
    assert reply.status < 500
    if schema_errors("LeaseRequest", body) is not None:
        assert reply.status in (400, 422)
    else:
        assert reply.status in (200, 409)


@QUICK
@given(
    changes=maybe(st.lists(CHANGES, max_size=4)),
    plan=maybe(st.lists(STEPS, max_size=4)),
    optional=st.fixed_dictionaries({}, optional={"repeat": maybe(st.booleans())}),
    more=ANYTHING,
)
def test_change_bodies(fuzzed: Host, changes: Json, plan: Json, optional: dict[str, Json], more: Json) -> None:
    with AgentClient(fuzzed.socket_path) as client:
        db = client.only_database()["id"]
        body = {"holder": "tester", "epoch": client.acquire(db), "changes": changes, "restore_plan": plan, **optional}
        if isinstance(more, str) and more:
            body[more] = more
        reply = client.request("PATCH", f"/v1/databases/{db}/options", body)
        client.delete_lease(db, force=True, restore=False).ok(202)
    assert reply.status < 500
    if schema_errors("ChangeRequest", body) is not None:
        assert reply.status in (400, 422)
        assert reply.status == 422 or reply.body["code"] == "bad_request"
    else:
        assert reply.status in (200, 422)


@QUICK
@given(body=ANYTHING)
def test_any_json(fuzzed: Host, body: Json) -> None:
    with AgentClient(fuzzed.socket_path) as client:
        db = client.only_database()["id"]
        raw = b"null" if body is None else None
        assert client.request("PATCH", f"/v1/databases/{db}/options", body, raw=raw).status in (400, 409, 422)
        assert client.request("PUT", f"/v1/databases/{db}/lease", body, raw=raw).status in (400, 422)


@QUICK
@given(query=st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="#"), max_size=40))
def test_queries(fuzzed: Host, query: str) -> None:
    with AgentClient(fuzzed.socket_path) as client:
        db = client.only_database()["id"]
        assert client.request("GET", f"/v1/databases/{db}/snapshot?{query}").status in (200, 400)
        assert client.request("GET", f"/v1/databases/{db}/snapshot?events_after={query}").status in (200, 400)
        assert client.request("DELETE", f"/v1/databases/{db}/lease?{query}").status in (202, 400, 422)
