"""Changes that would end the program, for Debian compiles librocksdb with its assertions, are not made."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.native.conftest import Connect, Start
from tests.support.agent_client import Json
from tests.support.changes import back, family

TRIGGER, SLOWDOWN = "level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger"
UNDO = back(family(**{TRIGGER: "4", SLOWDOWN: "20"}))


@pytest.mark.parametrize(
    ("changes", "outcomes"),
    [
        ([{TRIGGER: "21"}], ["error"]),
        ([{SLOWDOWN: "3"}], ["error"]),
        ([{SLOWDOWN: "-1"}], ["error"]),
        ([{TRIGGER: "30", SLOWDOWN: "29"}], ["error"]),
        ([{TRIGGER: "3"}, {SLOWDOWN: "3"}, {TRIGGER: "4"}], ["applied", "applied", "error"]),
        ([{TRIGGER: "30", SLOWDOWN: "30"}, {TRIGGER: "20"}], ["applied", "applied"]),
    ],
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
    wanted: dict[str, Json] = {TRIGGER: "4", SLOWDOWN: "20"}
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
