"""An admitted rate on RocksDB: sent when it moves or has fallen, never twice the same, and given back by its value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adocd.controllers.admitted import (
    FLOOR_BYTES_PER_S,
    UNLIMITED_BYTES_PER_S,
    DelayLimits,
    HeldRate,
    owners_rate,
    released,
)
from adocd.model.knob import MIB, Knob
from adocd.model.sample import Sample
from adocd.model.snapshot import Condition, OptionValues
from adocd.model.values import of_database
from tests.builders import GIB, column_family, option_values, sample

OWNERS = 16 * MIB


def seen(rate: int = OWNERS, in_force: int = 0, owners: int = OWNERS, condition: Condition | None = None) -> Sample:
    """A look at a database with this delayed_write_rate; it is delayed if a rate is in force."""
    found = sample(
        condition=condition or ("delayed" if in_force else "normal"), delayed_write_rate_bytes_per_s=in_force
    )

    def rates(bytes_per_s: int) -> OptionValues:
        database = {**found.options.database, "delayed_write_rate": str(bytes_per_s)}
        return replace(found.options, database=database)

    return replace(found, options=rates(rate), originals=rates(owners))


def sent(found: Sample, wanted: int | None, rate: HeldRate | None = None) -> int | None:
    """The value that is sent, if any."""
    settings = (rate or HeldRate()).settings(found, wanted)
    assert all(setting.knob is Knob.DELAYED_WRITE_RATE for setting in settings)
    return settings[0].value if settings else None


@pytest.mark.parametrize(
    ("now", "wanted", "value"),
    [
        (20 * MIB, 20 * MIB, None),
        (20 * MIB, 21 * MIB, None),
        (20 * MIB, 22 * MIB - 1, None),
        (20 * MIB, 22 * MIB, 22 * MIB),
        (20 * MIB, 18 * MIB + 1, None),
        (20 * MIB, 18 * MIB, 18 * MIB),
        (20 * MIB, 1, FLOOR_BYTES_PER_S),
        (FLOOR_BYTES_PER_S, 1, None),
        (20 * MIB, UNLIMITED_BYTES_PER_S, UNLIMITED_BYTES_PER_S),
    ],
)
def test_the_rate_moves_by_a_tenth_at_least_and_never_below_the_floor(now: int, wanted: int, value: int | None) -> None:
    assert sent(seen(now), wanted) == value


@pytest.mark.parametrize(
    ("now", "wanted", "value"),
    [
        (20 * MIB, 5 * MIB, None),
        (20 * MIB, 5 * MIB - 1, 5 * MIB - 1),
        (20 * MIB, 20 * MIB, None),
        (20 * MIB, 22 * MIB - 1, None),
        (20 * MIB, 22 * MIB, 22 * MIB),
    ],
)
def test_a_rate_that_will_delay_nothing_soon_may_be_higher(now: int, wanted: int, value: int | None) -> None:
    settings = HeldRate().settings(seen(now), wanted, times=4)
    assert [setting.value for setting in settings] == ([] if value is None else [value])


@pytest.mark.parametrize(
    ("in_force", "value"),
    [
        (10_000_000, None),
        (8_000_000, None),  # RocksDB has looked once
        (7_999_999, 10_000_001),
        (6_400_000, 10_000_001),  # a memtable was filled and flushed
    ],
)
def test_it_is_sent_again_where_rocksdb_has_lowered_it(in_force: int, value: int | None) -> None:
    assert sent(seen(10_000_000, in_force), 10_000_000) == value


def test_one_step_of_rocksdb_is_truncated_and_still_none_of_ours() -> None:
    """0.8 x 16 MiB is 13421772.8."""
    rate = 16 * MIB + 1  # so that it is not the owner's
    assert int(rate * 0.8) * 10 < rate * 8
    assert sent(seen(rate, int(rate * 0.8)), rate) is None


def test_held_for_long_two_values_take_turns() -> None:
    rate, now, values = HeldRate(), 10_000_000, []
    for _ in range(4):
        value = sent(seen(now, int(now * 0.64)), 10_000_000, rate)
        assert value is not None
        now = value
        values.append(value)
    assert values == [10_000_001, 10_000_000, 10_000_001, 10_000_000]


def test_a_lower_rate_in_force_does_not_count_against_a_rate_that_nothing_limits() -> None:
    assert sent(seen(UNLIMITED_BYTES_PER_S, UNLIMITED_BYTES_PER_S // 2), UNLIMITED_BYTES_PER_S) is None


def test_a_rate_that_nothing_limits_is_sent_again_before_it_holds_somebody() -> None:
    """RocksDB takes a third off for each memtable of a delay, and gives 1.4 back at its end: that fades away."""
    fallen = sent(seen(UNLIMITED_BYTES_PER_S, 500_000_000), UNLIMITED_BYTES_PER_S)
    assert fallen == UNLIMITED_BYTES_PER_S + 1, "the value that is set already would be skipped"


@pytest.mark.parametrize(
    ("last_in_force", "value"),
    [
        (8_570_000, None),  # x 1.4 = 11,998,000: at 0.8 x 14,000,000 = 11,200,000 or more
        (8_000_000, None),  # exactly 11,200,000
        (7_999_999, 14_000_001),
    ],
)
def test_after_a_delay_the_next_one_begins_where_it_should(last_in_force: int, value: int | None) -> None:
    rate = HeldRate()
    assert sent(seen(14_000_000, last_in_force), last_in_force, rate) == last_in_force, "a lower rate was wanted then"
    assert sent(seen(last_in_force, last_in_force), last_in_force, rate) is None, "and held"
    assert sent(seen(14_000_000), 14_000_000, rate) == value
    assert sent(seen(14_000_000), 14_000_000, rate) is None, "once"


def test_a_stop_is_not_the_end_of_a_delay() -> None:
    rate = HeldRate()
    assert sent(seen(10_000_000, 9_000_000), 10_000_000, rate) is None
    assert sent(seen(10_000_000, 0, condition="stopped"), 10_000_000, rate) is None


def test_while_writes_are_delayed_the_owners_exact_value_is_not_sent() -> None:
    """The planner would keep it back until the delay is over: to it that is a restore."""
    assert sent(seen(4 * MIB, 4 * MIB), OWNERS) == OWNERS + 1
    assert sent(seen(OWNERS, OWNERS // 2), OWNERS) == OWNERS + 1
    assert sent(seen(OWNERS + 1, OWNERS // 2), OWNERS) == OWNERS + 2
    assert sent(seen(4 * MIB), OWNERS) == OWNERS


@pytest.mark.parametrize("wanted", [None, OWNERS])
def test_the_owners_rate_comes_back_by_its_value_when_the_delay_is_over(wanted: int | None) -> None:
    assert sent(seen(OWNERS + 1, OWNERS), wanted) is None
    assert sent(seen(OWNERS + 1), wanted) == OWNERS
    assert sent(seen(OWNERS), wanted) is None


def test_an_owners_rate_that_was_given_back_is_rocksdbs_to_lower() -> None:
    assert sent(seen(OWNERS, OWNERS // 2), None) is None
    rate = HeldRate()
    assert sent(seen(OWNERS + 1, OWNERS // 4), None, rate) is None
    assert sent(seen(OWNERS + 1), None, rate) == OWNERS
    assert sent(seen(OWNERS), None, rate) is None


def test_an_owners_rate_below_the_floor_is_given_back_and_nothing_near_it_sent() -> None:
    low = FLOOR_BYTES_PER_S // 2
    assert sent(seen(4 * MIB, owners=low), None) == low
    assert sent(seen(low, low // 2, owners=low), None) is None


def test_an_owners_rate_of_0_is_rocksdbs_default() -> None:
    assert owners_rate(seen(4 * MIB, owners=0)) == 16 * MIB
    assert sent(seen(4 * MIB, owners=0), None) == 16 * MIB


def test_a_pinned_rate_and_one_that_is_not_reported_are_left_alone() -> None:
    pinned = replace(seen(10_000_000, 1_000_000), pinned=frozenset({of_database("delayed_write_rate")}))
    assert sent(pinned, 10_000_000) is None
    assert sent(replace(seen(), options=replace(option_values(), database={})), 10_000_000) is None


# -- when writes are delayed


def limits(found: DelayLimits, **options: Any) -> dict[Knob, int]:
    cf = column_family(**options)
    return {setting.knob: setting.value for setting in found.settings(cf, sample(cf))}


def test_more_than_so_many_files_is_a_trigger_of_one_more() -> None:
    assert limits(DelayLimits(l0_files=20, held_to_l0_files=33)) == {Knob.LEVEL0_SLOWDOWN: 21, Knob.LEVEL0_STOP: 36}


def test_the_stop_leaves_room_to_hold_the_rate_or_is_the_owners() -> None:
    found = DelayLimits(l0_files=4, held_to_l0_files=20)
    assert limits(found, level0_stop_writes_trigger=12)[Knob.LEVEL0_STOP] == 23
    assert limits(found)[Knob.LEVEL0_STOP] == 36


def test_a_slowdown_is_never_below_the_compaction_trigger() -> None:
    found = DelayLimits(l0_files=4, held_to_l0_files=20)
    late: dict[str, Any] = {"level0_file_num_compaction_trigger": 30, "level0_slowdown_writes_trigger": 30}
    assert limits(found, **late) == {Knob.LEVEL0_SLOWDOWN: 30, Knob.LEVEL0_STOP: 36}
    earlier = replace(found, l0_trigger_most=4)
    assert limits(earlier, **late) == {Knob.LEVEL0_TRIGGER: 4, Knob.LEVEL0_SLOWDOWN: 5, Knob.LEVEL0_STOP: 36}
    assert limits(earlier, level0_file_num_compaction_trigger=2)[Knob.LEVEL0_TRIGGER] == 2


def test_pending_limits_are_the_owners_unless_they_are_given() -> None:
    assert not {Knob.SOFT_PENDING_LIMIT, Knob.HARD_PENDING_LIMIT} & limits(DelayLimits(20, 33)).keys()
    given = DelayLimits(20, 33, soft_pending_bytes=GIB, hard_pending_bytes=0)
    assert limits(given)[Knob.SOFT_PENDING_LIMIT] == GIB
    assert limits(given)[Knob.HARD_PENDING_LIMIT] == 0


def test_the_owners_stop_counts_and_not_the_one_in_force() -> None:
    cf = column_family(level0_stop_writes_trigger=100)
    found = replace(sample(cf), originals=option_values())
    stop = {setting.knob: setting.value for setting in DelayLimits(20, 33).settings(cf, found)}[Knob.LEVEL0_STOP]
    assert stop == 36


def test_released_is_what_the_owner_had() -> None:
    cf = column_family(level0_slowdown_writes_trigger=21, soft_pending_compaction_bytes_limit=GIB)
    found = replace(sample(cf), originals=option_values())
    knobs = (Knob.LEVEL0_SLOWDOWN, Knob.SOFT_PENDING_LIMIT)
    assert [(s.knob, s.value, s.column_family) for s in released(knobs, cf, found)] == [
        (Knob.LEVEL0_SLOWDOWN, 20, "default"),
        (Knob.SOFT_PENDING_LIMIT, 64 * GIB, "default"),
    ]
