"""The figures that charts show: two tiers, thinned so that peaks survive, in bounded memory."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.daemon.watch.charted import charted
from adocd.daemon.watch.history import (
    REACH_S,
    History,
    Point,
    Resolution,
    measured_of,
    points_of,
    resolution_for,
    thinned,
)
from adocd.diagnosis.held import MeasuredSpan
from adocd.model.options import UNIVERSAL_COMPACTION
from tests.builders import column_family, sample

DAY_S = 86_400
NOW_S = 1_700_000_040.0  # a full minute
KNOBS = {"background_jobs": 2, "write_buffer_size": 64 << 20}


def point(unix_s: float, *, knobs: dict[str, int | None] | None = None, **figures: float) -> Point:
    members: dict[str, object] = {"writes_per_s": 100.0, "l0_files": 3, **figures}
    return Point(unix_s, 1.0, knobs=knobs or KNOBS, **members)  # type: ignore[arg-type]


def filled(seconds: int, first_s: float = NOW_S) -> History:
    history = History()
    for second in range(seconds):
        history.add(point(first_s + second, writes_per_s=float(second)))
    return history


def all_of(history: History, tier: Resolution) -> list[Point]:
    return list(points_of(history.read(tier), 0, 1e11))


def test_a_point_comes_back_as_it_was() -> None:
    whole = Point(
        unix_s=NOW_S,
        interval_s=1.0,
        writes_per_s=1234.5,
        stopped_fraction=0.25,
        stalled_by_cause={"l0": 0.25},
        l0_files=21,
        l0_slowdown_trigger=20,
        pending_compaction_bytes=3 << 30,
        soft_pending_compaction_bytes_limit=(64 << 30) + 1,
        device_busy_fraction=0.5,
        write_p50_s=0.125,
        write_max_s=1.25,
        knobs=KNOBS,
    )
    history = History()
    history.add(whole)
    assert all_of(history, "1s") == [whole]
    assert all_of(history, "1m") == [whole]


def test_what_it_says_of_writers_is_what_its_points_say() -> None:
    history = History()
    held = {"l0": 0.25, "other": 0.05}
    figures = {"stopped_fraction": 0.3, "delayed_fraction": 0.1, "write_p99_s": 0.5, "write_max_s": 2.5}
    history.add(point(NOW_S, stalled_by_cause=held, **figures))  # type: ignore[arg-type]
    history.add(Point(NOW_S + 1, 1.0))
    known, unknown = measured_of(history.read("1s"))
    assert known == MeasuredSpan(NOW_S, 1.0, 0.3, 0.1, {"l0": 0.25, "other": 0.05}, 100.0, 0.5, 2.5)
    assert unknown == MeasuredSpan(NOW_S + 1, 1.0, None, None, {}, None)


def test_each_tier_reaches_back_as_far_as_it_says() -> None:
    history = filled(3 * 3600)
    fine, coarse = all_of(history, "1s"), all_of(history, "1m")
    assert len(fine) == REACH_S["1s"] + 1, "with the one that is open"
    assert len(coarse) == 180
    assert [p.unix_s for p in fine] == sorted(p.unix_s for p in fine)
    first = coarse[0]
    assert (first.unix_s, first.interval_s) == (NOW_S + 59, 60.0)
    assert first.writes_per_s == pytest.approx(29.5, abs=0.1)


def test_a_day_of_seconds_and_no_more() -> None:
    history = History()
    for minute in range(2 * 1440):
        history.add(point(NOW_S + 60 * minute))
    assert len(all_of(history, "1m")) == 1441


def test_thinned_points_keep_peaks_and_the_mean() -> None:
    history = filled(600)
    history.add(point(NOW_S + 600, l0_files=40, writes_per_s=0.0))
    width_s, points = thinned(history.read("1s"), "1s", NOW_S, NOW_S + 600, 100)
    assert len(points) <= 100
    assert width_s == 7.0
    assert max(p.l0_files or 0 for p in points) == 40
    whole_s = sum(p.interval_s for p in points)
    mean = sum((p.writes_per_s or 0) * p.interval_s for p in points) / whole_s
    assert mean == pytest.approx(sum(range(600)) / 601, rel=1e-3)


def test_a_range_of_as_many_seconds_as_points_is_not_thinned() -> None:
    history = filled(600)
    width_s, points = thinned(history.read("1s"), "1s", NOW_S + 99.5, NOW_S + 599.5, 500)
    assert (width_s, len(points)) == (1.0, 500)
    assert {p.interval_s for p in points} == {1.0}


def test_thinned_points_stand_still_while_the_chart_moves() -> None:
    history = filled(600)
    _, before = thinned(history.read("1s"), "1s", NOW_S, NOW_S + 500, 100)
    _, after = thinned(history.read("1s"), "1s", NOW_S + 30, NOW_S + 530, 100)
    shared = {p.unix_s for p in before} & {p.unix_s for p in after}
    assert len(shared) >= 60
    both = [(p, q) for p in before[1:-1] for q in after[1:-1] if p.unix_s == q.unix_s]
    assert all(p == q for p, q in both)
    assert both


@given(
    seconds=st.lists(st.integers(0, 5000), max_size=60),
    most=st.integers(1, 50),
    begin=st.integers(0, 5000),
    reach=st.integers(0, 5000),
    tier=st.sampled_from(["1s", "1m"]),
)
def test_never_more_points_than_asked_for(
    seconds: list[int], most: int, begin: int, reach: int, tier: Resolution
) -> None:
    history = History()
    for second in seconds:  # also when somebody sets the clock back
        history.add(point(second))
    width_s, points = thinned(history.read(tier), tier, begin, begin + reach, most)
    assert len(points) <= most
    assert width_s > 0
    assert all(begin <= p.unix_s <= begin + reach for p in points)


@pytest.mark.parametrize("tier", ["1s", "1m"])
def test_a_wall_clock_that_is_set_back_takes_the_later_points_away(tier: Resolution) -> None:
    history = filled(600)
    for second in range(5):
        history.add(point(NOW_S + 300.5 + second, writes_per_s=7.0))
    points = all_of(history, tier)
    assert [p.unix_s for p in points] == sorted({p.unix_s for p in points}), "the newest is the last"
    assert points[-1].unix_s == NOW_S + 304.5
    assert points[-1].writes_per_s == 7.0
    assert points[0].unix_s <= NOW_S + 59, "what was before stays"
    _, shown = thinned(history.read(tier), tier, NOW_S, NOW_S + 304.5, 600)
    assert shown[-1] == points[-1]


def test_what_is_not_known_is_not_made_up() -> None:
    history = History()
    history.add(Point(NOW_S, 1.0))
    history.add(Point(NOW_S + 1, 1.0, l0_files=3))
    history.add(Point(NOW_S + 2, 1.0))
    (minute,) = all_of(history, "1m")
    assert (minute.l0_files, minute.writes_per_s, minute.stalled_by_cause) == (3, None, None)
    assert all_of(history, "1s")[0].l0_files is None


def test_an_agent_that_has_gone_mad_breaks_nothing() -> None:
    history = History()
    history.add(point(NOW_S, l0_files=10**60, writes_per_s=float("inf")))
    (one,) = all_of(history, "1s")
    assert one.l0_files is not None
    assert one.l0_files > 10**37


def test_the_finest_tier_that_reaches_back_is_chosen() -> None:
    assert resolution_for(NOW_S - 900, NOW_S) == "1s"
    assert resolution_for(NOW_S - 901, NOW_S) == "1m"


def test_a_full_history_takes_what_it_says() -> None:
    """The docstring says 0.41 MB; this holds 1 MB."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        history = History()
        for second in range(0, DAY_S, 20):
            history.add(point(NOW_S + second))
        for second in range(900):
            history.add(point(NOW_S + DAY_S + second))
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (len(all_of(history, "1s")), len(all_of(history, "1m"))) == (901, 1441)
    assert after - before < 1_000_000


