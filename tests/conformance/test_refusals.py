"""PATCH: everything is validated before the first step is executed, and a refusal says what is wrong."""

from __future__ import annotations

import pytest

from tests.conformance.hosts import Launch
from tests.support.agent_client import AgentClient, Json
from tests.support.changes import back, database, family, limiter, threads

pytestmark = pytest.mark.shares_host

ORIGINAL = family(write_buffer_size="8388608")
GOOD = family(write_buffer_size="4194304")
PLAN = [back(ORIGINAL)]


def refuse(client: AgentClient, db: str, change: Json, *codes: str, status: int = 422) -> Json:
    """Send a good change, then `change`: it must be refused as a whole, the good one not executed."""
    epoch = client.acquire(db)
    undo = back(change)
    if "options" in change:  # The plan is checked too: where the option exists, only the change may be wrong.
        originals = client.database(db)["originals"]
        there = originals["database"] if change["scope"] == "database" else originals["column_families"]["default"]
        undo = back({**change, "options": {name: there.get(name, "1") for name in change["options"]}})
    problem = client.change(db, epoch, [GOOD, change], [*PLAN, undo]).refused(status, *codes)
    assert_untouched(client, db)
    return problem


def assert_untouched(client: AgentClient, db: str) -> None:
    """Check against a direct read-back, which no cached snapshot can blur, that the good change was not made."""
    lease = client.snapshot(db)["lease"]
    holder, epoch = (lease["holder"], lease["epoch"]) if lease else ("checker", client.acquire(db, "checker"))
    [step] = client.change(db, epoch, [ORIGINAL], PLAN, holder=holder).ok()["steps"]
    assert step["outcome"] == "unchanged", "a refused request was executed in part"


@pytest.mark.parametrize("option", ["no_such_thing", "", "write_buffer_size ", "Write_Buffer_Size", "x" * 5000])
def test_unknown_option(client: AgentClient, db: str, option: str) -> None:
    problem = refuse(client, db, family(**{option: "1"}), "no_such_option")
    assert problem.get("option", "") == option


def of_database(client: AgentClient, *codes: str) -> tuple[str, ...]:
    """Return the codes, or the one of an agent that can change no database-wide option at all."""
    return codes if client.info()["capabilities"]["database_options"] else ("unsupported",)


def test_unknown_database_option(client: AgentClient, db: str) -> None:
    refuse(client, db, database(no_such_thing="1"), *of_database(client, "no_such_option"))


def test_option_of_the_other_scope(client: AgentClient, db: str) -> None:
    refuse(client, db, family(max_background_jobs="4"), "no_such_option", "not_live")
    refuse(client, db, database(level0_stop_writes_trigger="40"), *of_database(client, "no_such_option", "not_live"))


@pytest.mark.parametrize("option", ["num_levels", "min_write_buffer_number_to_merge"])
def test_option_that_cannot_change_live(client: AgentClient, db: str, option: str) -> None:
    problem = refuse(client, db, family(**{option: "7"}), "not_live")
    assert problem["option"] == option


def test_database_option_that_cannot_change_live(client: AgentClient, db: str) -> None:
    refuse(client, db, database(use_direct_reads="true"), *of_database(client, "not_live"))


@pytest.mark.parametrize(
    "value",
    ["12x", "1e7", "-5", "", " 5", "5 ", "+5", "0x10", "4M", "1.5", "18446744073709551616", "many", "5\x00"],
)
def test_a_size_that_does_not_parse_to_itself(client: AgentClient, db: str, value: str) -> None:
    problem = refuse(client, db, family(write_buffer_size=value), "bad_value")
    assert problem["option"] == "write_buffer_size"


@pytest.mark.parametrize("value", ["12x", "1e1", "", "4K", "2147483648", "-99999999999", "1.0"])
def test_a_number_that_does_not_parse_to_itself(client: AgentClient, db: str, value: str) -> None:
    refuse(client, db, family(level0_stop_writes_trigger=value), "bad_value")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("level0_stop_writes_trigger", "0"),
        ("level0_slowdown_writes_trigger", "-1"),
        ("max_write_buffer_number", "1"),
        ("max_bytes_for_level_base", "0"),
        ("max_bytes_for_level_multiplier", "0.999999"),
    ],
)
def test_what_would_hold_writes_for_good_so_that_no_restore_could_undo_it(
    client: AgentClient, db: str, option: str, value: str
) -> None:
    assert refuse(client, db, family(**{option: value}), "bad_value")["option"] == option


