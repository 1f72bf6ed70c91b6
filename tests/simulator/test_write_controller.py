"""Delay, its adaptation and stop, by hand from RocksDB's source (db/column_family.cc, 7.8)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adocd.model.snapshot import Condition
from adocd.simulator.database import SimulatedDatabase
from adocd.simulator.options import DatabaseOptions, FamilyOptions
from adocd.simulator.write_controller import Cause, StallInputs, WriteController, condition_of

from .scenes import MIB, database, setup

OPTIONS = FamilyOptions(
    level0_file_num_compaction_trigger=4,
    level0_slowdown_writes_trigger=20,
    level0_stop_writes_trigger=36,
    soft_pending_compaction_bytes_limit=1000,
    hard_pending_compaction_bytes_limit=5000,
)
FOUR_BUFFERS = replace(OPTIONS, max_write_buffer_number=4)


@pytest.mark.parametrize(
    ("memtables", "l0", "pending", "options", "condition", "cause"),
    [
        (0, 0, 0, OPTIONS, "normal", None),
        (1, 19, 999, OPTIONS, "normal", None),
        (2, 0, 0, OPTIONS, "stopped", "memtable"),
        (0, 20, 0, OPTIONS, "delayed", "l0"),
        (0, 36, 0, OPTIONS, "stopped", "l0"),
        (0, 0, 1000, OPTIONS, "delayed", "pending_bytes"),
        (0, 0, 5000, OPTIONS, "stopped", "pending_bytes"),
        # The worst counts; among equals memtables before level 0 before pending bytes.
        (2, 36, 5000, OPTIONS, "stopped", "memtable"),
        (1, 36, 5000, OPTIONS, "stopped", "l0"),
        (0, 20, 5000, OPTIONS, "stopped", "pending_bytes"),
        (0, 20, 1000, OPTIONS, "delayed", "l0"),
        # With more than three memtables the last but one delays (3 of 4), with three it does not.
        (3, 0, 0, FOUR_BUFFERS, "delayed", "memtable"),
        (2, 0, 0, FOUR_BUFFERS, "normal", None),
        (2, 0, 0, replace(OPTIONS, max_write_buffer_number=3), "normal", None),
        # Without compaction only memtables stop (HAZARDS 8).
        (0, 99, 9999, replace(OPTIONS, disable_auto_compactions=True), "normal", None),
        (2, 99, 9999, replace(OPTIONS, disable_auto_compactions=True), "stopped", "memtable"),
        # A limit of 0 is off (HAZARDS 18).
        (
            0,
            0,
            10**15,
            replace(OPTIONS, soft_pending_compaction_bytes_limit=0, hard_pending_compaction_bytes_limit=0),
            "normal",
            None,
        ),
    ],
)
def test_condition_and_cause(
    memtables: int, l0: int, pending: int, options: FamilyOptions, condition: Condition, cause: Cause | None
) -> None:
    assert condition_of(StallInputs(memtables, l0, pending), options) == (condition, cause)


def rates(controller: WriteController, *loads: tuple[int, int], options: FamilyOptions = OPTIONS) -> list[int]:
    """Recalculate with each (level-0 files, pending bytes); the rate after each."""
    found = []
    for l0, pending in loads:
        controller.recalculate(StallInputs(0, l0, pending), options)
        found.append(controller.rate_bytes_per_s)
    return found


def test_a_delay_begins_at_the_rate_there_is_and_adapts_by_the_debt() -> None:
    """0.8 when the debt did not shrink, 1.25 when it did, never above the maximum; whole bytes, rounded down."""
    controller = WriteController(1_000_000)
    assert rates(controller, (20, 500), (20, 500), (21, 600), (21, 590), (20, 580), (20, 570)) == [
        1_000_000,
        800_000,
        640_000,
        800_000,
        1_000_000,
        1_000_000,
    ]


def test_near_a_stop_it_is_six_tenths() -> None:
    """Two files below the stop trigger, or in the last quarter between soft and hard limit: more than 4000 of 5000."""
    controller = WriteController(1_000_000)
    assert rates(controller, (33, 500), (34, 400), (35, 300), (33, 200)) == [1_000_000, 600_000, 360_000, 450_000]
    controller = WriteController(1_000_000)
    assert rates(controller, (0, 1000), (0, 4000), (0, 4001)) == [1_000_000, 800_000, 480_000]


def test_after_a_delay_the_rate_recovers_by_1_4_and_is_kept() -> None:
    controller = WriteController(1_000_000)
    assert rates(controller, (20, 500), (20, 500), (20, 500), (19, 400)) == [1_000_000, 800_000, 640_000, 896_000]
    assert rates(controller, (19, 400), (20, 400)) == [896_000, 896_000]


def test_after_a_stop_the_rate_is_the_one_before() -> None:
    """No penalty: it needs a delay that goes on, and a stop is none. Nor does a stop that ends reward."""
    controller = WriteController(1_000_000)
    assert rates(controller, (20, 500), (20, 500), (36, 500), (30, 500)) == [1_000_000, 800_000, 800_000, 800_000]
    assert rates(controller, (36, 500), (0, 0)) == [800_000, 800_000]


def test_a_debt_of_nothing_changes_nothing() -> None:
    """Only level compaction estimates it; 0 before means unknown (SetupDelay)."""
    assert rates(WriteController(1_000_000), (20, 0), (20, 0), (20, 100)) == [1_000_000, 1_000_000, 1_000_000]


def test_the_floor_and_a_maximum_below_it() -> None:
    controller = WriteController(20_000)
    assert rates(controller, (34, 9), (34, 9), (34, 9)) == [20_000, 16_384, 16_384]
    assert rates(WriteController(10_000), (34, 9), (34, 9), (34, 9)) == [10_000, 10_000, 10_000]


def test_without_compaction_a_memtable_delay_has_the_rate_the_user_gave() -> None:
    controller = WriteController(1_000_000)
    rates(controller, (20, 5), (20, 5))
    options = replace(FOUR_BUFFERS, disable_auto_compactions=True)
    controller.recalculate(StallInputs(3, 0, 5), options)
    assert (controller.condition, controller.rate_bytes_per_s) == ("delayed", 1_000_000)


def test_every_recalculation_in_a_stall_counts() -> None:
    controller = WriteController(1_000_000)
    rates(controller, (20, 1), (21, 1), (36, 1), (0, 1000), (0, 5000), (0, 0))
    assert controller.counts == {
        "l0_slowdowns": 2,
        "l0_stops": 1,
        "pending_bytes_slowdowns": 1,
        "pending_bytes_stops": 1,
    }


@pytest.mark.parametrize(
    ("l0", "pending", "speedup"),
    [
        (7, 249, False),  # speed-up is at min(2 x 4, 4 + (20 - 4) / 4) = 8 files, and a quarter of the soft limit
        (8, 0, True),
        (0, 250, True),
        (20, 0, True),
    ],
)
def test_compactions_run_beside_each_other_under_pressure(l0: int, pending: int, speedup: bool) -> None:
    controller = WriteController(1_000_000)
    controller.recalculate(StallInputs(0, l0, pending), OPTIONS)
    assert controller.needs_speedup is speedup


ANY_LOADS = st.tuples(st.integers(0, 4), st.integers(0, 50), st.integers(0, 10_000))
#: A delay must go on for the rate to change, and of any loads nearly none follow each other in one.
DELAYS = st.tuples(st.integers(0, 1), st.integers(20, 35), st.integers(0, 4_999))


def test_the_rate_stays_between_its_bounds() -> None:
    cuts, rises = 0, 0

    @settings(max_examples=1000)
    @given(st.integers(1, 10**9), st.lists(DELAYS | DELAYS | ANY_LOADS, max_size=60))
    def holds(maximum: int, loads: list[tuple[int, int, int]]) -> None:
        nonlocal cuts, rises
        controller = WriteController(maximum)
        for memtables, l0, pending in loads:
            before, was = controller.rate_bytes_per_s, controller.condition
            controller.recalculate(StallInputs(memtables, l0, pending), OPTIONS)
            assert min(maximum, 16 * 1024) <= controller.rate_bytes_per_s <= maximum
            if controller.rate_bytes_per_s < before:
                cuts += 1
                assert (was, controller.condition) == ("delayed", "delayed")
            elif controller.rate_bytes_per_s > before:
                rises += 1
                assert was == "delayed"

    holds()
    assert min(cuts, rises) > 0, (cuts, rises)


# -- in a database


def delayed() -> SimulatedDatabase:
    found = database("cap-100")
    while found.controller.condition != "delayed" or found.controller.rate_bytes_per_s > 10 * MIB:
        found.advance(found.now_s + 0.1)
        assert found.now_s < 3600, "it was never delayed for long"
    return found


def test_an_effective_set_db_options_resets_the_rate_and_one_that_changes_nothing_does_not() -> None:
    """HAZARDS 6: stepping threads releases the brake."""
    found = delayed()
    rate = found.controller.rate_bytes_per_s
    found.set_database({"max_background_jobs": "2"})
    assert found.controller.rate_bytes_per_s == rate
    found.set_database({"max_background_jobs": "4"})
    assert found.controller.rate_bytes_per_s == 16 * MIB


def test_a_set_db_options_that_carries_the_rate_keeps_the_brake() -> None:
    found = delayed()
    rate = found.controller.rate_bytes_per_s
    found.set_database({"max_background_jobs": "4", "delayed_write_rate": str(rate)})
    assert found.controller.rate_bytes_per_s == rate


def test_each_set_options_in_a_delay_cuts_the_rate() -> None:
    """HAZARDS 7: the debt has not shrunk since, so it is 0.8, or 0.6 near a stop."""
    found = delayed()
    before = found.controller.rate_bytes_per_s
    for _ in range(3):
        found.set_family({"max_compaction_bytes": "1000000000"})
    assert found.controller.rate_bytes_per_s <= before * 0.8**2


def test_a_delayed_write_rate_of_0_means_the_default_at_open_and_a_byte_a_second_live() -> None:
    """HAZARDS 5."""
    asked = replace(setup(), database=DatabaseOptions(delayed_write_rate=0))
    assert SimulatedDatabase(replace(asked, rate_limiter_bytes_per_s=5 * MIB)).options.delayed_write_rate == 5 * MIB
    found = SimulatedDatabase(asked)
    assert found.options.delayed_write_rate == 16 * MIB
    found.set_database({"delayed_write_rate": "0"})
    assert found.controller.max_rate_bytes_per_s == 1
