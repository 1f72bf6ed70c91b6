"""What makes way for what stood before, and what must not."""

from __future__ import annotations

from adocd.daemon.change.ledger import Ledger
from adocd.daemon.control.steering import SteeringStep
from adocd.model.decision import Setting
from adocd.model.knob import MIB, Knob
from adocd.model.values import RATE_LIMITER, Values, flat
from tests.daemon.change.rocksdb_model import STOP, defaults, family, opened
from tests.daemon.control.test_steering import OFF, ON, Wheel


def decide(wheel: Wheel, *settings: Setting, pins: Values | None = None) -> SteeringStep:
    wheel.now_s += 1.0
    sample = wheel.database.sample(wheel.now_s)
    wheel.steering.observe(sample)
    wheel.ledger.watch(flat(sample.options))
    guarded = wheel.guard(settings, pins or {}, sample)
    wheel.steering.take(guarded, sample.values)
    return wheel.steering.plan(guarded, sample)


def test_a_refused_batch_takes_nothing_from_the_number_that_stands() -> None:
    wheel = Wheel()
    six = family(max_write_buffer_number=6)
    wheel.want(six)
    assert wheel.turn() == six
    decide(wheel, Setting(Knob.BATCH_SIZE, 1024 * MIB, "default"))
    assert dict(wheel.steering.wanted) == six
    assert wheel.turn() == {}


def test_a_refused_wish_keeps_no_pin_from_being_sent() -> None:
    pin = family(max_write_buffer_number=4)
    step = decide(Wheel(), Setting(Knob.BATCH_SIZE, 1024 * MIB, "default"), pins=pin)
    assert step.plan.sent == pin
    assert step.refusals == (), "the pin's record says nothing of what was the law's"


def test_what_stands_and_is_not_there_yet_is_sent_in_spite_of_a_refused_wish() -> None:
    wheel = Wheel()
    wheel.want(family({STOP: 100}))
    step = decide(wheel, Setting(Knob.LEVEL0_SLOWDOWN, 200, "default"))
    assert dict(wheel.steering.wanted) == family({STOP: 100})
    assert step.plan.sent == family({STOP: 100})


def test_the_guards_are_asked_about_all_that_makes_way() -> None:
    wheel = Wheel(opened(families=("a", "b")))
    wheel.want(family(write_buffer_size=200 * MIB, of="a") | family(write_buffer_size=330 * MIB, of="b"))
    step = decide(wheel, Setting(Knob.MEMTABLE_SIZE, 450 * MIB, "a"), Setting(Knob.MEMTABLE_SIZE, 320 * MIB, "b"))
    now = {**wheel.database.values, **step.plan.sent}
    assert sum(2 * int(value) for option, value in now.items() if option.option == "write_buffer_size") <= 1024 * MIB


def test_what_a_guard_refuses_while_standing_back_is_no_longer_wanted() -> None:
    wheel = Wheel()
    wheel.want(OFF)
    wheel.turn()
    wheel.database.l0["default"] = 150
    assert wheel.next(scope="safety").plan.sent.items() > ON.items()
    assert wheel.steering.wanted == {}


def test_what_came_without_an_original_is_named_only_while_it_is_ours() -> None:
    current = defaults()
    ledger = Ledger({option: value for option, value in current.items() if option != RATE_LIMITER})
    ledger.watch(current)
    ledger.sending({RATE_LIMITER: "1"}, current)
    ledger.seen({RATE_LIMITER: current[RATE_LIMITER]})
    assert ledger.to_name(current) == set()


def test_column_families_that_come_and_go_leave_no_accounts() -> None:
    opened_with = defaults()
    ledger = Ledger(opened_with)
    for number in range(5):
        ledger.reopened_with(opened_with | family(write_buffer_size=7, of=f"cf{number}"))
    ledger.reopened_with(opened_with)
    assert len(ledger._accounts) == len(opened_with)
