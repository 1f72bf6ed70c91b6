"""How long writers waited, from dumps and from an agent's counter, which may both tell of the same time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.diagnosis.waited import SPELLS_MOST, Waited


def test_nothing_is_unknown() -> None:
    waited = Waited()
    assert (waited.total_s, waited.until_s, waited.between(0, 100)) == (None, None, None)


def test_an_agent_counts_each_window_from_its_second_word_on() -> None:
    waited = Waited()
    waited.counted("s1", 100.0, 7.0)
    assert (waited.total_s, waited.until_s, waited.between(0, 200)) == (7.0, 100.0, None)
    waited.counted("s1", 102.0, 8.0)
    assert (waited.total_s, waited.until_s, waited.between(101.0, 200)) == (8.0, 102.0, 0.5)
    waited.counted("s2", 110.0, 9.0)
    assert waited.total_s == 17.0, "of both opens"
    waited.counted("s2", 111.0, 0.25)
    assert waited.total_s == 17.25, "it was set back, and grew by what it shows"
    assert waited.between(110.0, 111.0) == 0.25


def test_a_log_that_is_late_tells_nothing_twice() -> None:
    waited = Waited()
    waited.dumped(90.0, 3.0, 3.0, 30.0)
    waited.counted("s1", 100.0, 7.0)
    waited.counted("s1", 101.0, 7.5)
    waited.opened(0.0)
    waited.dumped(30.0, 0.0, 0.0, 0.0)
    waited.dumped(100.5, 7.2, 4.2, 90.0)
    assert (waited.total_s, waited.until_s) == (7.5, 101.0)
    assert waited.between(0.0, 30.0) == 0.0
    assert waited.between(30.0, 90.0) == 3.0
    assert waited.between(90.0, 100.0) is None
    assert waited.between(100.0, 101.0) == 0.5
    waited.dumped(700.0, 9.0, 1.8, 101.0)
    assert (waited.total_s, waited.until_s) == (9.0, 700.0), "the agent has gone"
    assert waited.between(101.0, 700.0) == pytest.approx(1.8)


@given(st.lists(st.tuples(st.floats(0.1, 10), st.floats(0, 10)), max_size=50))
def test_what_is_between_adds_up(steps: list[tuple[float, float]]) -> None:
    waited, at_s, total_s = Waited(), 0.0, 0.0
    waited.counted("s1", at_s, total_s)
    for step_s, grew_s in steps:
        at_s, total_s = at_s + step_s, total_s + grew_s
        waited.counted("s1", at_s, total_s)
    assert waited.total_s == pytest.approx(total_s)
    assert (waited.between(0, at_s) or 0.0) == pytest.approx(total_s)


def test_memory_is_bounded_and_the_sum_stays() -> None:
    waited = Waited()
    for at_s in range(3 * SPELLS_MOST):
        waited.counted("s1", float(at_s), at_s * 0.5)
    assert len(waited._spells) <= SPELLS_MOST
    assert waited.between(0.0, 1e9) == pytest.approx((3 * SPELLS_MOST - 1) * 0.5)
