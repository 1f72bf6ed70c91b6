"""What others had of the processors in the measured phase alone."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from adocd_bench.evaluation import cpu_looks
from adocd_bench.evaluation.cpu_looks import CpuLooks
from adocd_bench.host.noise import CpuTimes


def busy(at_s: float, others_s: float) -> CpuTimes:
    """Two processors, of which we have a tenth of one in each second."""
    return CpuTimes(2 * at_s, 0.1 * at_s + others_s, 0.0, 0.1 * at_s, 0.0)


@pytest.fixture
def looked(monkeypatch: pytest.MonkeyPatch) -> CpuLooks:
    """Look every 5 s of 700; others had a whole processor from the 20th second to the 60th."""
    times = [5.0 * step for step in range(141)]
    clock, now = iter(times), 0.0

    def monotonic() -> float:
        nonlocal now
        now = next(clock)
        return now

    monkeypatch.setattr(cpu_looks, "time", SimpleNamespace(monotonic=monotonic))
    monkeypatch.setattr(cpu_looks, "cpu_times", lambda: busy(now, min(max(now - 20.0, 0.0), 40.0)))
    looks = CpuLooks()
    for _ in times:
        looks.take()
    return looks


def test_a_long_drain_does_not_dilute_it(looked: CpuLooks) -> None:
    """Over the whole 700 s it is 3 %, which is no disturbance; of the phase's first minute it is a third."""
    assert looked.others_between(0.0, 700.0) == pytest.approx(40 / 1400)
    assert looked.others_between(0.0, 60.0) == pytest.approx(40 / 120)
    assert looked.others_between(22.5, 57.5) == pytest.approx(0.5), "linearly between two looks"
    assert looked.others_between(100.0, 160.0) == pytest.approx(0.0)


def test_what_was_not_seen_is_not_known(looked: CpuLooks) -> None:
    assert looked.others_between(-0.1, 60.0) is None
    assert looked.others_between(600.0, 700.1) is None
    assert CpuLooks().others_between(0.0, 1.0) is None


def test_it_goes_through_all_processes_no_more_often_than_every_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now, read = 0.0, list[float]()
    monkeypatch.setattr(cpu_looks, "time", SimpleNamespace(monotonic=lambda: now))
    monkeypatch.setattr(cpu_looks, "cpu_times", lambda: read.append(now))
    looks = CpuLooks()
    for step in range(13):
        now = step / 2
        looks.look()
    assert read == [0.0, 2.0, 4.0, 6.0]
    now = 6.1
    looks.take()
    assert read[-1] == 6.1, "the end of a run is seen"
