"""The rate limiter's law against RocksDB's own integers, with what it does when somebody else turns the limiter."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.controllers import registry
from adocd.controllers.mimd import DRAINS
from adocd.model.knob import Knob
from adocd.model.policy import Policy
from adocd.model.values import RATE_LIMITER
from tests.controllers.laws import MB, RATE, Plant, make, settings

MAX = 400 * MB


def after_the_first_step(drains: int, interval_s: float = 10.0) -> int | None:
    """How the law goes on from max / 2 with so many drains in a window."""
    law, plant = make("mimd"), Plant()
    assert settings(plant.step(law)) == {Knob.RATE_LIMIT: MAX // 2}
    plant.tickers = {}
    sample = plant.sample(interval_s)
    object.__setattr__(sample, "ticker_increases", {DRAINS: drains})
    return settings(law.step(sample)).get(Knob.RATE_LIMIT)


@pytest.mark.parametrize(
    ("drains", "rate"),
    [
        (0, MAX // 20),
        (1, 190476190),  # 200,000,000 x 100 / 105
        (49, 190476190),
        (50, None),
        (90, None),
        (91, 210000000),  # 200,000,000 x 105 / 100
        (100, 210000000),
    ],
)
def test_the_table(drains: int, rate: int | None) -> None:
    assert after_the_first_step(drains) == rate


def test_elapsed_periods_are_rounded_up() -> None:
    """10.01 s are 101 periods of 100 ms: 91 drains are 90 %, and 92 are 91 %."""
    assert after_the_first_step(91, 10.01) is None
    assert after_the_first_step(92, 10.01) == 210000000


def test_it_is_asked_every_hundred_refill_periods() -> None:
    assert make("mimd").period_s == 10.0
    assert make("mimd", refill_period_ms=20).period_s == 2.0


def test_it_ends_at_its_bounds() -> None:
    law, plant = make("mimd"), Plant()
    for drains, end in ((10, MAX), (1, MAX // 20)):
        plant.tickers = {DRAINS: drains}
        for _ in range(70):
            plant.step(law)
        assert plant.values[RATE_LIMITER] == str(end)


@pytest.mark.parametrize("drains", [0, 20, 60, 95])
def test_more_drains_never_mean_a_lower_rate(drains: int) -> None:
    now = MAX // 2
    assert (after_the_first_step(drains) or now) <= (after_the_first_step(drains + 5) or now)


def test_a_rate_that_moves_by_itself_stops_it() -> None:
    law, plant = make("mimd"), Plant()
    plant.step(law)
    plant.values[RATE_LIMITER] = "123456789"
    assert plant.step(law) is None
    assert law.declined is not None
    assert "the limiter's rate is 123456789 bytes/s, and nothing of ours set it: its auto_tuned is on" in law.declined
    plant.values[RATE_LIMITER] = str(MAX // 2)
    assert plant.step(law) is None, "it stays stopped until the policy is set again"


def test_a_pin_is_not_rocksdbs_own_tuning_and_once_it_has_ended_the_law_works_again() -> None:
    law, plant = make("mimd"), Plant()
    plant.step(law)
    plant.values[RATE_LIMITER] = str(50 * MB)
    pinned = replace(plant.sample(10.0), pinned=frozenset({RATE_LIMITER}))
    for _ in range(2):
        assert law.step(pinned) is None
        assert law.declined is not None
        assert "pinned" in law.declined
    assert settings(plant.step(law)) == {Knob.RATE_LIMIT: MAX // 2}, "it begins anew"
    assert law.declined is None
    assert settings(plant.step(law)) == {Knob.RATE_LIMIT: MAX // 20}


def test_a_pin_does_not_make_good_a_rate_that_moves_by_itself() -> None:
    law, plant = make("mimd"), Plant()
    plant.step(law)
    plant.values[RATE_LIMITER] = str(399 * MB)
    plant.step(law)
    assert law.step(replace(plant.sample(10.0), pinned=frozenset({RATE_LIMITER}))) is None
    assert plant.step(law) is None
    assert law.declined is not None
    assert "auto_tuned" in law.declined


def test_a_step_that_the_judge_takes_back_does_not() -> None:
    """200, 210, 220.5 and 231.5 MB/s; then 210 again, and the law goes on from there."""
    law, plant = make("mimd"), Plant()
    plant.tickers = {DRAINS: 10}
    for _ in range(4):
        plant.step(law)
    assert plant.values[RATE_LIMITER] == "231525000"
    plant.values[RATE_LIMITER] = str(210 * MB)
    assert settings(plant.step(law)) == {Knob.RATE_LIMIT: 220_500_000}
    assert law.declined is None


def test_a_step_that_was_held_back_does_not() -> None:
    law, plant = make("mimd"), Plant()
    sample = plant.sample(10.0)
    law.step(sample)
    plant.values[RATE_LIMITER] = str((RATE + MAX // 2) // 2)
    plant.step(law)
    assert law.declined is None


@pytest.mark.parametrize(("left_at", "drains", "rate"), [(600, 2, MAX), (600, 10, MAX), (4, 10, MAX // 20)])
def test_a_step_that_was_held_back_outside_of_the_bounds_comes_back_into_them(
    left_at: int, drains: int, rate: int
) -> None:
    law, plant = make("mimd"), Plant()
    plant.values[RATE_LIMITER] = str(800 * MB if left_at > 400 else 2 * MB)
    law.step(plant.sample(10.0))
    plant.values[RATE_LIMITER] = str(left_at * MB)
    plant.tickers = {DRAINS: drains}
    assert settings(plant.step(law)) == {Knob.RATE_LIMIT: rate}


def test_a_rate_that_was_given_back_begins_it_anew() -> None:
    """A pause leads back to the owner's rate."""
    law, plant = make("mimd"), Plant()
    plant.tickers = {DRAINS: 10}
    for _ in range(4):
        plant.step(law)
    plant.values[RATE_LIMITER] = str(RATE)
    assert settings(plant.step(law)) == {Knob.RATE_LIMIT: MAX // 2}
    assert law.declined is None


def test_the_maximum_is_the_operators_to_say() -> None:
    with pytest.raises(registry.PolicyError, match=r"mimd needs the parameter max_bytes_per_s \(what the device can"):
        registry.create(Policy("mimd"))


def test_a_first_step_that_was_refused_is_asked_for_again() -> None:
    """Else the law would tune on from the owner's rate, as if it had begun there."""
    law, plant = make("mimd"), Plant()
    plant.tickers = {DRAINS: 10}
    for _ in range(3):
        decision = law.step(plant.sample(10.0))
        assert decision is not None
        assert decision.rule == "mimd.begin"
    plant.do(decision, plant.sample(1.0))
    assert settings(plant.step(law)) == {Knob.RATE_LIMIT: MAX // 2 * 105 // 100}


def test_an_owner_whose_rate_is_half_of_the_maximum_has_begun() -> None:
    law, plant = make("mimd", max_bytes_per_s=2 * RATE), Plant()
    plant.tickers = {DRAINS: 10}
    assert settings(plant.step(law)) == {}
    assert settings(plant.step(law)) == {Knob.RATE_LIMIT: RATE * 105 // 100}
