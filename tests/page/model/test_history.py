"""Shares of time, from a target's history."""

from __future__ import annotations

import pytest

from adocd.api.web.page.model import history
from adocd.api.web.page.model.history import held
from tests.page.points import held_points, point


def test_a_span_is_weighted_by_the_time_that_each_point_measured() -> None:
    points = [point(10, 10, stopped_fraction=0.5, writes_per_s=100.0), point(12, 2, stopped_fraction=0.0)]
    found = held(points, 0, 12)
    assert found.measured_s == 12
    assert found.share == pytest.approx(5 / 12)
    assert found.writes_per_s == pytest.approx((1000 + 2000) / 12)


def test_a_point_on_the_edge_counts_by_the_part_within() -> None:
    found = held([point(60, 60, delayed_fraction=0.5)], 30, 100)
    assert found.measured_s == 30
    assert found.share == pytest.approx(0.5)


def test_stopped_and_delayed_add_up_to_the_share_and_causes_are_told() -> None:
    found = held(held_points(0, 10, 0.2, 0.3), 0, 10)
    assert found.share == pytest.approx(0.5)
    assert found.by_cause == pytest.approx({"l0": 0.5})
    assert found.worst_cause == "l0"


def test_what_stall_events_miss_is_known_by_its_cause() -> None:
    assert held([point(1, stalled_by_cause={"memtable": 0.25})], 0, 1).share == pytest.approx(0.25)
    assert held([point(1, stalled_by_cause={"memtable": 0.75, "l0": 0.75})], 0, 1).share == 1.0


def test_nothing_measured_is_no_share_of_anything() -> None:
    found = held([], 0, 10)
    assert (found.measured_s, found.share, found.worst_cause, found.writes_per_s) == (0, 0, None, None)


def test_unknown_figures_are_left_out() -> None:
    unknown = point(1, writes_per_s=None, stopped_fraction=None, delayed_fraction=None, stalled_by_cause=None)
    assert held([unknown], 0, 1).writes_per_s is None


def test_a_small_chart_has_equal_parts_and_a_stall_is_in_its_own() -> None:
    parts = history.slots(held_points(0, 60, 0.0) + held_points(60, 80, 1.0) + held_points(80, 100, 0.0), 0, 100, 5)
    assert [round(part.share, 2) for part in parts] == [0, 0, 0, 1, 0]


def test_what_is_new_takes_the_place_of_what_has_grown() -> None:
    older = [point(1), point(2), point(2.5, 0.5, l0_files=4)]
    newer = [point(3, 1.0, l0_files=5), point(4)]
    assert [each["unix_s"] for each in history.joined(older, newer, 0)] == [1, 2, 3, 4]
    assert [each["unix_s"] for each in history.joined(older, newer, 2)] == [2, 3, 4]
    assert history.joined(older, [], 2) == older[1:]


def test_the_knobs_that_were_turned_are_drawn_and_else_the_usual_ones() -> None:
    still = {"background_jobs": 2, "max_background_jobs": 2, "write_buffer_size": 1, "max_subcompactions": -1}
    points = [point(1, knobs=still), point(2, knobs=still)]
    assert history.knobs_to_draw(points, 4) == ["background_jobs", "write_buffer_size"]
    turned = [*points, point(3, knobs=still | {"write_buffer_size": 2})]
    assert history.knobs_to_draw(turned, 4) == ["write_buffer_size"]
    assert history.knobs_to_draw([point(1, knobs=None)], 4) == []
