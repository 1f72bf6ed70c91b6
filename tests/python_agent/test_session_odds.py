"""Values that are valid alone and not together: RocksDB checks that only at open, so the agent does not set them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from adocd_agent.problems import Refusal

from tests.python_agent.sessions import Json, Watched, change, restored, revoke
from tests.support.changes import back, database, family, threads
from tests.support.fake_changes import FakeCapabilities
from tests.support.fake_database import FakeDatabase
from tests.support.level0_orders import LEVEL0_ORDERS, SLOWDOWN, STOP, TRIGGER

ORIGINALS = {TRIGGER: "4", SLOWDOWN: "20", STOP: "36"}
MEMTABLES, MERGED = "max_write_buffer_number", "min_write_buffer_number_to_merge"


@pytest.fixture
def merging() -> Iterator[FakeDatabase]:
    """Open one that merges two memtables in a flush."""
    opened = FakeDatabase(options={MEMTABLES: "4", MERGED: "2"})
    yield opened
    opened.close()


def steps(database: FakeDatabase, changes: list[Json], plan: list[Json]) -> list[Json]:
    """PATCH, and return what became of each step."""
    epoch = database.keeper.hold("daemon", 60, None)["epoch"]
    request = {"holder": "daemon", "epoch": epoch, "changes": changes, "restore_plan": plan, "repeat": False}
    found: list[Json] = database.session.change(request, FakeCapabilities())["steps"]
    return found


def values(database: FakeDatabase, *names: str) -> list[str]:
    return [database.options.column_families["default"][name] for name in names]


# --- in a change ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "outcomes"),
    LEVEL0_ORDERS,
)
def test_l0_triggers_stay_in_order(database: Watched, changes: list[dict[str, str]], outcomes: list[str]) -> None:
    found = steps(database, [family(**one) for one in changes], [back(family(**ORIGINALS))])
    assert [step["outcome"] for step in found] == outcomes
    expected = dict(ORIGINALS)
    for one, outcome in zip(changes, outcomes, strict=True):
        expected |= one if outcome == "applied" else {}
    assert values(database, *expected) == list(expected.values())
    if outcomes[-1] == "error":
        assert found[-1]["error"].startswith(f"Not executed: {TRIGGER} would be ")
        assert found[-1]["read_back"] == {name: expected[name] for name in changes[-1]}


def test_what_was_not_executed_is_in_no_later_plan(database: Watched) -> None:
    assert change(database, [family(**{TRIGGER: "21"})], [back(family(**{TRIGGER: "4"}))]) == ["error"]
    other, undo_other = family(write_buffer_size="4194304"), back(family(write_buffer_size="67108864"))
    assert change(database, [other], [undo_other]) == ["applied"]


@pytest.mark.parametrize(
    ("option", "value", "otherwise"),
    [
        (SLOWDOWN, "3", "slows writes down before a compaction is due"),
        (STOP, "3", "stops writes before a compaction is due, for good"),
    ],
)
def test_the_sentence_says_what_rocksdb_would_do(database: Watched, option: str, value: str, otherwise: str) -> None:
    [step] = steps(database, [family(**{option: value})], [back(family(**ORIGINALS))])
    assert step["error"] == (
        f"Not executed: {TRIGGER} would be 4 and {option} {value}, and the first must not be greater, "
        f"or RocksDB {otherwise}."
    )


@pytest.mark.parametrize(("number", "outcome"), [("3", "applied"), ("2", "error")])
def test_there_are_more_memtables_than_are_merged_in_a_flush(merging: FakeDatabase, number: str, outcome: str) -> None:
    [step] = steps(merging, [family(**{MEMTABLES: number})], [back(family(**{MEMTABLES: "4"}))])
    assert step["outcome"] == outcome
    assert step["error"] is None or step["error"].startswith(f"Not executed: {MERGED} would be 2 and {MEMTABLES} 2, ")


def test_what_is_at_odds_already_is_unchanged_and_stands_in_no_others_way(database: Watched) -> None:
    """The host's own doing."""
    database.set_option(TRIGGER, "30", "default")
    there, other = family(**{SLOWDOWN: "20"}), family(write_buffer_size="4194304")
    plan = [back(there), back(family(write_buffer_size="67108864"))]
    assert change(database, [there, other], plan) == ["unchanged", "applied"]


