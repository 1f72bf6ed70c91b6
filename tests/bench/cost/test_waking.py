"""Events, and what the daemon's first look after each has led to."""

from __future__ import annotations

import pytest
from adocd_bench.cost.measured import RateCost, Waking, WakingRun
from adocd_bench.cost.waking import LawLooked, answered

from adocd.model.snapshot import Event

FLIGHT, NOTHING = "an earlier change was still in flight", "the law had nothing to change"


def stall(at_s: float) -> Event:
    return Event(1, at_s, "stall", condition="delayed", previous="normal")


def test_an_event_is_answered_by_the_first_look_after_it() -> None:
    looked = [10.0, 11.0, 11.35, 12.0]
    decided = [LawLooked(11.35, 11.36, 0.02), LawLooked(12.0, 12.01, None)]
    events = [stall(9.0), stall(11.3), stall(11.9), stall(12.5)]
    woken, late = answered(events, looked, decided)
    assert (woken.kind, woken.monotonic_s, woken.why_not) == ("stall", 11.3, None)
    assert (woken.looked_s, woken.sent_s, woken.applied_s) == pytest.approx((0.05, 0.06, 0.08))
    assert late.sent_s == pytest.approx(0.11)
    assert late.applied_s is None, "its end was not seen"


@pytest.mark.parametrize(("sent_s", "why"), [(10.5, FLIGHT), (9.0, NOTHING)])
def test_an_event_without_a_change_says_why(sent_s: float, why: str) -> None:
    (found,) = answered([stall(10.9)], [10.0, 11.0], [LawLooked(9.0, sent_s, 0.6)])
    assert found.looked_s == pytest.approx(0.1)
    assert (found.sent_s, found.applied_s, found.why_not) == (None, None, why)


def test_figures_of_pairs() -> None:
    events = tuple(answered([stall(10.9), stall(11.9)], [10.0, 11.0, 12.0], [LawLooked(11.0, 11.02, 0.01)]))
    runs = [WakingRun(wakes, 20.0, 5000.0, 0.01 + wakes / 100, 20 + 20 * wakes, 10, events) for wakes in (False, True)]
    found = Waking("cap-50", ((runs[0], runs[1]),), 0.25).figures()
    assert found["asleep"]["events"] == {"stall": 2}
    assert (found["asleep"]["answered"], found["asleep"]["not_answered"]) == (1, {NOTHING: 1})
    assert found["asleep"]["sent_s"] == {"p50": 0.12, "p90": 0.12, "max": 0.12}
    assert found["woken"]["samples_per_s"] == {"min": 2.0, "p50": 2.0, "max": 2.0}
    assert found["woken"]["daemon_cpu_s_per_s"]["p50"] == 0.02


def test_figures_of_rates() -> None:
    found = RateCost((0.001, 0.0, 0.0), (0.02, 0.03, 0.04), (0.018, 0.029, 0.039), 0.1).figures()
    assert found["whole_ms"] == {"p50": 30.0, "p90": 40.0, "max": 40.0}
    assert found["beside_ms"] == {"p50": 1.0, "p90": 3.0, "max": 3.0}
