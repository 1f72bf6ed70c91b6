"""The planner: only what differs, and in an order that is safe."""

from __future__ import annotations

import pytest

from adocd.daemon.change.planner import ChangePlan
from adocd.daemon.change.way_back import BYTES_PER_SYNC
from adocd.model.change import (
    ColumnFamilyChange,
    DatabaseChange,
    RateLimiterChange,
    RestoreStep,
    ThreadPoolChange,
)
from adocd.model.knob import MIB
from adocd.model.values import RATE_LIMITER, of_pool
from tests.builders import GIB
from tests.daemon.change.planned import AWAY, BATCH, JOBS, OFF, ON, plan, waits
from tests.daemon.change.rocksdb_model import (
    HARD,
    L0_FILES,
    SLOWDOWN,
    SOFT,
    STOP,
    SWITCH,
    TRIGGER,
    RocksDB,
    database,
    defaults,
    family,
    opened,
    universal,
)

# -- calls


def test_all_keys_of_a_family_travel_in_one_call() -> None:
    found = plan(BATCH)
    sizes = {"target_file_size_base": str(128 * MIB), "write_buffer_size": str(128 * MIB)}
    assert found.changes == (ColumnFamilyChange("default", sizes),)
    back = {"target_file_size_base": str(64 * MIB), "write_buffer_size": str(64 * MIB)}
    assert found.restore == (RestoreStep(ColumnFamilyChange("default", back)),)
    assert found.sent == BATCH


def test_what_is_there_already_is_not_sent() -> None:
    assert plan(defaults()) == ChangePlan((), {}, (), ())
    half = plan(family(write_buffer_size=128 * MIB, max_write_buffer_number=2))
    assert half.changes == (ColumnFamilyChange("default", {"write_buffer_size": str(128 * MIB)}),)


def test_what_is_not_reported_cannot_be_set() -> None:
    """A column family that has just been dropped, say: MyRocks would create it."""
    assert plan(family(of="gone", write_buffer_size=MIB) | {of_pool("bottom"): "4"}).changes == ()


def test_column_families_come_before_the_database() -> None:
    """A column family's change lowers the delayed rate; the database's call, coming last, sets it."""
    goal = JOBS | BATCH | family(of="index", write_buffer_size=MIB) | {of_pool("low"): "3", RATE_LIMITER: str(MIB)}
    found = plan(goal, opened(families=("default", "index")))
    assert [change.scope for change in found.changes] == [
        "column_family",
        "column_family",
        "thread_pool",
        "rate_limiter",
        "database",
    ]
    # On the way back pools and limiter come first: in a stall the others wait, perhaps for what these two let through.
    assert [step.change.scope for step in found.restore] == [
        "thread_pool",
        "rate_limiter",
        "column_family",
        "column_family",
        "database",
    ]


def test_a_rate_limit_that_rises_comes_before_what_may_wait_in_a_stall() -> None:
    raised, lowered = (plan(JOBS | BATCH | {RATE_LIMITER: str(rate * MIB)}) for rate in (128, 32))
    assert [change.scope for change in raised.changes] == ["rate_limiter", "column_family", "database"]
    assert [change.scope for change in lowered.changes] == ["column_family", "rate_limiter", "database"]


def test_a_wider_merge_is_set_before_the_change_that_makes_it_due() -> None:
    width, gate = database(max_subcompactions=4), family({TRIGGER: 4})
    found = plan(width | gate, opened({TRIGGER: 16}))
    assert found.changes == (DatabaseChange({"max_subcompactions": "4"}), ColumnFamilyChange("default", {TRIGGER: "4"}))
    lower = family(max_bytes_for_level_base=64 * MIB)
    assert [change.scope for change in plan(width | lower).changes] == ["database", "column_family"]
    # Narrower, or without anything that becomes due, the database comes last as ever.
    wide = opened({TRIGGER: 16})
    wide.apply(DatabaseChange({"max_subcompactions": "4"}))
    for calm in (plan(database(max_subcompactions=1) | gate, wide), plan(width | family({TRIGGER: 8}))):
        assert [change.scope for change in calm.changes] == ["column_family", "database"]


def test_pools_and_limiter_lead_back() -> None:
    found = plan({of_pool("high"): "2", of_pool("low"): "6", RATE_LIMITER: str(MIB)})
    assert found.changes == (ThreadPoolChange("high", 2), ThreadPoolChange("low", 6), RateLimiterChange(MIB))
    back = (ThreadPoolChange("high", 1), ThreadPoolChange("low", 2), RateLimiterChange(64 * MIB))
    assert tuple(step.change for step in found.restore) == back


# -- the brake


def test_during_a_delay_a_database_change_carries_the_rate_in_force() -> None:
    found = plan(JOBS, opened(delayed_rate=3 * MIB))
    assert found.changes == (DatabaseChange({"delayed_write_rate": str(3 * MIB), "max_background_jobs": "4"}),)
    back = {"delayed_write_rate": str(16 * MIB), "max_background_jobs": "2"}
    assert found.restore == (RestoreStep(DatabaseChange(back)),)


