"""Shapes of load as steps: what they offer, when, and traces that make no sense."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from adocd_bench.errors import BadArgument
from adocd_bench.load import arrivals
from adocd_bench.load.arrivals import ArrivalStep
from adocd_bench.load.ycsb import CORE
from hypothesis import given
from hypothesis import strategies as st


def test_constant() -> None:
    assert arrivals.constant(500, 30) == (ArrivalStep(30, 500),)


def test_the_thesis_sine_peaks_in_the_middle_and_offers_its_mean() -> None:
    """75 sin(pi/175 x + 3 pi/2) + 125 MB/s in values of 100 kB: from 500 to 2000 a second."""
    steps = arrivals.sine(500, 750, 350)
    rates = [step.operations_per_s for step in steps]
    assert len(steps) == 350
    assert min(rates) == pytest.approx(500, abs=1)
    assert max(rates) == rates[175] == pytest.approx(2000, abs=1)
    assert rates[87] == pytest.approx(750 * math.sin(math.pi / 175 * 87.5 + 3 * math.pi / 2) + 1250, abs=1)
    assert arrivals.mean_per_s(steps) == pytest.approx(1250)


def test_the_quiet_tail_goes_on_until_the_end() -> None:
    steps = arrivals.sine(500, 750, 350, quiet_per_s=100, until_s=700)
    assert steps[-1] == ArrivalStep(350, 100)
    assert arrivals.total_s(steps) == 700


@given(period_s=st.floats(1, 1000), step_s=st.floats(0.1, 50), swing=st.floats(0, 1e4), low=st.floats(0, 1e4))
def test_a_sine_offers_the_same_in_steps_of_any_length(
    period_s: float, step_s: float, swing: float, low: float
) -> None:
    steps = arrivals.sine(low, swing, period_s, step_s=step_s)
    assert arrivals.total_s(steps) == pytest.approx(period_s)
    assert arrivals.mean_per_s(steps) == pytest.approx(low + swing, rel=1e-6, abs=1e-6)


def test_the_stability_papers_burst() -> None:
    steps = arrivals.burst()
    assert steps[:3] == (ArrivalStep(1500, 2000), ArrivalStep(300, 8000), ArrivalStep(1500, 2000))
    assert arrivals.total_s(steps) == 7200
    assert arrivals.mean_per_s(steps) == pytest.approx(3000)


def test_silks_peaks_end_where_time_is_up() -> None:
    below, peak = ArrivalStep(10, 10_000), ArrivalStep(50, 40_000)
    assert arrivals.peaks(50, 130) == (below, peak, below, peak, below)
    assert arrivals.peaks(50, 15)[-1] == ArrivalStep(5, 40_000)


def test_scaled_keeps_the_times() -> None:
    assert arrivals.scaled((ArrivalStep(1, 10), ArrivalStep(2, 20)), 0.5) == (ArrivalStep(1, 5), ArrivalStep(2, 10))


def test_a_trace(tmp_path: Path) -> None:
    file = tmp_path / "trace.csv"
    file.write_text("seconds,operations_per_s\n1,100\n0.5,0\n\n2,30.5\n")
    assert arrivals.trace(file) == (ArrivalStep(1, 100), ArrivalStep(0.5, 0), ArrivalStep(2, 30.5))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must begin with the line seconds,operations_per_s"),
        ("1,100\n", "must begin with the line seconds,operations_per_s"),
        ("seconds,operations_per_s\n", "has no operation in it"),
        ("seconds,operations_per_s\n1,0\n", "has no operation in it"),
        ("seconds,operations_per_s\n1,100\n1\n", "line 3 of the trace .* must be two numbers"),
        ("seconds,operations_per_s\n1,many\n", "line 2 of the trace .* must be two numbers"),
        ("seconds,operations_per_s\n0,100\n", "line 2 .* seconds must be above 0"),
        ("seconds,operations_per_s\n1,-1\n", "line 2 .* operations_per_s 0 or more"),
        ("seconds,operations_per_s\nnan,1\n", "line 2 .* seconds must be above 0"),
        ("seconds,operations_per_s\n1,inf\n", "line 2 .* operations_per_s 0 or more"),
        (b"\xff\xfe\x00", "cannot be read: it is no CSV text"),
    ],
)
def test_traces_that_make_no_sense(tmp_path: Path, text: str | bytes, sentence: str) -> None:
    file = tmp_path / "trace.csv"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(BadArgument, match=sentence):
        arrivals.trace(file)


def test_a_trace_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadArgument, match="cannot be read: No such file"):
        arrivals.trace(tmp_path / "none.csv")


def test_every_core_workload_of_ycsb_is_there_and_whole() -> None:
    assert list(CORE) == list("abcdef")
    for core in CORE.values():
        mix = core.operations
        assert mix.read + mix.update + mix.insert + mix.scan + mix.read_modify_write == pytest.approx(1)
    assert [name for name, core in CORE.items() if core.distribution == "latest"] == ["d"]
