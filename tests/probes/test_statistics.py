"""Snapshots to samples: rates over the measured interval, and what must never be mixed up."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.model.overflow import Overflow
from adocd.model.sample import HistogramIncrease
from adocd.model.snapshot import ColumnFamilySnapshot, Counters, Event, HistogramTotals, OptionValues, Snapshot, Stall
from adocd.model.threads import ThreadsBy
from adocd.probes.statistics import StatisticsProbe
from tests.builders import CAPABILITIES, DATABASE_OPTIONS, POOLS_ONLY, option_values, snapshot


def later(before: Snapshot, seconds: float, **members: object) -> Snapshot:
    return replace(
        before,
        sequence=before.sequence + 1,
        monotonic_s=before.monotonic_s + seconds,
        **members,  # type: ignore[arg-type]
    )


def test_the_first_snapshot_measures_nothing() -> None:
    assert StatisticsProbe(CAPABILITIES).sample(snapshot()) is None


def test_rates_are_over_the_measured_interval() -> None:
    probe = StatisticsProbe(CAPABILITIES)
    first = snapshot(counters=Counters(writes=100, written_bytes=1000, stall_micros=0))
    probe.sample(first)
    sample = probe.sample(later(first, 1.25, counters=Counters(writes=600, written_bytes=6000, stall_micros=250_000)))
    assert sample is not None
    assert sample.interval_s == 1.25
    assert sample.writes_per_s == 400
    assert sample.written_bytes_per_s == 4000
    assert sample.stalled_fraction == pytest.approx(0.2)
    assert sample.counters.writes == 600


def test_a_sample_tells_of_what_came_with_snapshots_that_measured_nothing() -> None:
    """The agent answers within 50 ms from its cache, with the events since."""
    probe = StatisticsProbe(CAPABILITIES)
    flushes = [Event(number, 100.0 + number, "flush_end", bytes=number) for number in range(4)]
    first = snapshot(events=(flushes[0],))
    assert probe.sample(first) is None
    assert probe.sample(replace(first, events=(flushes[1],))) is None
    seen = replace(first, events=(flushes[2],))
    probe.observe(seen)
    assert probe.sample(seen) is None
    sample = probe.sample(later(first, 1.0, events=(flushes[3],)))
    assert sample is not None
    assert sample.events == tuple(flushes[1:]), "those of the first snapshot are from before the window"
    after = probe.sample(later(first, 2.0, events=()))
    assert after is not None
    assert after.events == ()


def test_a_stall_in_progress_shows_in_the_condition_before_its_micros_are_posted() -> None:
    probe = StatisticsProbe(CAPABILITIES)
    first = snapshot()
    probe.sample(first)
    sample = probe.sample(later(first, 1.0, stall=Stall("stopped", 100.4, 0.6, 0.0)))
    assert sample is not None
    assert sample.stalled_fraction == 0.0
    assert sample.stopped_fraction == pytest.approx(0.6)
    assert sample.condition == "stopped"


def test_a_counter_that_was_set_back_grew_by_what_it_shows() -> None:
    probe = StatisticsProbe(CAPABILITIES)
    first = snapshot(counters=Counters(writes=500))
    probe.sample(first)
    sample = probe.sample(later(first, 1.0, counters=Counters(writes=3)))
    assert sample is not None
    assert sample.writes_per_s == 3
    assert sample.stalled_fraction is None


def test_tickers_grow_and_one_that_was_set_back_grew_by_what_it_shows() -> None:
    probe = StatisticsProbe(CAPABILITIES)
    first = snapshot(tickers={"rocksdb.bytes.read": 100, "rocksdb.stall.micros": 900})
    probe.sample(first)
    now = {"rocksdb.bytes.read": 600, "rocksdb.stall.micros": 40, "rocksdb.new": 7}
    sample = probe.sample(later(first, 2.0, tickers=now))
    assert sample is not None
    assert sample.ticker_increases == {"rocksdb.bytes.read": 500, "rocksdb.stall.micros": 40}
    assert sample.ticker_per_s("rocksdb.bytes.read") == 250
    assert sample.ticker_per_s("rocksdb.new") is None


def test_what_came_into_a_histogram_within_the_window() -> None:
    probe = StatisticsProbe(CAPABILITIES)
    first = snapshot(histograms={"read": HistogramTotals(10, 900), "flush": HistogramTotals(2, 60)})
    probe.sample(first)
    now = {"read": HistogramTotals(14, 1100), "flush": HistogramTotals(2, 60), "new": HistogramTotals(3, 30)}
    sample = probe.sample(later(first, 2.0, histograms=now))
    assert sample is not None
    assert sample.histogram_increases == {
        "read": HistogramIncrease(4, 200),
        "flush": HistogramIncrease(0, 0),
        "new": HistogramIncrease(3, 30),
    }
    assert sample.histogram_increases["read"].mean == 50
    assert sample.histogram_increases["flush"].mean is None


@pytest.mark.parametrize("now", [HistogramTotals(3, 40), HistogramTotals(10, 899), HistogramTotals(12, 70)])
def test_a_histogram_that_was_set_back_took_what_it_shows(now: HistogramTotals) -> None:
    probe = StatisticsProbe(CAPABILITIES)
    first = snapshot(histograms={"read": HistogramTotals(10, 900)})
    probe.sample(first)
    sample = probe.sample(later(first, 1.0, histograms={"read": now}))
    assert sample is not None
    assert sample.histogram_increases == {"read": HistogramIncrease(now.count, now.sum)}


@pytest.mark.parametrize(("then", "now"), [(None, {}), ({}, None), (None, None)])
def test_where_no_histograms_are_kept_nothing_is_said_of_them(
    then: dict[str, HistogramTotals] | None, now: dict[str, HistogramTotals] | None
) -> None:
    probe = StatisticsProbe(CAPABILITIES)
    first = snapshot(histograms=then)
    probe.sample(first)
    sample = probe.sample(later(first, 1.0, histograms=now))
    assert sample is not None
    assert sample.histogram_increases is None


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=30), st.integers(0, 50))
def test_increases_add_up_to_all_that_came_as_long_as_nothing_is_lost(
    windows: list[tuple[int, bool]], at_first: int
) -> None:
    """Each window brings values of 10 and may begin with a reset, which the probe sees where the count went down."""
    probe = StatisticsProbe(CAPABILITIES)
    taken = snapshot(histograms=totals(at_first))
    probe.sample(taken)
    shown = at_first
    for came, is_reset in windows:
        seen_reset = is_reset and came < shown
        shown = came if seen_reset else shown + came
        taken = later(taken, 1.0, histograms=totals(shown))
        sample = probe.sample(taken)
        assert sample is not None
        assert sample.histogram_increases is not None
        found = sample.histogram_increases.get("read", HistogramIncrease(0, 0))
        assert (found.count, found.sum) == (came, came * 10)


def totals(count: int) -> dict[str, HistogramTotals]:
    """What an agent reports: a histogram without values is left out."""
    return {"read": HistogramTotals(count, count * 10)} if count else {}


def test_another_session_begins_anew() -> None:
    probe = StatisticsProbe(CAPABILITIES)
    first = snapshot()
    probe.sample(first)
    assert probe.sample(later(first, 1.0, session="s2")) is None
    assert probe.sample(later(first, 2.0, session="s2")) is not None


def test_a_snapshot_from_the_agents_cache_measures_nothing_and_loses_nothing() -> None:
    probe = StatisticsProbe(CAPABILITIES)
    first = snapshot(counters=Counters(writes=0))
    probe.sample(first)
    assert probe.sample(first) is None
    sample = probe.sample(later(first, 2.0, counters=Counters(writes=10)))
    assert sample is not None
    assert sample.writes_per_s == 5


@pytest.mark.parametrize("old", ["max_background_flushes", "max_background_compactions"])
def test_old_options_make_the_jobs_knob_dead(old: str) -> None:
    probe = StatisticsProbe(CAPABILITIES)
    options = OptionValues(DATABASE_OPTIONS | {old: "4"}, option_values().column_families)
    first = snapshot(options=options)
    probe.sample(first)
    sample = probe.sample(later(first, 1.0))
    assert sample is not None
    assert sample.background_jobs is None


def test_where_only_the_pools_can_be_turned_they_are_the_jobs() -> None:
    probe = StatisticsProbe(POOLS_ONLY)
    options = replace(option_values(), thread_pools={"low": 3, "high": 1, "bottom": 5})
    options = replace(options, database=DATABASE_OPTIONS | {"max_background_jobs": "20"})
    first = snapshot(options=options)
    probe.sample(first)
    sample = probe.sample(later(first, 1.0))
    assert sample is not None
    assert (sample.background_jobs, sample.background_jobs_max, sample.threads_by) == (4, 20, ThreadsBy.POOLS)


def test_stall_counts_are_those_of_the_window_and_name_the_overflow() -> None:
    def families(stops: int) -> dict[str, ColumnFamilySnapshot]:
        return {"default": ColumnFamilySnapshot({}, {"memtable_stops": stops, "l0_stops": 7})}

    probe = StatisticsProbe(CAPABILITIES)
    first = snapshot(column_families=families(4))
    probe.sample(first)
    second = later(first, 1.0, column_families=families(5))
    sample = probe.sample(second)
    assert sample is not None
    assert sample.column_families[0].stall_counts == {"memtable_stops": 1, "l0_stops": 0}
    assert sample.overflow == (Overflow.MEMORY,)
    sample = probe.sample(later(second, 1.0))
    assert sample is not None
    assert sample.overflow == ()


@pytest.mark.parametrize("before", [{}, {"index": ColumnFamilySnapshot({}, None)}], ids=["not seen", "not told"])
def test_stalls_from_before_a_column_family_was_seen_are_not_of_the_window(
    before: dict[str, ColumnFamilySnapshot],
) -> None:
    """RocksDB counts them from the open on, and a program may show the agent a handle later."""
    probe = StatisticsProbe(CAPABILITIES)
    known = {"default": ColumnFamilySnapshot({}, {"memtable_stops": 0})}
    first = snapshot(column_families=known | before)
    probe.sample(first)
    found = []
    for seconds, stops in enumerate((3000, 3001), start=1):
        families = known | {"index": ColumnFamilySnapshot({}, {"memtable_stops": stops})}
        sample = probe.sample(later(first, float(seconds), column_families=families))
        assert sample is not None
        (index,) = [cf for cf in sample.column_families if cf.name == "index"]
        found.append((index.stall_counts, sample.overflow))
    assert found == [({}, ()), ({"memtable_stops": 1}, (Overflow.MEMORY,))]


def test_levels_are_read_as_far_as_there_are_any() -> None:
    properties = {f"rocksdb.num-files-at-level{n}": n * 2 for n in range(7)}
    family = ColumnFamilySnapshot(properties, level_bytes=(0, 5, 9, 0, 0, 0, 1 << 40))
    probe = StatisticsProbe(CAPABILITIES)
    first = snapshot(column_families={"default": family})
    probe.sample(first)
    sample = probe.sample(later(first, 1.0))
    assert sample is not None
    assert sample.column_families[0].level_files == (0, 2, 4, 6, 8, 10, 12)
    assert sample.column_families[0].level_bytes == (0, 5, 9, 0, 0, 0, 1 << 40)


@pytest.mark.parametrize(
    ("properties", "condition"),
    [
        ({"rocksdb.is-write-stopped": 1, "rocksdb.actual-delayed-write-rate": 5}, "stopped"),
        ({"rocksdb.actual-delayed-write-rate": 5}, "delayed"),
        ({"rocksdb.is-write-stopped": 0}, "normal"),
    ],
)
def test_the_condition_is_known_before_rocksdb_sends_the_event(properties: dict[str, int], condition: str) -> None:
    probe = StatisticsProbe(CAPABILITIES)
    first = snapshot()
    probe.sample(first)
    sample = probe.sample(later(first, 1.0, properties=properties))
    assert sample is not None
    assert sample.condition == condition
