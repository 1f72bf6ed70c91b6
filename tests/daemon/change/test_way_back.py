"""The planner's way back from everything that is ours, which the agent executes when nobody watches."""

from __future__ import annotations

import pytest

from adocd.daemon.change import planner
from adocd.daemon.change.way_back import restorable, way_back
from adocd.model.change import Below, ColumnFamilyChange, RestoreStep
from adocd.model.knob import MIB
from adocd.model.options import OPTIONS
from adocd.model.values import OptionName, of_database
from tests.builders import GIB
from tests.daemon.change.planned import AWAY, BATCH, JOBS, OFF, ON, plan, waits
from tests.daemon.change.rocksdb_model import (
    HARD,
    IMMUTABLE_MEMTABLES,
    L0_FILES,
    MEMTABLES,
    PENDING_BYTES,
    SLOWDOWN,
    SOFT,
    STOP,
    SWITCH,
    TRIGGER,
    RocksDB,
    defaults,
    family,
    opened,
    universal,
)

SUBCOMPACTIONS, BYTES_PER_SYNC = of_database("max_subcompactions"), of_database("bytes_per_sync")


def test_the_way_back_from_no_compaction_is_staged_whatever_there_is_now() -> None:
    """Nobody knows what there will be when it is walked."""
    found = plan(OFF)
    assert found.changes == (ColumnFamilyChange("default", {SWITCH: "true"}),)
    assert found.restore == (
        RestoreStep(ColumnFamilyChange("default", {SWITCH: "false", HARD: "0", STOP: AWAY})),
        waits(STOP, "36", L0_FILES, 28),
        waits(HARD, str(256 * GIB), PENDING_BYTES, 256 * GIB),
    )


def test_under_universal_compaction_the_sorted_runs_below_level_0_count_too() -> None:
    """Agents see only the files: five runs more are 32 at 27 files, too near to a stop at 36."""
    assert plan(family({STOP: 100}), universal(l0=0)).restore == (waits(STOP, "36", L0_FILES, 23),)


def test_the_way_back_while_compaction_returns() -> None:
    going_on = opened({STOP: AWAY, HARD: 0}, l0=50)
    ours = family({SWITCH: 0, STOP: 0, HARD: 0}).keys()
    assert plan(BATCH, going_on, ours=ours).restore[1:] == (
        waits(STOP, "36", L0_FILES, 28),
        waits(HARD, str(256 * GIB), PENDING_BYTES, 256 * GIB),
    )


def test_a_host_that_had_compaction_off_has_it_off_again() -> None:
    host = defaults() | OFF
    found = plan(ON, RocksDB(host), host)
    assert found.restore == (RestoreStep(ColumnFamilyChange("default", {SWITCH: "true"})),)


def test_what_goes_below_its_original_and_may_still_be_above_goes_up_first() -> None:
    """Its neighbour goes back at once: slowdown 20 over a stop of 10 would be out of order until level 0 is small."""
    now = opened({STOP: 100})
    found = plan(family({TRIGGER: 2, SLOWDOWN: 5, STOP: 10}), now, ours=family({STOP: 0}).keys())
    assert found.sent == family({TRIGGER: 2, SLOWDOWN: 5, STOP: 10})
    back = {TRIGGER: "4", SLOWDOWN: "20", STOP: "100"}
    assert found.restore == (
        RestoreStep(ColumnFamilyChange("default", back)),
        waits(STOP, "36", L0_FILES, 28),
    )


def test_a_hard_limit_that_may_be_above_or_below_is_taken_away_first() -> None:
    now = opened({SOFT: GIB, HARD: 2 * GIB})
    found = plan(family({SOFT: 0, HARD: 0}), now, ours=family({SOFT: 0, HARD: 0}).keys())
    assert found.restore == (
        RestoreStep(ColumnFamilyChange("default", {SOFT: str(64 * GIB), HARD: "0"})),
        waits(HARD, str(256 * GIB), PENDING_BYTES, 256 * GIB),
    )


def test_a_hard_limit_above_what_an_agent_can_compare_comes_back_too() -> None:
    most = (1 << 64) - 1
    found = plan(OFF, opened({HARD: most}), defaults() | family({HARD: most}))
    assert found.restore[-1] == waits(HARD, str(most), PENDING_BYTES, (1 << 63) - 1)


_LIVE = [option for option in defaults() if (facts := OPTIONS.get(option.option)) is None or facts.live]


def test_the_model_has_all_live_options_of_the_catalogue() -> None:
    assert {option.option for option in _LIVE} >= {name for name, facts in OPTIONS.items() if facts.live}


@pytest.mark.parametrize("option", _LIVE, ids=str)
def test_there_is_a_way_back_from_every_option(option: OptionName) -> None:
    now = opened()
    now.values |= {option: "true" if option.option == SWITCH else "7"}
    found = planner.plan({}, now.sample(), defaults(), {option})
    for step in found.restore:
        now.apply(step.change)
    assert now.values[option] == restorable(option, defaults()[option])


def test_what_is_ours_is_in_the_way_back_whatever_is_sent() -> None:
    left = opened(write_buffer_size=256 * MIB)
    found = plan(JOBS, left, ours=family(write_buffer_size=0).keys())
    assert {step.change.scope for step in found.restore} == {"column_family", "database"}
    assert found.restore[0].change.wanted() == {"write_buffer_size": str(64 * MIB)}


def test_a_family_that_has_gone_needs_no_way_back() -> None:
    assert way_back(opened().sample(), defaults(), family({STOP: 0}, of="gone").keys(), {}) == ()


def test_what_is_sent_again_is_in_the_way_back_though_it_is_the_original() -> None:
    """An agent takes no change without a way back from it (agents/admin-api.yaml, `plan_incomplete`)."""
    now = opened().sample()
    repeated = planner.again(family(level0_stop_writes_trigger=36), now, defaults(), frozenset())
    assert repeated.repeat
    assert {option for step in repeated.restore for option in step.change.sets()} == repeated.sent.keys()


def test_a_restore_lowers_the_number_of_memtables_when_fewer_wait() -> None:
    raised = family(max_write_buffer_number=6, write_buffer_size=128 * MIB)
    assert plan(raised).restore == (
        RestoreStep(ColumnFamilyChange("default", {"write_buffer_size": str(64 * MIB)})),
        waits(MEMTABLES, "2", IMMUTABLE_MEMTABLES, 2),
    )
    many = family(max_write_buffer_number=8, write_buffer_size=16 * MIB, max_bytes_for_level_base=16 * GIB)
    assert plan(many).restore == (
        waits("max_bytes_for_level_base", str(256 * MIB), L0_FILES, below=20),
        RestoreStep(
            ColumnFamilyChange("default", {MEMTABLES: "2", "write_buffer_size": str(64 * MIB)}),
            Below("default", IMMUTABLE_MEMTABLES, 2),
        ),
    ), "64 MiB x 8 is in nobody's budget, and the base level waits for no memtables"
    lowered = plan(
        family(max_write_buffer_number=2), opened(max_write_buffer_number=6), defaults() | family({MEMTABLES: 6})
    )
    assert lowered.restore == (RestoreStep(ColumnFamilyChange("default", {MEMTABLES: "6"})),)
