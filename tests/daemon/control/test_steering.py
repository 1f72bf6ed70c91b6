"""Whose word counts: a safety guard's before an operator's, an operator's before the law's."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from adocd.daemon.change.guards import GUARDS
from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.change.guards.guard import Beside
from adocd.daemon.change.ledger import Ledger
from adocd.daemon.control.steering import Guarded, Scope, Steering, SteeringStep
from adocd.model.change import ColumnFamilyChange
from adocd.model.decision import Setting
from adocd.model.knob import MIB, Knob
from adocd.model.sample import Sample
from adocd.model.values import OptionName, Values, flat, of_pool
from tests.builders import GIB
from tests.daemon.change.rocksdb_model import SLOWDOWN, STOP, SWITCH, TRIGGER, RocksDB, database, family, opened
from tests.daemon.steered import next_step, want

BESIDE = Beside(budget_bytes=GIB)
OFF, ON = family({SWITCH: "true"}), family({SWITCH: "false"})


class Wheel:
    """A database and its steering, turned by hand."""

    def __init__(self, opened_with: RocksDB | None = None) -> None:
        self.database = opened_with or opened()
        self.ledger = Ledger(dict(self.database.values))
        self.steering = Steering(self.ledger, GUARDS, CompactionLimits(off_s=10.0, l0_files=100))
        self.now_s = 100.0

    def next(self, pins: Values | None = None, scope: Scope = "all") -> SteeringStep:
        """Look, and say what is next."""
        self.now_s += 1.0
        sample = self.database.sample(self.now_s)
        self.steering.observe(sample)
        self.ledger.watch(flat(sample.options))
        return next_step(self.steering, pins or {}, sample, self.now_s, BESIDE, scope)

    def guard(self, settings: tuple[Setting, ...], pins: Values, sample: Sample) -> Guarded:
        """Ask the guards about a decision."""
        return self.steering.guard(settings, pins, sample, self.now_s, BESIDE)

    def turn(self, pins: Values | None = None) -> Mapping[OptionName, str]:
        """Do what is next; what was sent."""
        step = self.next(pins)
        self.ledger.sending(step.plan.sent, dict(self.database.values))
        for change in step.plan.changes:
            self.database.apply(change)
        self.ledger.seen(step.plan.sent)
        return step.plan.sent

    def want(self, options: Values) -> None:
        """Let the law want something, past `weigh`."""
        want(self.steering, options)


# -- whose word counts


def test_a_pin_beats_the_law() -> None:
    wheel = Wheel()
    wheel.want(database(max_background_jobs=8) | family(max_write_buffer_number=4))
    step = wheel.next(database(max_background_jobs=3))
    assert step.plan.sent == database(max_background_jobs=3) | family(max_write_buffer_number=4)
    assert {str(option): origin for option, origin in step.origins.items()} == {
        "max_background_jobs": "override",
        "max_write_buffer_number (default)": "law",
    }


def test_a_guard_beats_a_pin_and_says_so() -> None:
    wheel = Wheel()
    step = wheel.next(family(write_buffer_size=2048 * MIB))
    assert step.plan.changes == ()
    assert [refusal.guard for refusal in step.refusals] == ["memory budget"]


def test_a_pin_that_would_be_refused_is_known_beforehand() -> None:
    wheel = Wheel()
    sample = wheel.database.sample()
    (stop,) = family({STOP: 0})
    said = wheel.steering.refusal_of({stop: "19"}, {}, sample)
    assert str(said) == f"order: in column family default it must be that {TRIGGER} 4 <= {SLOWDOWN} 20 <= {STOP} 19"
    assert wheel.steering.refusal_of({stop: "19"}, family({SLOWDOWN: 19}), sample) is None
    assert wheel.steering.refusal_of({stop: "60"}, {}, sample) is None


def test_an_owners_new_value_is_named_to_the_agent_once_it_was_there_at_two_looks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """He may set an option twice in a row, and the agent would set what was read between the two."""
    wheel, (stop,) = Wheel(), family({STOP: 0})
    sample = wheel.database.sample()
    named = []
    for value in ("40", "50", "50"):
        outdated = {stop: value}
        monkeypatch.setattr(Ledger, "outdated", lambda *_, found=outdated: found)
        plan = wheel.steering.rearmed(sample)
        named.append(None if plan is None else list(plan.changes))
    assert named[:2] == [None, None]
    assert named[2] == [ColumnFamilyChange("default", {STOP: "50"})]


def test_a_pin_ends_and_the_option_goes_back() -> None:
    wheel = Wheel()
    pin = database(max_background_jobs=8)
    assert wheel.turn(pin) == pin
    assert wheel.turn(pin) == {}
    step = wheel.next()
    assert step.plan.sent == database(max_background_jobs=2)
    assert set(step.origins.values()) == {"baseline"}


def test_a_pin_ends_and_the_law_has_its_way_again() -> None:
    wheel = Wheel()
    wheel.want(database(max_background_jobs=4))
    wheel.turn(database(max_background_jobs=8))
    assert wheel.turn() == database(max_background_jobs=4)


def test_what_the_law_wants_no_longer_goes_back() -> None:
    wheel = Wheel()
    wheel.want(database(max_background_jobs=4))
    wheel.turn()
    wheel.steering.forget_wishes()
    assert wheel.turn() == database(max_background_jobs=2)
    assert wheel.turn() == {}


def test_what_the_law_turns_no_more_goes_back_but_not_what_another_of_its_knobs_carries() -> None:
    wheel = Wheel()
    pools = {of_pool("low"): "3", of_pool("high"): "2"}
    size = family(write_buffer_size=32 * MIB)
    wheel.want(pools | size | family(target_file_size_base=32 * MIB))
    wheel.turn()
    wheel.steering.keep_knobs({Knob.MEMTABLE_SIZE})
    assert wheel.steering.wanted == size
    back = {of_pool("low"): "2", of_pool("high"): "1"} | family(target_file_size_base=64 * MIB)
    assert wheel.turn() == back


def test_what_somebody_else_changes_meanwhile_of_their_own_is_left_alone() -> None:
    wheel = Wheel()
    wheel.turn(database(max_background_jobs=8))
    wheel.database.values |= family({STOP: 50})
    assert wheel.turn(database(max_background_jobs=8)) == {}


# -- half-way back


def test_the_stop_trigger_waits_for_the_slowdown_that_is_still_pinned() -> None:
    """Its own pin has ended, but 36 would be below a slowdown of 50."""
    wheel = Wheel()
    slowdown, stop = family({SLOWDOWN: 50}), family({STOP: 100})
    wheel.turn(slowdown | stop)
    step = wheel.next(slowdown)
    assert step.plan.changes == ()
    assert [refusal.guard for refusal in step.refusals] == ["order"]
    assert wheel.turn() == family({SLOWDOWN: 20, STOP: 36})


def test_a_law_that_is_in_the_way_of_a_restore_lets_go() -> None:
    wheel = Wheel()
    wheel.want(family({SLOWDOWN: 50}))
    wheel.turn(family({STOP: 100}))
    assert wheel.turn() == {}
    assert wheel.turn() == family({SLOWDOWN: 20, STOP: 36})


# -- the law's wishes


def test_a_decision_is_weighed_by_its_settings() -> None:
    wheel = Wheel()
    sample = wheel.database.sample()
    settings = (Setting(Knob.BACKGROUND_JOBS, 4), Setting(Knob.BATCH_SIZE, 1024 * MIB, "default"))
    wishes = wheel.guard(settings, {}, sample)
    assert wishes.settings == settings[:1]
    assert wishes.options == database(max_background_jobs=4)
    assert [note.guard for note in wishes.notes] == ["memory budget"]
    assert wheel.steering.wanted == {}, "weighing changes nothing"
    wheel.steering.take(wishes, sample.values)
    assert wheel.turn() == database(max_background_jobs=4)


def test_a_setting_of_a_family_that_has_gone_is_nothing() -> None:
    wheel = Wheel()
    guarded = wheel.guard((Setting(Knob.BATCH_SIZE, 64 * MIB, "gone"),), {}, wheel.database.sample())
    assert (guarded.settings, guarded.options, guarded.notes) == ((), {}, ())


def test_a_guards_word_on_a_pin_is_no_word_on_the_law() -> None:
    wheel = Wheel()
    jobs = (Setting(Knob.BACKGROUND_JOBS, 4),)
    wishes = wheel.guard(jobs, family(write_buffer_size=2048 * MIB), wheel.database.sample())
    assert wishes.settings == jobs
    assert wishes.notes == ()


def test_what_a_guard_refuses_later_is_no_longer_wanted() -> None:
    wheel = Wheel()
    wheel.want(OFF)
    wheel.turn()
    wheel.database.l0["default"] = 100
    step = wheel.next()
    assert step.plan.sent.items() > ON.items()
    assert [refusal.guard for refusal in step.refusals] == ["compaction"]
    assert wheel.steering.wanted == {}


# -- compaction


def test_a_pin_holds_compaction_off_only_within_the_limits() -> None:
    wheel = Wheel()
    is_on = []
    for _ in range(24):
        wheel.turn(OFF)
        is_on.append(wheel.database.is_on("default"))
    # Off from the first turn on, seen so from the second; off again when all has been carried away, which it is here.
    assert [turn for turn, on in enumerate(is_on) if on] == [11, 23]


def test_a_host_that_has_compaction_off_itself_keeps_it_off_also_when_a_pin_says_the_same() -> None:
    wheel = Wheel(opened({SWITCH: "true"}, l0=5000))
    for pins in ({}, OFF, OFF, {}):
        wheel.now_s += 100.0
        assert wheel.turn(pins) == {}


# -- what the database did not take


def test_what_was_rejected_is_not_sent_again_for_a_minute() -> None:
    wheel = Wheel()
    pin = database(max_background_jobs=8)
    assert wheel.next(pin).plan.sent == pin
    wheel.steering.rejected(pin, wheel.now_s)
    assert wheel.next(pin).plan.sent == {}
    assert wheel.next(database(max_background_jobs=7)).plan.sent == database(max_background_jobs=7)
    wheel.now_s += 58.0
    assert wheel.next(pin).plan.sent == pin


def test_the_law_forgets_what_was_rejected_and_decides_anew() -> None:
    wheel = Wheel()
    jobs = database(max_background_jobs=8)
    wheel.want(jobs)
    wheel.steering.rejected(jobs, wheel.now_s)
    assert wheel.steering.wanted == {}


def test_what_is_left_out_as_rejected_is_left_out_before_the_guards() -> None:
    """Slowdown 60 without the stop trigger of 100 that was rejected would be out of order."""
    wheel = Wheel()
    wheel.steering.rejected(family({SLOWDOWN: 50, STOP: 100}), wheel.now_s)
    step = wheel.next(family({SLOWDOWN: 60, STOP: 100}))
    assert step.plan.changes == ()
    assert [refusal.guard for refusal in step.refusals] == ["order"]


def test_what_could_not_be_sent_leaves_what_was_wanted_before() -> None:
    wheel = Wheel()
    four, eight = database(max_background_jobs=4), database(max_background_jobs=8)
    nothing = want(wheel.steering, four)
    before = want(wheel.steering, eight)
    wheel.steering.take_back(before)
    assert wheel.next().plan.sent == four
    wheel.steering.take_back(nothing)
    assert wheel.steering.wanted == {}


def test_a_wish_for_what_is_in_force_stands_even_if_the_rest_of_the_decision_could_not_be_sent() -> None:
    """It needs no sending: with the former wish back, what the law had changed its mind about would be sent later."""
    wheel = Wheel()
    wheel.turn(database(max_background_jobs=8))
    want(wheel.steering, database(max_background_jobs=2))
    sample = wheel.database.sample()
    settings = (Setting(Knob.BACKGROUND_JOBS, 8), Setting(Knob.SUBCOMPACTIONS, 4))
    taken = wheel.steering.take(wheel.guard(settings, {}, sample), sample.values)
    wheel.steering.take_back(taken)
    assert wheel.steering.wanted == database(max_background_jobs=8)


# -- restores alone


def test_only_what_leads_back() -> None:
    """What the journal cannot remember is not begun, and what it knows goes back."""
    wheel = Wheel()
    wheel.turn(database(max_background_jobs=8))
    only = wheel.next(family(max_write_buffer_number=4), "back")
    assert only.plan.sent == database(max_background_jobs=2)
    assert set(only.origins.values()) == {"baseline"}


def test_only_what_leads_back_in_order() -> None:
    """Together slowdown 11 and the original stop of 12 were in order; the stop alone would be below slowdown 20."""
    wheel = Wheel(opened({SLOWDOWN: 10, STOP: 12}))
    wheel.turn(family({SLOWDOWN: 20, STOP: 36}))
    step = wheel.next(family({SLOWDOWN: 11}))
    assert step.plan.sent == family({SLOWDOWN: 11, STOP: 12})
    only = wheel.next(family({SLOWDOWN: 11}), "back")
    assert only.plan.changes == ()
    assert [refusal.guard for refusal in only.refusals] == ["order"]


def test_compaction_comes_back_staged_also_when_only_restores_go_on() -> None:
    wheel = Wheel()
    wheel.turn(OFF)
    wheel.database.l0["default"] = 50
    only = wheel.next(scope="back")
    assert only.plan.sent == ON | family({STOP: 1 << 30})


@pytest.mark.parametrize("held", [True, False])
def test_the_way_back_is_silent_on_what_the_host_has_changed(held: bool) -> None:
    """It is the host's, before and after."""
    wheel = Wheel()
    if held:
        wheel.turn(family(write_buffer_size=128 * MIB))
    wheel.database.values |= family({STOP: 50})
    step = wheel.next(family(write_buffer_size=128 * MIB) | database(max_background_jobs=3))
    assert step.plan.restore[0].change.wanted() == {"write_buffer_size": str(64 * MIB)}
