"""Shares of time in which writers were held."""

from __future__ import annotations

import pytest

from adocd.diagnosis.held import held
from tests.diagnosis.writers import held_points, measured


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
