"""How long writers waited: RocksDB's count, and a stop in progress."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.model.snapshot import Counters, PeriodicDump, Snapshot, Stall
from adocd.probes.statistics import StatisticsProbe
from adocd.probes.writers_wait import WritersWait
from tests.builders import CAPABILITIES, snapshot

STOPPED = {"rocksdb.is-write-stopped": 1}


def at(second: float, writes: int, waited_s: float, *, stopped: bool) -> Snapshot:
    """Take a snapshot of a database that can be stopped by memtables, which only the property shows."""
    counters = Counters(writes=writes, stall_micros=round(waited_s * 1e6))
    properties = STOPPED if stopped else {}
    return replace(snapshot(), sequence=round(second), monotonic_s=second, counters=counters, properties=properties)


def test_a_stop_in_progress_counts_while_it_lasts() -> None:
    """Writes stop at 1.5 s and go on at 4.5 s; RocksDB posts the 3 s then."""
    probe, shares = StatisticsProbe(CAPABILITIES), []
    for each in (
        at(1, 100, 0, stopped=False),
        at(2, 150, 0, stopped=True),
        at(3, 150, 0, stopped=True),
        at(4, 150, 0, stopped=True),
        at(5, 200, 3, stopped=False),
        at(6, 300, 3, stopped=False),
    ):
        if (sample := probe.sample(each)) is not None:
            shares.append((sample.waited_fraction, sample.stalled_fraction))
    assert [waited for waited, _ in shares] == pytest.approx([0, 1, 1, 1, 0])
    assert [posted for _, posted in shares] == pytest.approx([0, 0, 0, 3, 0])


def test_a_stop_that_lets_writes_through_is_not_one_wait() -> None:
    probe = WritersWait()
    for second in range(5):
        probe.observe(at(second, 100 * second, 0.1 * second, stopped=True))
    assert probe.total_s == pytest.approx(0.4)


def test_without_a_counter_nothing_is_known() -> None:
    probe = StatisticsProbe(CAPABILITIES)
    first = replace(snapshot(), counters=Counters(writes=1))
    probe.sample(first)
    sample = probe.sample(replace(first, sequence=2, monotonic_s=first.monotonic_s + 1))
    assert sample is not None
    assert sample.waited_s is sample.waited_fraction is None


def test_without_an_agent_the_share_is_that_of_a_dumps_own_interval() -> None:
    """A LOG's count has all the time since the dump before, and stands still until the next."""
    probe, shares = StatisticsProbe(CAPABILITIES), []
    for second, dumped_s, waited_s in ((1, 0.5, 100), (2, 0.5, 100), (3, 2.5, 250), (4, 2.5, 250)):
        dump = PeriodicDump(dumped_s, 600.0, stalled_fraction=0.25)
        each = replace(at(second, 100, waited_s, stopped=second > 1), dump=dump)
        if (sample := probe.sample(each)) is not None:
            shares.append(sample.waited_fraction)
    assert shares == [None, 0.25, None]


def test_a_counter_that_was_reset_begins_anew() -> None:
    probe = WritersWait()
    probe.observe(at(1, 1, 50, stopped=False))
    probe.observe(at(2, 2, 0.5, stopped=False))
    assert probe.total_s == pytest.approx(0.5)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=2, max_size=40))
def test_the_total_never_falls_and_never_exceeds_the_time(seconds: list[tuple[bool, int]]) -> None:
    """Each second writes go through, or wait and are posted when the wait ends."""
    probe, writes, posted_s, waiting_s, totals = WritersWait(), 0, 0.0, 0.0, [0.0]
    for second, (stopped, count) in enumerate(seconds):
        if stopped:
            waiting_s += 1
        else:
            writes, posted_s, waiting_s = writes + 1 + count, posted_s + waiting_s, 0.0
        probe.observe(at(second, writes, posted_s, stopped=stopped))
        totals.append(probe.total_s or 0.0)
    assert totals == sorted(totals)
    assert posted_s <= totals[-1] <= posted_s + waiting_s


def test_the_first_window_of_a_stop_is_as_events_tell() -> None:
    """A stop that listeners hear of has a beginning; `Stall.stopped_s` has it."""
    probe = WritersWait()
    probe.observe(at(1, 5, 0, stopped=False))
    probe.observe(replace(at(2, 5, 0, stopped=True), stall=Stall("stopped", 1.25, 0.75, 0.0)))
    assert probe.total_s == pytest.approx(0.75)
