"""When an agent owes an answer, and for how long."""

from __future__ import annotations

from adocd.daemon.control.silence import Silence


class Clock:
    """Stands where the test says."""

    now_s = 100.0

    def __call__(self) -> float:
        """Read it."""
        return self.now_s


def test_an_answer_is_owed_half_a_second_after_it_was_asked_for() -> None:
    clock = Clock()
    silence = Silence(clock)
    owed = [silence.owed_s]
    silence.asked()
    for _ in range(2):
        clock.now_s += 0.375
        owed.append(silence.owed_s)
    silence.answered()
    assert [*owed, silence.owed_s] == [None, None, 0.75, None]


def test_a_silence_lasts_through_further_questions_until_an_answer() -> None:
    clock = Clock()
    silence = Silence(clock)
    for asked_s in range(3):
        clock.now_s = 100.0 + 3 * asked_s
        silence.asked()
        clock.now_s += 2
        assert silence.found() == 3 * asked_s + 2
        silence.given_up()
        clock.now_s += 1
        assert silence.owed_s == 3 * asked_s + 3
    silence.answered()
    assert silence.owed_s is None


def test_what_is_not_asked_any_more_owes_nothing() -> None:
    """The database was closed, or what came was no answer."""
    clock = Clock()
    silence = Silence(clock)
    silence.asked()
    silence.given_up()
    clock.now_s += 60
    assert silence.owed_s is None