# --- in a restore ---------------------------------------------------------------------------------------------------


def test_a_restore_goes_on_after_a_step_that_is_not_made(database: Watched) -> None:
    plan = [back(family(**{TRIGGER: "21"})), back(family(write_buffer_size="67108864"))]
    assert change(database, [family(write_buffer_size="4194304")], plan) == ["applied"]
    revoke(database)
    [error] = restored(database)["errors"]
    assert f"Not executed: {TRIGGER} would be 21 and {SLOWDOWN} 20" in error
    assert values(database, TRIGGER, "write_buffer_size") == ["4", "67108864"]


def test_a_restore_sets_the_rest_of_a_step_of_which_two_options_do_not_go_together(database: Watched) -> None:
    """The host has raised its own trigger above the slowdown trigger's original: compaction must go on all the same."""
    original = {SLOWDOWN: "20", "write_buffer_size": "67108864", "disable_auto_compactions": "false"}
    tuned = {SLOWDOWN: "40", "write_buffer_size": "16777216", "disable_auto_compactions": "true"}
    assert change(database, [family(**tuned)], [back(family(**original))]) == ["applied"]
    database.set_option(TRIGGER, "30", "default")
    revoke(database)
    [error] = restored(database)["errors"]
    assert f"Not executed: {TRIGGER} would be 30 and {SLOWDOWN} 20" in error
    expected = {**original, SLOWDOWN: "40", TRIGGER: "30"}
    assert values(database, *expected) == list(expected.values())
    with pytest.raises(Refusal) as refused:
        change(database, [family(max_write_buffer_number="4")], [back(family(max_write_buffer_number="2"))])
    assert refused.value.body["option"] == SLOWDOWN, "it is still owed"


def test_a_restore_names_every_pair_that_does_not_go_together(merging: FakeDatabase) -> None:
    original = {SLOWDOWN: "20", MEMTABLES: "4", "write_buffer_size": "67108864"}
    tuned = {SLOWDOWN: "40", MEMTABLES: "5", "write_buffer_size": "4194304"}
    assert change(merging, [family(**tuned)], [back(family(**original))]) == ["applied"]
    merging.set_option(TRIGGER, "30", "default")
    merging.set_option(MERGED, "4", "default")
    revoke(merging)
    [error] = restored(merging)["errors"]
    assert f"{TRIGGER} would be 30" in error
    assert f"{MERGED} would be 4" in error
    assert values(merging, SLOWDOWN, MEMTABLES, "write_buffer_size") == ["40", "5", "67108864"]


# --- a full file system ---------------------------------------------------------------------------------------------

FULL = "less than 8 MiB are free"


@pytest.mark.parametrize("step", [family(write_buffer_size="4194304"), database(max_background_jobs="5")])
def test_a_change_for_which_there_is_no_space_is_not_executed(step: Json) -> None:
    """RocksDB may take the value and fail to write it, and what is in force would be unknown."""
    opened = FakeDatabase()
    opened.lacking = FULL
    undo = [back(family(write_buffer_size="67108864")), back(database(max_background_jobs="2"))]
    [found] = steps(opened, [step], undo)
    assert (found["outcome"], found["error"]) == ("error", f"Not executed: {FULL}.")
    assert opened.executed == []
    pools = threads("low", 2)
    assert change(opened, [pools], [back(threads("low", 1))]) == ["applied"], "it is in no file, and nothing is owed"
    opened.lacking = None
    assert change(opened, [step], [*undo, back(threads("low", 1))]) == ["applied"]
    opened.close()


def test_what_is_in_force_needs_no_space(database: Watched) -> None:
    database.lacking = FULL
    there = family(write_buffer_size="67108864")
    assert change(database, [there], [back(there)]) == ["unchanged"]