def test_a_sample_becomes_a_point_of_the_worst_column_family() -> None:
    families = (
        column_family("small", l0_files=19, pending_compaction_bytes=10 << 30, memtables_bytes=5),
        column_family(
            "bulk",
            l0_files=25,
            pending_compaction_bytes=20 << 30,
            memtables_bytes=7,
            level0_slowdown_writes_trigger=1 << 30,
            soft_pending_compaction_bytes_limit=0,
            hard_pending_compaction_bytes_limit=0,
            write_buffer_size_bytes=128 << 20,
        ),
    )
    made = charted(sample(*families), NOW_S, {"l0": 0.5}, "adoc")
    assert (made.l0_files, made.l0_slowdown_trigger) == (25, 1 << 30)
    assert made.pending_compaction_bytes == 10 << 30, "the other one's limits are off"
    assert made.memtables_bytes == 12
    assert made.knobs is not None
    assert made.knobs["write_buffer_size"] == 128 << 20
    assert made.knobs["max_background_jobs"] == 2
    assert made.knobs["rate_limiter_bytes_per_sec"] is None
    assert made.stalled_by_cause == {"l0": 0.5}
    assert made.device_busy_fraction is None


def test_under_universal_compaction_the_chart_has_what_the_triggers_count() -> None:
    runs = column_family(l0_files=17, further_levels=(0, 9, 40), compaction_style=UNIVERSAL_COMPACTION)
    made = charted(sample(runs, column_family("levelled", l0_files=18, further_levels=(9, 40))), NOW_S, None, None)
    assert (made.l0_files, made.l0_slowdown_trigger, made.l0_stop_trigger) == (19, 20, 36)
