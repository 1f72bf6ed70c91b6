"""Small charts and joined points, from a target's history as REST gives it."""

from __future__ import annotations

from adocd.api.web.page.model import history
from adocd.model.options import BYTES_PER_SYNC_OFF
from tests.page.points import held_points, point


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
    assert history.knobs_to_draw(points) == ["background_jobs", "write_buffer_size"]
    turned = [*points, point(3, knobs=still | {"write_buffer_size": 2})]
    assert history.knobs_to_draw(turned) == ["write_buffer_size"]
    off = [point(1, knobs={"bytes_per_sync": value}) for value in (0, BYTES_PER_SYNC_OFF)]
    assert history.knobs_to_draw([*turned, *off]) == ["write_buffer_size"], "it is off all the time"
    assert history.knobs_to_draw([point(1, knobs=None)]) == []