@pytest.mark.parametrize("below", [0, -1])
def test_a_condition_that_never_holds(client: AgentClient, db: str, below: int) -> None:
    epoch = client.acquire(db)
    never = back(ORIGINAL, when=("default", "rocksdb.num-files-at-level0", below))
    client.change(db, epoch, [GOOD], [never]).refused(422, "bad_request")
    assert_untouched(client, db)


@pytest.mark.parametrize("value", ["yes", "", "2", "truex", "TRUE!"])
def test_a_truth_value_that_does_not_parse(client: AgentClient, db: str, value: str) -> None:
    refuse(client, db, family(disable_auto_compactions=value), "bad_value")


def test_a_fraction_that_does_not_parse(client: AgentClient, db: str) -> None:
    for value in ("ten", "", "10x", "nan", "inf", "1e1"):
        refuse(client, db, family(max_bytes_for_level_multiplier=value), "bad_value")


def test_a_database_option_that_does_not_parse(client: AgentClient, db: str) -> None:
    for value in ("12x", "1e7", "", "99999999999"):
        refuse(client, db, database(max_background_jobs=value), *of_database(client, "bad_value"))


@pytest.mark.parametrize("value", ["-1", "0", "1025", "1000000"])
def test_more_jobs_than_a_process_has_threads_for(client: AgentClient, db: str, value: str) -> None:
    refuse(client, db, database(max_background_jobs=value), *of_database(client, "bad_value"))


@pytest.mark.parametrize("name", ["no_such_family", "", "Default", "default\x00"])
def test_unknown_column_family(client: AgentClient, db: str, name: str) -> None:
    refuse(client, db, family(name, max_write_buffer_number="4"), "no_such_column_family")
    assert client.database(db)["column_families"] == ["default"], "and it was not created"


def test_no_rate_limiter(client: AgentClient, db: str) -> None:
    refuse(client, db, limiter(1_000_000), "no_rate_limiter", "unsupported")


def test_no_lease(launch: Launch) -> None:
    with AgentClient(launch().socket_path) as client:
        db = client.only_database()["id"]
        client.change(db, 1, [GOOD], PLAN).refused(409, "lease_required")
        assert_untouched(client, db)


def test_lease_of_another(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db, "alice")
    problem = client.change(db, epoch, [GOOD], PLAN, holder="bob").refused(409, "lease_held")
    assert problem["holder"] == "alice"
    assert_untouched(client, db)


def test_wrong_epoch(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db)
    client.change(db, epoch + 1, [GOOD], PLAN).refused(409, "lease_lost")
    assert_untouched(client, db)


def test_plan_that_forgets_an_option_of_the_change(client: AgentClient, db: str) -> None:
    epoch = client.acquire(db)
    change = family(write_buffer_size="4194304", max_write_buffer_number="5")
    problem = client.change(db, epoch, [change], PLAN).refused(422, "plan_incomplete")
    assert "max_write_buffer_number" in problem["detail"]
    client.change(db, epoch, [change], []).refused(422, "plan_incomplete")
    assert_untouched(client, db)


def test_plan_that_forgets_another_scope(client: AgentClient, db: str) -> None:
    described = client.database(db)["capabilities"]
    epoch = client.acquire(db)
    if "max_background_jobs" in described["database_options"]:
        client.change(db, epoch, [database(max_background_jobs="4")], PLAN).refused(422, "plan_incomplete")
    if "low" in described["thread_pools"]:
        client.change(db, epoch, [threads("low", 4)], PLAN).refused(422, "plan_incomplete")
        client.change(db, epoch, [threads("low", 4)], [back(threads("high", 1))]).refused(422, "plan_incomplete")
    assert described["thread_pools"] or described["database_options"], "no scope to forget"
    assert_untouched(client, db)


