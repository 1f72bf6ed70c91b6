"""A change whose answer was lost may go on in the agent."""

from __future__ import annotations

from adocd.daemon.control.flight import Flight


def test_the_first_snapshot_after_a_lost_answer_is_not_trusted() -> None:
    now_s = 5.0
    flight = Flight(lambda: now_s)
    assert not flight.goes_on(in_agent=False)
    flight.answer_lost()
    assert flight.goes_on(in_agent=False)
    assert not flight.is_seen_by(4.9)
    assert flight.is_seen_by(5.0)
    assert not flight.goes_on(in_agent=False)


def test_nor_is_the_first_one_that_no_longer_knows_of_a_change() -> None:
    flight = Flight(lambda: 5.0)
    assert [flight.goes_on(in_agent=in_agent) for in_agent in (True, True, False, False)] == [True, True, True, False]
