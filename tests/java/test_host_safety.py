"""Values that are valid alone and would hold writes together are not set; rocksdbjni has no assertions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.java.conftest import Jvm
from tests.support.agent_client import AgentClient, Json
from tests.support.changes import back, family
from tests.support.waiting import eventually

TRIGGER, SLOWDOWN = "level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger"
STOP, MOST, MERGED = "level0_stop_writes_trigger", "max_write_buffer_number", "min_write_buffer_number_to_merge"
WORDS = {
    SLOWDOWN: "slows writes down before a compaction is due",
    STOP: "stops writes before a compaction is due, for good",
    MOST: "stops writes before a flush is due, for good",
}


def restored(client: AgentClient, db: str) -> Json:
    """End the lease, and return how the restore went when it is over."""
    client.delete_lease(db, force=True).ok(202)
    return eventually(
        lambda: (restore := client.fresh_snapshot(db)["restore"])["state"] == "done" and restore, what="the restore"
    )


@pytest.mark.parametrize(
    ("right", "wrong", "lower", "upper"),
    [
        ({TRIGGER: "20"}, {TRIGGER: "21"}, TRIGGER, SLOWDOWN),
        ({TRIGGER: "40", SLOWDOWN: "40", STOP: "40"}, {STOP: "39"}, TRIGGER, STOP),
        ({MOST: "3"}, {MOST: "2"}, MERGED, MOST),
    ],
)
def test_values_stay_in_order(
    jvm: Jvm,
    tmp_path: Path,
    right: dict[str, str],
    wrong: dict[str, str],
    lower: str,
    upper: str,
) -> None:
    program = jvm.program
    original = {TRIGGER: "4", SLOWDOWN: "20", STOP: "36", MOST: "4"}
    program.ask("open", tmp_path / "db", *(f"{name}={value}" for name, value in original.items()), f"{MERGED}=2")
    with jvm.client() as client:
        db = client.only_database()["id"]
        changes = [family(**right), family(**wrong)]
        steps = client.change(db, client.acquire(db), changes, [back(family(**original))]).ok()["steps"]
        assert [step["outcome"] for step in steps] == ["applied", "error"]
        assert steps[1]["error"].startswith(f"Not executed: {lower} would be ")
        assert steps[1]["error"].endswith(f", or RocksDB {WORDS[upper]}.")
        values = client.fresh_snapshot(db)["options"]["column_families"]["default"]
        assert {name: values[name] for name in original} == original | right
        program.ask("put", tmp_path / "db", 10)
        assert restored(client, db)["errors"] == []


def test_a_restore_sets_the_rest_of_a_step_of_which_two_options_do_not_go_together(jvm: Jvm, tmp_path: Path) -> None:
    """The host has raised its own trigger above the slowdown trigger's original: compaction must go on all the same."""
    program = jvm.program
    program.ask("open", tmp_path / "db", f"{TRIGGER}=4", f"{SLOWDOWN}=20", "write_buffer_size=8388608")
    with jvm.client() as client:
        db = client.only_database()["id"]
        original = {SLOWDOWN: "20", "write_buffer_size": "8388608", "disable_auto_compactions": "false"}
        tuned = {SLOWDOWN: "40", "write_buffer_size": "16777216", "disable_auto_compactions": "true"}
        client.change(db, client.acquire(db), [family(**tuned)], [back(family(**original))]).ok()
        program.ask("set_option", tmp_path / "db", "default", TRIGGER, "30")
        [error] = restored(client, db)["errors"]
        assert f"Not executed: {TRIGGER} would be 30 and {SLOWDOWN} 20" in error
        values = client.fresh_snapshot(db)["options"]["column_families"]["default"]
        expected = {**original, SLOWDOWN: "40", TRIGGER: "30"}
        assert {name: values[name] for name in expected} == expected
        another = family(max_write_buffer_number="4")
        problem = client.change(db, client.acquire(db), [another], [back(family(max_write_buffer_number="2"))])
        assert problem.refused(422, "plan_incomplete")["option"] == SLOWDOWN, "it is still owed"