def test_the_carried_rate_has_a_floor() -> None:
    assert plan(JOBS, opened(delayed_rate=17)).sent.items() >= database(delayed_write_rate=MIB).items()


def test_only_a_change_of_the_database_carries_the_brake_and_only_where_it_differs() -> None:
    assert plan(BATCH, opened(delayed_rate=3 * MIB)).sent == BATCH
    assert plan(JOBS, opened(delayed_rate=16 * MIB)).sent == JOBS


def test_the_brake_is_released_only_after_the_delay() -> None:
    carried = opened(delayed_rate=3 * MIB)
    carried.values |= database(delayed_write_rate=3 * MIB)
    back = database(delayed_write_rate=16 * MIB)
    during = plan(back, carried, ours=back.keys())
    assert during.changes == ()
    assert during.held == (f"delayed_write_rate goes back to {16 * MIB} when the delay is over",)
    carried.delayed_rate = 0
    assert plan(back, carried, ours=back.keys()).sent == back


def test_a_rate_that_somebody_wants_is_not_held_and_beats_the_carried_one() -> None:
    wanted = database(delayed_write_rate=5 * MIB)
    assert plan(wanted | JOBS, opened(delayed_rate=3 * MIB)).sent == wanted | JOBS


@pytest.mark.parametrize(("option", "live"), [("delayed_write_rate", 16 * MIB), ("bytes_per_sync", 1 << 62)])
def test_an_original_of_zero_that_cannot_be_set_live_leads_back_to_what_it_means(option: str, live: int) -> None:
    """A delayed rate of 0 freezes writes (and killed a 6.29 process); RocksDB makes 1 MiB of a bytes_per_sync of 0."""
    zero = defaults() | database({option: 0})
    found = plan(database({option: 2 * MIB}), RocksDB(zero), zero)
    assert found.restore == (RestoreStep(DatabaseChange({option: str(live)})),)


def test_a_change_of_the_database_leaves_bytes_per_sync_off_where_it_is_off() -> None:
    """RocksDB would switch it on, for good where the host reloads its OPTIONS file; what no file reaches is off."""
    off = database(bytes_per_sync=1 << 62)
    zero = defaults() | database(bytes_per_sync=0)
    found = plan(JOBS, RocksDB(zero), zero)
    assert found.sent == JOBS | off
    assert found.changes == (DatabaseChange({"bytes_per_sync": str(1 << 62), "max_background_jobs": "4"}),)
    rocksdb = RocksDB(zero)
    for change in found.changes:
        rocksdb.apply(change)
    assert {option: rocksdb.values[option] for option in JOBS | off} == JOBS | off
    back = plan(JOBS | off, rocksdb, zero, ours=frozenset(JOBS))
    assert back.changes == ()
    assert plan(database(max_background_jobs=2), rocksdb, zero, ours=frozenset(JOBS)).sent == database(
        max_background_jobs=2
    ), "it is off already"
    assert plan(database(bytes_per_sync=MIB), RocksDB(zero), zero).sent == database(bytes_per_sync=MIB)
    assert BYTES_PER_SYNC not in plan(family({TRIGGER: 2}), RocksDB(zero), zero).sent
    rocksdb = RocksDB(defaults() | database(bytes_per_sync=MIB))
    assert plan(database(bytes_per_sync=0), rocksdb, defaults()).sent == off, "an operator's pin of 0"
    rocksdb.values |= off
    assert plan(database(bytes_per_sync=0), rocksdb, defaults()).changes == (), "and it is sent once"
    without = {option: value for option, value in zero.items() if option != BYTES_PER_SYNC}
    assert plan(JOBS, RocksDB(without), without).sent == JOBS


# -- a stop trigger is never lowered over the files there are


def test_a_stop_trigger_goes_up_at_once() -> None:
    found = plan(family({STOP: 100}), opened(l0=99))
    assert found.changes == (ColumnFamilyChange("default", {STOP: "100"}),)
    assert found.restore == (waits(STOP, "36", L0_FILES, 28),), "half-way to the slowdown, for a flush may come between"


def test_a_stop_trigger_comes_down_when_the_files_are_gone() -> None:
    goal = family({TRIGGER: 2, STOP: 30})
    held = plan(goal, opened(l0=25))
    assert held.sent == family({TRIGGER: 2})
    assert held.held == (f"{STOP} of default goes to 30 when level 0, now 25 files, has less than 25",)
    assert plan(goal, opened(l0=24)).sent == goal


def test_under_universal_compaction_a_stop_trigger_comes_down_when_the_sorted_runs_are_gone() -> None:
    """RocksDB compares the trigger with all of them: with the files alone, this change stopped writes at once."""
    goal = family({SLOWDOWN: 10, STOP: 12})
    held = plan(goal, universal(l0=6))
    assert held.sent == family({SLOWDOWN: 10})
    assert held.held == (f"{STOP} of default goes to 12 when there are less than 11 sorted runs, now 11",)
    assert plan(goal, universal(l0=5)).sent == goal


