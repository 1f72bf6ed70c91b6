"""Who writes when."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.simulator.workload import WORKLOADS, Alternating, BadWorkload, Sine, workload

MEAN = 40e6


def integral(name: str, until_s: float) -> float:
    """Add up what arrives, from change to change."""
    load, now_s, total = workload(name, MEAN), 0.0, 0.0
    while now_s < until_s:
        next_s = min(until_s, load.next_change_s(now_s))
        total += load.rate(now_s) * (next_s - now_s)
        now_s = next_s
    return total


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_rate_given_is_the_mean(name: str) -> None:
    assert integral(name, 3600.0) == pytest.approx(MEAN * 3600, rel=1e-9)


@given(st.sampled_from(WORKLOADS), st.integers(0, 10**8).map(lambda milliseconds: milliseconds / 1000))
def test_changes_lie_ahead_and_rates_hold_until_then(name: str, now_s: float) -> None:
    load = workload(name, MEAN)
    next_s = load.next_change_s(now_s)
    assert next_s > now_s
    assert load.rate(now_s) >= 0
    if next_s < 1e9:
        assert load.rate(now_s + (next_s - now_s) * 0.999) == load.rate(now_s)


def test_a_sine_goes_down_to_nothing_and_up_to_twice_the_mean() -> None:
    sine = Sine(MEAN, period_s=600.0)
    rates = [sine.rate(second) for second in range(600)]
    assert min(rates) < MEAN * 0.01
    assert max(rates) > MEAN * 1.99


def test_peaks_and_valleys_alternate_at_their_edges() -> None:
    load = Alternating(1.0, 9.0, period_s=100.0, high_share=0.25)
    changes = list(itertools.accumulate(range(5), lambda now_s, _: load.next_change_s(now_s), initial=0.0))
    assert changes == [0, 75, 100, 175, 200, 275]
    assert [load.rate(each) for each in changes] == [1, 9, 1, 9, 1, 9]


@pytest.mark.parametrize(("name", "rate", "words"), [("gale", None, "closed-loop, constant"), ("sine", 0.0, "not 0")])
def test_what_makes_no_sense_is_refused(name: str, rate: float | None, words: str) -> None:
    with pytest.raises(BadWorkload, match=words):
        workload(name, rate)
