"""Each target has its own moment: spread evenly, the same each time, and kept to."""

from __future__ import annotations

import pytest

from adocd.daemon.control import pace


def test_phases_are_spread_evenly_and_the_same_after_a_restart() -> None:
    phases = [pace.phase_of(f"{number * 0x9E3779B97F4A7C15 % 2**64:016x}") for number in range(1000)]
    by_tenth = [sum(int(phase * 10) == tenth for phase in phases) for tenth in range(10)]
    assert min(by_tenth) > 60
    assert max(by_tenth) < 140
    assert pace.phase_of("5c2a9f0e5d1b7e34") == pytest.approx(0.5420, abs=1e-4)


@pytest.mark.parametrize("tick_s", [0.1, 1.0, 7.0])
@pytest.mark.parametrize("phase", [0.0, 0.3, 0.999, 1.4])
def test_it_comes_to_its_moment_and_stays_there(tick_s: float, phase: float) -> None:
    began_s = 12345.678
    for _ in range(12):
        due_s = pace.due_after_s(began_s, tick_s, phase)
        assert 0.949 * tick_s < due_s - began_s < 1.051 * tick_s
        began_s = due_s
    for _ in range(5):
        due_s = pace.due_after_s(began_s, tick_s, phase)
        assert due_s - began_s == pytest.approx(tick_s)
        assert (due_s / tick_s - phase + 0.5) % 1 == pytest.approx(0.5, abs=1e-6)
        began_s = due_s


def test_a_cycle_that_was_late_makes_the_next_not_late() -> None:
    assert pace.due_after_s(100.02, 1.0, 0.0) == pytest.approx(101.0)
    assert pace.due_after_s(100.4, 1.0, 0.0) == pytest.approx(101.35), "a law's window must not be too short"
    assert pace.due_after_s(100.6, 1.0, 0.0) == pytest.approx(101.65), "it has missed one"


def test_a_cycle_that_an_event_wakes_does_not_move_the_next() -> None:
    assert pace.due_after_woken_s(100.3, 101.0, 1.0) == 101.0
    assert pace.due_after_woken_s(100.95, 101.0, 1.0) == 102.0, "it took the place of the next"
    assert pace.apart_s(1.0) == pytest.approx(0.1)
    assert pace.apart_s(0.2) == pytest.approx(0.05), "an agent reuses a snapshot for 50 ms"
    assert pace.apart_s(0.02) == pytest.approx(0.02)
