"""What flushes and compactions move within a window, from events that tell of it when a job ends."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.model.capabilities import Capabilities
from adocd.model.snapshot import Counters, Event, Snapshot
from adocd.probes.job_bytes import BackgroundBytes, Rates
from adocd.probes.statistics import StatisticsProbe
from tests.builders import snapshot

CAPABILITIES = Capabilities(events=("flush", "compaction"))
RUNNING = {"rocksdb.num-running-flushes": 1, "rocksdb.num-running-compactions": 1}


class Agent:
    """An agent that is asked at moments of the test's own; the counters grow when a job ends, as a native one's do."""

    def __init__(self, capabilities: Capabilities = CAPABILITIES, tickers: dict[str, int] | None = None) -> None:
        self.background = BackgroundBytes(capabilities)
        self.tickers = tickers
        self.flushed = self.read = self.written = 0
        self._events: list[Event] = []
        self._numbers = itertools.count(1)
        self._before: Snapshot | None = None
        self.look(100.0)

    def begin(self, at_s: float, job: int, kind: str = "flush", level: int | None = None) -> None:
        """Let a job begin."""
        self._tell(at_s, f"{kind}_begin", job=job, output_level=level)

    def flush_ends(self, at_s: float, job: int, written: int, elapsed_s: float | None = None) -> None:
        """Let a flush end, which is when it is counted."""
        self.flushed += written
        self._tell(at_s, "flush_end", job=job, bytes=written, elapsed_s=elapsed_s)

    def compaction_ends(self, at_s: float, job: int, written: int, level: int = 1) -> None:
        """Let a compaction end, which has read twice what it wrote."""
        self.read, self.written = self.read + 2 * written, self.written + written
        self._tell(at_s, "compaction_end", job=job, read_bytes=2 * written, written_bytes=written, output_level=level)

    def look(self, at_s: float, *, lost: int = 0, properties: dict[str, int] = RUNNING) -> Rates | None:
        """Take a snapshot; what was moved since the last one."""
        now = snapshot(
            monotonic_s=at_s,
            events=tuple(self._events),
            lost_events=lost,
            properties=properties,
            tickers=None if self.tickers is None else dict(self.tickers),
            counters=Counters(
                flush_written_bytes=self.flushed,
                compaction_read_bytes=self.read,
                compaction_written_bytes=self.written,
            ),
        )
        self._events.clear()
        self.background.observe(now)
        before, self._before = self._before, now
        return None if before is None else self.background.rates(before, now)

    def flushes(self, at_s: float, **members: Any) -> float | None:
        """Take a snapshot; what flushes wrote, per second."""
        rates = self.look(at_s, **members)
        assert rates is not None
        return rates.flush_written_bytes_per_s

    def _tell(self, at_s: float, kind: str, **members: Any) -> None:
        self._events.append(Event(next(self._numbers), at_s, kind, column_family="default", **members))


def test_a_job_is_spread_over_its_time() -> None:
    """200 bytes in 2 s. Of the first nothing is known until it ends; the second goes on as the first did."""
    agent = Agent()
    agent.begin(100.5, 1)
    assert [agent.flushes(101.0), agent.flushes(102.0)] == [0, 0]
    agent.flush_ends(102.5, 1, 200)
    assert agent.flushes(103.0) == pytest.approx(50)
    agent.begin(103.5, 2)
    assert [agent.flushes(104.0), agent.flushes(105.0)] == pytest.approx([50, 100])
    agent.flush_ends(105.5, 2, 200)
    assert agent.flushes(106.0) == pytest.approx(50)
    assert agent.flushes(107.0) == 0


def test_a_window_that_has_all_of_a_job_has_all_of_its_bytes() -> None:
    agent = Agent()
    agent.begin(101.0, 1)
    agent.begin(101.0, 2, "compaction", 1)
    agent.flush_ends(104.0, 1, 600)
    agent.compaction_ends(109.0, 2, 1000)
    assert agent.look(110.0) == Rates(60, 200, 100)


def test_a_job_that_nobody_saw_begin_took_as_long_as_its_end_tells() -> None:
    agent = Agent()
    agent.flush_ends(100.5, 1, 1000, elapsed_s=10.0)
    assert agent.flushes(101.0) == pytest.approx(50)


def test_a_job_without_a_time_lies_where_it_ended() -> None:
    agent = Agent()
    agent.flush_ends(100.5, 1, 1000)
    assert [agent.flushes(101.0), agent.flushes(102.0)] == [1000, 0]


def test_what_ends_after_the_snapshot_is_the_next_windows_too() -> None:
    """The agent answers from its cache, with what has happened since."""
    agent = Agent()
    agent.begin(100.5, 1)
    agent.flush_ends(101.5, 1, 100)
    assert [agent.flushes(101.0), agent.flushes(102.0), agent.flushes(103.0)] == pytest.approx([50, 50, 0])


def test_several_at_once_share_what_one_had() -> None:
    """Alone one wrote 100 bytes/s; two that run for a second write as much together, not twice."""
    agent = Agent()
    agent.begin(100.0, 1)
    agent.flush_ends(101.0, 1, 100)
    assert agent.flushes(101.0) == pytest.approx(100)
    agent.begin(101.0, 2)
    agent.begin(101.0, 3)
    assert agent.flushes(102.0) == pytest.approx(100)
    agent.begin(102.5, 4)
    assert agent.flushes(103.0) == pytest.approx(100)


def test_what_two_wrote_at_once_one_writes_alone() -> None:
    agent = Agent()
    agent.begin(100.0, 1)
    agent.begin(100.0, 2)
    agent.flush_ends(102.0, 1, 100)
    agent.flush_ends(102.0, 2, 100)
    assert agent.flushes(102.0) == pytest.approx(100)
    agent.begin(102.0, 3)
    assert agent.flushes(103.0) == pytest.approx(100)


@pytest.mark.parametrize(("level", "written"), [(1, 10), (0, 300), (2, 0), (None, 155)])
def test_a_compaction_goes_as_the_last_ones_into_its_level(level: int | None, written: int) -> None:
    """Into level 1 most is dropped, and level 0 merges into itself at full speed. A LOG does not tell the level."""
    agent = Agent()
    agent.begin(100.0, 1, "compaction", 1)
    agent.compaction_ends(101.0, 1, 10, 1)
    agent.begin(101.0, 2, "compaction", 0)
    agent.compaction_ends(102.0, 2, 300, 0)
    agent.look(102.0)
    agent.begin(102.0, 3, "compaction", level)
    rates = agent.look(103.0)
    assert rates is not None
    assert (rates.compaction_read_bytes_per_s, rates.compaction_written_bytes_per_s) == pytest.approx(
        (2 * written, written)
    )


def test_tickers_tell_of_compactions_while_they_run_and_of_flushes_when_they_have() -> None:
    tickers = {"rocksdb.compact.read.bytes": 7, "rocksdb.compact.write.bytes": 3, "rocksdb.flush.write.bytes": 0}
    agent = Agent(tickers=tickers)
    agent.begin(100.0, 1, "compaction", 1)
    agent.begin(100.0, 2)
    tickers |= {"rocksdb.compact.read.bytes": 47, "rocksdb.compact.write.bytes": 23}
    agent.tickers = tickers
    agent.flush_ends(104.0, 2, 400)
    assert agent.look(102.0) == Rates(100, 20, 10)
    agent.tickers = dict(tickers)
    agent.compaction_ends(103.0, 1, 999)
    assert agent.look(104.0) == Rates(100, 0, 0)


@pytest.mark.parametrize("events", [(), ("stall",)])
def test_without_events_the_counters_are_all_there_is(events: tuple[str, ...]) -> None:
    agent = Agent(Capabilities(events=events))
    agent.flushed, agent.read, agent.written = 100, 60, 30
    assert agent.look(102.0) == Rates(50, 30, 15)


def test_after_a_loss_the_counters_are_all_there_is() -> None:
    """And what was running has ended, or will be known by its end."""
    agent = Agent()
    agent.begin(100.0, 1)
    agent.flush_ends(101.0, 1, 100)
    agent.begin(101.0, 2)
    assert agent.flushes(102.0) == pytest.approx(100)
    agent.flushed += 400
    assert agent.flushes(104.0, lost=3) == 200
    assert agent.flushes(105.0) == 0
    agent.flush_ends(106.0, 3, 800, elapsed_s=2.0)
    assert agent.flushes(106.0) == 400


def test_what_nobody_counts_is_unknown() -> None:
    background, first = BackgroundBytes(CAPABILITIES), snapshot(counters=Counters())
    background.observe(first)
    assert background.rates(first, snapshot(counters=Counters(), monotonic_s=101.0)) == Rates(None, None, None)


def test_a_flush_that_failed_writes_nothing_any_more() -> None:
    agent = Agent()
    agent.begin(100.0, 1)
    agent.flush_ends(101.0, 1, 100)
    agent.begin(101.0, 2)
    assert agent.flushes(102.0) == pytest.approx(100)
    assert agent.flushes(103.0, properties={"rocksdb.num-running-flushes": 0}) == 0


def test_a_job_that_is_held_up_writes_no_more_than_the_largest_of_the_last_ones() -> None:
    agent = Agent()
    agent.begin(100.0, 1)
    agent.flush_ends(101.0, 1, 100)
    agent.begin(101.0, 2)
    agent.flush_ends(102.0, 2, 50)
    agent.look(102.0)
    agent.begin(102.0, 3)
    # Both together wrote 75 a second, and the larger one had 100.
    assert [agent.flushes(103.0 + n) for n in range(3)] == pytest.approx([75, 25, 0])


_jobs = st.lists(st.tuples(st.floats(100, 110), st.floats(0.01, 10), st.integers(0, 10**9)), max_size=12)


@given(_jobs, st.floats(100.1, 121))
def test_what_has_ended_adds_up_and_nothing_is_negative(jobs: list[tuple[float, float, int]], at_s: float) -> None:
    agent = Agent()
    told = [(began_s, 0, n, 0) for n, (began_s, _, _) in enumerate(jobs)]
    told += [(began_s + took_s, 1, n, written) for n, (began_s, took_s, written) in enumerate(jobs)]
    for when_s, ends, number, written in sorted(told):
        if when_s > at_s:
            break
        if ends:
            agent.flush_ends(when_s, number, written)
        else:
            agent.begin(when_s, number)
    first = agent.flushes(at_s)
    assert first is not None
    assert first >= 0
    if all(began_s + took_s <= at_s for began_s, took_s, _ in jobs):
        assert first * (at_s - 100.0) == pytest.approx(sum(written for _, _, written in jobs))
        assert agent.flushes(at_s + 1.0) == 0


def test_a_sample_has_both_what_is_written_and_what_has_come_into_level_0() -> None:
    """Level 0 grows when a flush has ended, so what left it is reckoned from what came into it by then."""
    probe = StatisticsProbe(CAPABILITIES)
    begin = Event(1, 100.0, "flush_begin", column_family="default", job=1)
    end = Event(2, 102.0, "flush_end", column_family="default", job=1, bytes=100)
    probe.sample(snapshot(counters=Counters(flush_written_bytes=0)))
    before = probe.sample(snapshot(monotonic_s=101.0, events=(begin,), counters=Counters(flush_written_bytes=0)))
    after = probe.sample(snapshot(monotonic_s=102.0, events=(end,), counters=Counters(flush_written_bytes=100)))
    assert before is not None
    assert after is not None
    assert (before.flushed_bytes_per_s, after.flushed_bytes_per_s) == (0, 100)
    assert after.flush_written_bytes_per_s == pytest.approx(50)