def test_a_slowdown_that_is_to_end_at_a_stop_trigger_waits_with_it() -> None:
    """A law without a slowdown wants both at one number: alone the slowdown would delay whom nobody delays now."""
    goal = family({SLOWDOWN: 12, STOP: 12})
    full = opened(l0=15)
    held = plan(goal, full)
    assert held.changes == ()
    assert held.held == (
        f"{STOP} of default goes to 12 when level 0, now 15 files, has less than 12",
        f"{SLOWDOWN} of default goes to 12 when level 0, now 15 files, has less than 12",
    )
    full.l0["default"] = 11
    assert plan(goal, full).sent == goal
    # One that is to delay before the stop does so at once, and one that goes up delays nobody.
    assert plan(family({SLOWDOWN: 11, STOP: 12}), opened(l0=15)).sent == family({SLOWDOWN: 11})
    assert plan(family({SLOWDOWN: 30, STOP: 30}), opened(l0=31)).sent == family({SLOWDOWN: 30})


def test_an_owners_slowdown_comes_back_before_a_stop_trigger_of_the_same_number() -> None:
    """Without a delay level 0 might never hold few enough files for the stop trigger."""
    owners = defaults() | family({SLOWDOWN: 24, STOP: 24})
    raised = RocksDB(owners | family({SLOWDOWN: 128, STOP: 128}))
    raised.l0["default"] = 60
    goal = family({SLOWDOWN: 24, STOP: 24})
    assert plan(goal, raised, owners, goal.keys()).sent == family({SLOWDOWN: 24})


def test_a_hard_limit_comes_down_when_the_bytes_are_gone() -> None:
    goal = family({SOFT: GIB, HARD: 2 * GIB})
    held = plan(goal, opened(pending=2 * GIB))
    assert held.sent == family({SOFT: GIB})
    assert held.held == (
        f"{HARD} of default goes to {2 * GIB} when pending compaction bytes, now {2 * GIB}, are below that",
    )
    assert plan(goal, opened(pending=2 * GIB - 1)).sent == goal


def test_a_hard_limit_that_was_off_comes_down_too() -> None:
    held = plan(family({HARD: 2 * GIB}), opened({SOFT: 0, HARD: 0}, pending=3 * GIB))
    assert held.changes == ()
    assert len(held.held) == 1


def test_the_stop_is_held_also_where_the_limits_are_not_reported() -> None:
    """MyRocks does not show the pending limits."""
    lacking = opened(l0=40)
    for option in family({SOFT: 0, HARD: 0}):
        del lacking.values[option]
    lacking.values |= family({STOP: 100})
    baseline = lacking.values | family({STOP: 36})
    goal = family({STOP: 36})
    assert plan(goal, lacking, baseline).sent == {}
    assert plan(BATCH, lacking, baseline, goal.keys()).restore[-1] == waits(STOP, "36", L0_FILES, 28)


# -- the staged return of compaction


def test_compaction_goes_on_with_stop_and_limit_out_of_the_way() -> None:
    """One call: raise stop, take the hard limit away, enable. The slowdowns stay in force."""
    piled = opened({SWITCH: "true"}, l0=50, pending=300 * GIB)
    found = plan(ON, piled, ours=OFF.keys())
    assert found.changes == (ColumnFamilyChange("default", {SWITCH: "false", HARD: "0", STOP: AWAY}),)
    assert found.held == (
        f"{STOP} of default goes to 36 when level 0, now 50 files, has less than 28",
        f"{HARD} of default goes to {256 * GIB} when pending compaction bytes, now {300 * GIB}, are below that",
    )


def test_what_was_out_of_the_way_comes_back_when_it_stops_nobody() -> None:
    going_on = opened({STOP: AWAY, HARD: 0}, l0=28, pending=GIB)
    goal = family({STOP: 36, HARD: 256 * GIB})
    assert plan(goal, going_on, ours=goal.keys()).sent == family({HARD: 256 * GIB})
    going_on.l0["default"] = 27
    assert plan(goal, going_on, ours=goal.keys()).sent == goal


def test_compaction_goes_on_at_once_where_nothing_has_piled_up() -> None:
    found = plan(ON, opened({SWITCH: "true"}, l0=27, pending=GIB), ours=OFF.keys())
    assert found.sent == ON
    assert found.held == ()


def test_a_host_that_has_no_limits_gets_none() -> None:
    host = opened({SWITCH: "true", STOP: 2 << 30, SOFT: 0, HARD: 0}, l0=50, pending=300 * GIB)
    assert plan(ON, host, baseline=host.values).sent == ON


# -- memtables that wait for their flush


def test_memtables_do_not_grow_before_there_are_fewer_of_them() -> None:
    """The guards have allowed the larger size with the smaller number."""
    now = opened(max_write_buffer_number=6)
    now.immutable["default"] = 4
    goal = family(write_buffer_size=512 * MIB, max_write_buffer_number=2)
    found = plan(goal, now)
    assert found.changes == ()
    assert [sentence.split(" of ")[0] for sentence in found.held] == ["max_write_buffer_number", "write_buffer_size"]
    now.immutable["default"] = 1
    assert plan(goal, now).sent == goal
    now.immutable["default"] = 4
    smaller = family(write_buffer_size=32 * MIB)
    assert plan(goal | smaller, now).sent == smaller
