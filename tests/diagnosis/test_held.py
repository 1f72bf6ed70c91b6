"""Shares of time in which writers were held."""

from __future__ import annotations

import pytest

from adocd.diagnosis import Diagnosis
from adocd.diagnosis.held import held
from adocd.probes.log import LogParser
from tests.diagnosis.writers import held_points, measured
from tests.probes.log.lines import line

from .logs import BEGIN_S, flushed, opened, stall


def test_a_span_is_weighted_by_the_time_that_each_point_measured() -> None:
    points = [measured(10, 10, stopped_fraction=0.5, writes_per_s=100.0), measured(12, 2, stopped_fraction=0.0)]
    found = held(points, 0, 12)
    assert found.measured_s == 12
    assert found.share == pytest.approx(5 / 12)
    assert found.writes_per_s == pytest.approx((1000 + 2000) / 12)


def test_a_point_on_the_edge_counts_by_the_part_within() -> None:
    found = held([measured(60, 60, delayed_fraction=0.5)], 30, 100)
    assert found.measured_s == 30
    assert found.share == pytest.approx(0.5)


def test_stopped_and_delayed_add_up_to_the_share_and_causes_are_told() -> None:
    found = held(held_points(0, 10, 0.2, 0.3), 0, 10)
    assert found.share == pytest.approx(0.5)
    assert found.by_cause == pytest.approx({"l0": 0.5})
    assert found.worst_cause == "l0"


def test_what_stall_events_miss_is_known_by_its_cause() -> None:
    assert held([measured(1, stalled_by_cause={"memtable": 0.25})], 0, 1).share == pytest.approx(0.25)
    assert held([measured(1, stalled_by_cause={"memtable": 0.75, "l0": 0.75})], 0, 1).share == 1.0


def test_nothing_measured_is_no_share_of_anything() -> None:
    found = held([], 0, 10)
    assert (found.measured_s, found.share, found.worst_cause, found.writes_per_s) == (0, 0, None, None)


def test_unknown_figures_are_left_out() -> None:
    unknown = measured(1, writes_per_s=None, stopped_fraction=None, delayed_fraction=None, stalled_by_cause=None)
    assert held([unknown], 0, 1).writes_per_s is None


L0 = "we have 20 level-0 files rate 8388608"


def learned(*written: bytes) -> Diagnosis:
    parser, diagnosis = LogParser(), Diagnosis()
    for event in (*parser.feed(b"".join(written)), *parser.finish()):
        diagnosis.add(event)
    diagnosis.end()
    return diagnosis


def changed(at_s: float) -> bytes:
    lines = ("SetDBOptions(), inputs:", "max_background_jobs: 8", "SetDBOptions() succeeded")
    return b"".join(line(each, BEGIN_S + at_s) for each in lines)


@pytest.mark.parametrize(
    ("until", "span_s", "share", "measured_s"), [(100, 100, 0.3, 100), (100, 60, 0.0, 60), (25, 20, 0.75, 20)]
)
def test_a_log_tells_of_the_time_before(until: float, span_s: float, share: float, measured_s: float) -> None:
    """Writes were delayed from 10 to 40 s; a stall is seen only up to the time in question."""
    log = learned(opened(), stall(10, L0), flushed(40), flushed(100))
    found = log.held_before(BEGIN_S + until, span_s)
    assert found is not None
    assert [found.measured_s, found.share] == pytest.approx([measured_s, share])
    assert found.by_cause.get("l0", 0.0) == pytest.approx(share)


def test_it_tells_only_of_the_time_before_the_first_change_of_an_option() -> None:
    log = learned(opened(), stall(10, L0), flushed(40), changed(50), flushed(100))
    found = log.held_before(BEGIN_S + 100, 1000)
    assert found is not None
    assert [found.measured_s, found.share] == pytest.approx([50, 0.6])


def test_it_tells_nothing_of_another_open() -> None:
    log = learned(opened(), stall(10, L0), flushed(40), opened(at_s=60), flushed(100))
    assert log.held_before(BEGIN_S + 60, 1000) is None
    assert learned(flushed(10), flushed(20)).held_before(BEGIN_S + 20, 10) is None


def test_the_next_file_of_a_rotated_log_is_the_same_open() -> None:
    log = learned(
        opened(session="S1"), stall(10, L0), flushed(40), opened(at_s=60, session="S1", info=False), flushed(100)
    )
    found = log.held_before(BEGIN_S + 100, 1000)
    assert found is not None
    assert [found.measured_s, found.share] == pytest.approx([100, 0.3])


def test_a_log_of_warnings_tells_nothing() -> None:
    """It has stalls and not their ends, or not even those."""
    assert learned(opened(info=False), stall(10, L0), stall(40, L0)).held_before(BEGIN_S + 100, 10) is None
    assert learned(opened(info=False)).held_before(BEGIN_S + 100, 10) is None