def test_plan_that_forgets_an_earlier_change(client: AgentClient, db: str) -> None:
    """What this session's leases changed stays in every plan until it is back at its original."""
    epoch = client.acquire(db)
    buffers, undo_buffers = family(max_write_buffer_number="5"), back(family(max_write_buffer_number="3"))
    client.change(db, epoch, [GOOD], PLAN).ok()
    client.change(db, epoch, [buffers], [undo_buffers]).refused(422, "plan_incomplete")
    client.change(db, epoch, [buffers], [undo_buffers, *PLAN]).ok()
    client.change(db, epoch, [family(max_write_buffer_number="3")], [undo_buffers, *PLAN]).ok()
    client.change(db, epoch, [GOOD], PLAN).ok()


def test_plan_that_could_not_be_executed(client: AgentClient, db: str) -> None:
    """A plan is checked as a change is: at the time of the restore nobody is there to correct it."""
    epoch = client.acquire(db)
    for wrong in (
        family(write_buffer_size="12x"),
        family(no_such_thing="1"),
        family("no_such_family", write_buffer_size="8388608"),
    ):
        codes = ("bad_value", "no_such_option", "no_such_column_family")
        client.change(db, epoch, [GOOD], [*PLAN, back(wrong)]).refused(422, *codes)
    assert_untouched(client, db)


@pytest.mark.parametrize(
    "broken",
    [
        {"changes": []},
        {"changes": [{}]},
        {"changes": [None]},
        {"changes": {}},
        {"changes": [{"scope": "unknown", "options": {"a": "1"}}]},
        {"changes": [{"scope": "column_family", "options": {"write_buffer_size": "1"}}]},
        {"changes": [{"scope": "column_family", "column_family": "default", "options": {}}]},
        {"changes": [{"scope": "column_family", "column_family": "default", "options": {"write_buffer_size": 1}}]},
        {"changes": [{"scope": "column_family", "column_family": 1, "options": {"write_buffer_size": "1"}}]},
        {"changes": [{"scope": "database", "column_family": "default", "options": {"max_background_jobs": "2"}}]},
        {"changes": [{"scope": "rate_limiter", "bytes_per_s": 0}]},
        {"changes": [{"scope": "rate_limiter", "bytes_per_s": "1"}]},
        {"changes": [{"scope": "thread_pool", "pool": "middle", "threads": 2}]},
        {"changes": [{"scope": "thread_pool", "pool": "low", "threads": 0}]},
        {"changes": [{"scope": "thread_pool", "pool": "low", "threads": 1025}]},
        {"changes": [GOOD] * 1001},
        {"restore_plan": None},
        {"restore_plan": [{}]},
        {"restore_plan": [{"change": ORIGINAL, "when": {"column_family": "default"}}]},
        {"restore_plan": [{"change": ORIGINAL, "unknown": 1}]},
        {"epoch": "1"},
        {"epoch": None},
        {"holder": 5},
        {"unknown": True},
        {"repeat": 1},
        {"repeat": "true"},
        {"repeat": None},
        {"lift_rate_limit": 1},
        {"lift_rate_limit": None},
    ],
)
def test_a_body_that_is_no_change_request(client: AgentClient, db: str, broken: dict[str, Json]) -> None:
    epoch = client.acquire(db)
    body = {"holder": "tester", "epoch": epoch, "changes": [GOOD], "restore_plan": PLAN} | broken
    reply = client.request("PATCH", f"/v1/databases/{db}/options", body)
    assert reply.status in (400, 422), reply
    assert reply.body["code"] == "bad_request", reply
    assert_untouched(client, db)


@pytest.mark.parametrize("missing", ["holder", "epoch", "changes", "restore_plan"])
def test_a_body_that_lacks_something(client: AgentClient, db: str, missing: str) -> None:
    epoch = client.acquire(db)
    body = {"holder": "tester", "epoch": epoch, "changes": [GOOD], "restore_plan": PLAN}
    del body[missing]
    reply = client.request("PATCH", f"/v1/databases/{db}/options", body)
    assert reply.status in (400, 422)
    assert reply.body["code"] == "bad_request"
    assert_untouched(client, db)
