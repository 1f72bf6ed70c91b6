"""Changes that would end the program (Debian compiles librocksdb with assertions) or its writes are not made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.conftest import Connect, Start
from tests.support.agent_client import Json
from tests.support.changes import back, family
from tests.support.level0_orders import LEVEL0_ORDERS, SLOWDOWN, STOP, TRIGGER

UNDO = back(family(**{TRIGGER: "4", SLOWDOWN: "20", STOP: "36"}))


@pytest.mark.parametrize(
    ("changes", "outcomes"),
    LEVEL0_ORDERS,
)
def test_l0_triggers_stay_in_order(
    start: Start, connect: Connect, directory: Path, changes: list[dict[str, str]], outcomes: list[str]
) -> None:
    host = start("lifecycle")
    host.ask("open", directory / "db", f"{TRIGGER}=4", f"{SLOWDOWN}=20")
    client = connect(host)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    steps = client.change(db, epoch, [family(**change) for change in changes], [UNDO]).ok()["steps"]
    assert [step["outcome"] for step in steps] == outcomes
    if outcomes[-1] == "error":
        assert steps[-1]["error"].startswith(f"Not executed: {TRIGGER} would be ")
    wanted: dict[str, Json] = {TRIGGER: "4", SLOWDOWN: "20", STOP: "36"}
    for change, outcome in zip(changes, outcomes, strict=True):
        wanted |= change if outcome == "applied" else {}
    options = client.fresh_snapshot(db)["options"]["column_families"]["default"]
    assert {name: options[name] for name in wanted} == wanted
    host.ask("put", directory / "db", 10)


def test_a_restore_goes_on_after_a_step_that_is_not_made(start: Start, connect: Connect, directory: Path) -> None:
    host = start("lifecycle")
    host.ask("open", directory / "db", f"{TRIGGER}=4", f"{SLOWDOWN}=20", "write_buffer_size=8388608")
    client = connect(host)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    plan = [back(family(**{TRIGGER: "21"})), back(family(write_buffer_size="8388608"))]
    client.change(db, epoch, [family(write_buffer_size="4194304")], plan).ok()
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    while (restore := client.fresh_snapshot(db)["restore"])["state"] != "done":
        assert restore["state"] == "running"
    assert len(restore["errors"]) == 1
    assert "Not executed" in restore["errors"][0]
    assert client.fresh_snapshot(db)["options"]["column_families"]["default"]["write_buffer_size"] == "8388608"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_write_buffer_number", "0"),
        ("max_write_buffer_number", "1"),
        (STOP, "0"),
        (STOP, "-1"),
        (SLOWDOWN, "0"),
        (SLOWDOWN, "-1"),
        ("max_bytes_for_level_base", "0"),
    ],
)
def test_what_would_stop_writes_for_good_is_refused(
    start: Start, connect: Connect, directory: Path, option: str, value: str
) -> None:
    """In a change, and in a plan: nothing would end the stop, and the call that puts it back waits for a writer."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    original = client.database(db)["originals"]["column_families"]["default"][option]
    epoch = client.acquire(db)
    wrong, right = family(**{option: value}), family(**{option: original})
    assert client.change(db, epoch, [wrong], [back(right)]).refused(422, "bad_value")["option"] == option
    assert client.change(db, epoch, [right], [back(wrong)]).refused(422, "bad_value")["option"] == option
    host.ask("put", directory / "db", 10)


def test_a_value_that_is_longer_than_any(start: Start, connect: Connect, directory: Path) -> None:
    """The host's memory keeps what was accepted."""
    host = start("lifecycle")
    host.ask("open", directory / "db")
    client = connect(host)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    long = family(compression_opts="{" + "x" * 4096 + "}")
    problem = client.change(db, epoch, [long], [back(long)]).refused(422, "bad_value")
    assert "longer" in problem["detail"]
    assert len(problem["detail"]) < 200


@pytest.mark.parametrize(("number", "outcome"), [("3", "applied"), ("2", "error")])
def test_there_are_more_memtables_than_are_merged_in_a_flush(
    start: Start, connect: Connect, directory: Path, number: str, outcome: str
) -> None:
    host = start("lifecycle")
    host.ask("open", directory / "db", "max_write_buffer_number=4", "min_write_buffer_number_to_merge=2")
    client = connect(host)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    undo = [back(family(max_write_buffer_number="4"))]
    [step] = client.change(db, epoch, [family(max_write_buffer_number=number)], undo).ok()["steps"]
    assert step["outcome"] == outcome
    assert (step["error"] is None) == (outcome == "applied")
    assert step["error"] is None or step["error"].startswith("Not executed: min_write_buffer_number_to_merge")
    host.ask("put", directory / "db", 10)


def test_a_restore_sets_the_rest_of_a_step_of_which_two_options_do_not_go_together(
    start: Start, connect: Connect, directory: Path
) -> None:
    """The host has raised its own trigger above the slowdown trigger's original: compaction must go on all the same."""
    host = start("lifecycle")
    host.ask("open", directory / "db", f"{TRIGGER}=4", f"{SLOWDOWN}=20", "write_buffer_size=8388608")
    client = connect(host)
    db = client.only_database()["id"]
    epoch = client.acquire(db)
    original = {SLOWDOWN: "20", "write_buffer_size": "8388608", "disable_auto_compactions": "false"}
    tuned = {SLOWDOWN: "40", "write_buffer_size": "16777216", "disable_auto_compactions": "true"}
    client.change(db, epoch, [family(**tuned)], [back(family(**original))]).ok()
    host.ask("set_option", directory / "db", "default", TRIGGER, "30")
    client.delete_lease(db, holder="tester", epoch=epoch).ok(202)
    while (restore := client.fresh_snapshot(db)["restore"])["state"] != "done":
        assert restore["state"] == "running"
    [error] = restore["errors"]
    assert f"Not executed: {TRIGGER} would be 30 and {SLOWDOWN} 20" in error
    options = client.fresh_snapshot(db)["options"]["column_families"]["default"]
    expected = {**original, SLOWDOWN: "40", TRIGGER: "30"}
    assert {name: options[name] for name in expected} == expected
    epoch = client.acquire(db)
    another = family(max_write_buffer_number="4")
    problem = client.change(db, epoch, [another], [back(family(max_write_buffer_number="2"))])
    assert problem.refused(422, "plan_incomplete")["option"] == SLOWDOWN, "it is still owed"
