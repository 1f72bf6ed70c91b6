"""How fast a law may move: off unless the policy says so."""

import pytest

from adocd.daemon.change.guards.guard import Note
from adocd.daemon.change.shaping import Shaper
from adocd.model.decision import Setting
from adocd.model.knob import MIB, Knob
from adocd.model.options import OUT_OF_THE_WAY
from adocd.model.policy import Shaping
from adocd.model.sample import Sample
from tests.builders import column_family, sample

JOBS = Knob.BACKGROUND_JOBS


def jobs(value: int) -> tuple[Setting, ...]:
    return (Setting(JOBS, value),)


def at(now_s: float, has: int = 4) -> Sample:
    return sample(monotonic_s=now_s, background_jobs=has)


def test_without_limits_nothing_is_held_back() -> None:
    """The published laws come without any."""
    shaper = Shaper(Shaping())
    for number, value in enumerate((128, 1, 128, 1)):
        assert shaper.shape(jobs(value), at(100.0 + number / 100)) == (jobs(value), ())
        shaper.carried_out(jobs(value), at(100.0 + number / 100))


@pytest.mark.parametrize(
    ("has", "wanted", "stepped"),
    [(4, 20, 6), (4, 6, 6), (4, 5, 5), (4, 1, 3), (12, 1, 8), (12, 11, 11), (1, 20, 2), (2, 1, 1)],
)
def test_a_step_is_at_most_so_many_times_but_never_nothing(has: int, wanted: int, stepped: int) -> None:
    settings, notes = Shaper(Shaping(step_factor=1.5)).shape(jobs(wanted), at(100.0, has))
    assert settings == jobs(stepped)
    words = f"background_jobs {wanted} is more than 1.5 times {has}"
    assert notes == (() if wanted == stepped else (Note("step", words),))


def test_what_is_in_force_is_said_whatever_the_pace() -> None:
    """It moves nothing: a law takes back what it asked for before, and what was held back must not come later."""
    shaper = Shaper(Shaping(pacing_s=5.0, refractory_s=30.0))
    shaper.carried_out(jobs(8), at(100.0))
    assert shaper.shape(jobs(8), at(102.0, has=8)) == (jobs(8), ())


def test_pacing_waits_after_every_decision() -> None:
    shaper = Shaper(Shaping(pacing_s=5.0))
    assert shaper.shape(jobs(6), at(100.0)) == (jobs(6), ())
    shaper.carried_out(jobs(6), at(100.0))
    assert shaper.shape(jobs(8), at(102.0, 6)) == (
        (),
        (Note("pacing", "the last decision was 2.0 s ago, 3.0 s to go"),),
    )
    assert shaper.shape(jobs(8), at(105.0, 6)) == (jobs(8), ())


def test_what_was_not_carried_out_or_changed_nothing_starts_no_wait() -> None:
    shaper = Shaper(Shaping(pacing_s=5.0))
    shaper.shape(jobs(6), at(100.0))
    shaper.carried_out(jobs(4), at(100.0))
    assert shaper.shape(jobs(6), at(101.0)) == (jobs(6), ())


def test_a_knob_does_not_turn_round_at_once() -> None:
    shaper = Shaper(Shaping(refractory_s=10.0))
    shaper.carried_out(jobs(6), at(100.0))
    assert shaper.shape(jobs(4), at(104.0, 6)) == (
        (),
        (Note("refractory", "background_jobs went up 4.0 s ago, and may not turn round yet"),),
    )
    assert shaper.shape(jobs(8), at(104.0, 6)) == (jobs(8), ()), "on the same way it may go on"
    assert shaper.shape(jobs(4), at(110.0, 6)) == (jobs(4), ())


def test_the_rate_of_delayed_writes_is_said_anew_whatever_the_limits() -> None:
    shaper = Shaper(Shaping(step_factor=1.5, pacing_s=5.0, refractory_s=30.0))
    shaper.carried_out(jobs(6), at(100.0))
    for rate in (8 * MIB, 8 * MIB + 1, 8 * MIB, 2 * MIB):
        wanted = Setting(Knob.DELAYED_WRITE_RATE, rate)
        settings, (note,) = shaper.shape((*jobs(8), wanted), at(102.0, 6))
        assert (settings, note.guard) == ((wanted,), "pacing"), "jobs wait, and the rate does not"
        shaper.carried_out((wanted,), at(102.0, 6))
    assert shaper.shape(jobs(8), at(105.0, 6)) == (jobs(8), ()), "the rate began no new wait"


def test_each_family_turns_by_itself() -> None:
    shaper = Shaper(Shaping(refractory_s=10.0))
    two = sample(column_family("a"), column_family("b"))
    grown = Setting(Knob.BATCH_SIZE, 128 * MIB, "a")
    shaper.carried_out((grown,), two)
    smaller = tuple(Setting(Knob.BATCH_SIZE, 32 * MIB, name) for name in ("a", "b", "gone"))
    kept, notes = shaper.shape(smaller, two)
    assert kept == smaller[1:], "what has gone is not this guard's business"
    assert len(notes) == 1


def test_what_goes_off_or_out_of_the_way_is_not_gone_to_in_steps() -> None:
    """Half of a soft limit is the opposite of none."""
    shaper = Shaper(Shaping(step_factor=2.0))
    settings = (
        Setting(Knob.SOFT_PENDING_LIMIT, 0, "default"),
        Setting(Knob.LEVEL0_STOP, OUT_OF_THE_WAY, "default"),
        Setting(Knob.AUTO_COMPACTION, 0, "default"),
    )
    assert shaper.shape(settings, sample()) == (settings, ())


def test_a_limit_that_is_taken_away_has_gone_up() -> None:
    shaper = Shaper(Shaping(refractory_s=10.0))
    off = (Setting(Knob.SOFT_PENDING_LIMIT, 0, "default"),)
    shaper.carried_out(off, at(100.0))
    later = sample(column_family(soft_pending_compaction_bytes_limit=0), monotonic_s=104.0)
    kept, notes = shaper.shape((Setting(Knob.SOFT_PENDING_LIMIT, MIB, "default"),), later)
    assert kept == ()
    assert notes == (Note("refractory", "soft_pending_limit went up 4.0 s ago, and may not turn round yet"),)
