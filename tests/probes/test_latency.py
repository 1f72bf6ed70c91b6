"""Where the time of writes comes from, and what is said where there is none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adocd.model.capabilities import Capabilities
from adocd.model.latency import WRITE_MICROS, LatencyTotals, WriteLatency
from adocd.model.snapshot import HistogramTotals, Snapshot
from adocd.probes.statistics import StatisticsProbe
from tests.builders import CAPABILITIES, snapshot

ONLY_MEAN = HistogramTotals(count=10, sum=500)


def window(first: Snapshot, capabilities: Capabilities = CAPABILITIES, **later: object) -> WriteLatency:
    """Make the sample of two snapshots, a second apart."""
    probe = StatisticsProbe(capabilities)
    assert probe.sample(first) is None
    sample = probe.sample(replace(first, sequence=2, monotonic_s=first.monotonic_s + 1, **later))  # type: ignore[arg-type]
    assert sample is not None
    assert sample.write_latency is not None
    return sample.write_latency


def test_the_sampler_wins_over_statistics() -> None:
    first = snapshot(write_latency=LatencyTotals(32, 0.02, (1000,), (64,)), histograms={WRITE_MICROS: ONLY_MEAN})
    found = window(first, write_latency=LatencyTotals(32, 0.02, (1000, 9000), (96, 32)))
    assert (found.source, found.count, found.why) == ("agent sampler", 64, None)
    assert found.max_s == pytest.approx(9e-6)


def test_statistics_have_the_mean_of_a_window_alone() -> None:
    found = window(
        snapshot(histograms={WRITE_MICROS: ONLY_MEAN}), histograms={WRITE_MICROS: HistogramTotals(count=14, sum=900)}
    )
    assert (found.source, found.count) == ("statistics", 4)
    assert found.mean_s == pytest.approx(100e-6)
    assert found.p50_s is found.p99_s is found.p99_9_s is found.max_s is None
    assert "only the mean is known" in str(found.why)


@pytest.mark.parametrize(
    ("capabilities", "first", "why"),
    [
        (replace(CAPABILITIES, write_latency="off"), snapshot(), "ADOCD_AGENT_LATENCY=off"),
        (CAPABILITIES, snapshot(), "this agent does not time writes"),
        (Capabilities(), snapshot(), "a directory is only observed"),
        (CAPABILITIES, snapshot(histograms={}), "no write has ended"),
    ],
)
def test_otherwise_it_says_why(capabilities: Capabilities, first: Snapshot, why: str) -> None:
    found = window(first, capabilities)
    assert why in str(found.why)
    assert found == WriteLatency(why=found.why)
