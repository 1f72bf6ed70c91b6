"""From lines about stalls to stalls: where each begins and ends, and what is told of it."""

from __future__ import annotations

import pytest

from adocd.probes.log.background import BEFORE_S, BackgroundHistory, Led
from adocd.probes.log.events import (
    Cause,
    CompactionFinished,
    CompactionStarted,
    Condition,
    FlushFinished,
    HeaderLine,
    LevelSummary,
    LogEvent,
    LoggedStall,
    MemtableSwitched,
)
from adocd.probes.log.stalls import Stalls
from adocd.probes.log.steady import SteadyTime

NOTHING = Led(BEFORE_S, 0, 0, 0, 0, 0, None, None)


class Watched:
    """The stalls of a LOG that a test makes up, with lines of level INFO or without; seconds of its own."""

    def __init__(self, *, info: bool = True) -> None:
        self.held: list[tuple[float, float, frozenset[Cause]]] = []
        self.stalls = Stalls(lambda _: NOTHING, lambda *span: self.held.append(span))
        if info:
            self.told(0.0)

    def told(self, at_s: float) -> None:
        """Write a line of level INFO that is about no stall."""
        self.stalls.take(LevelSummary(at_s, "other", (), None, None))

    def opened(self, at_s: float, session: str) -> None:
        """Write the lines of an open."""
        self.stalls.take(HeaderLine(at_s, "rocksdb_version", "9.8.4"))
        self.stalls.take(HeaderLine(at_s, "db_session_id", session))

    def line(
        self,
        at_s: float,
        cause: Cause = "l0",
        condition: Condition = "delayed",
        figure: int | None = None,
        rate: int | None = None,
    ) -> None:
        """Write a line about a stall."""
        self.stalls.take(LoggedStall(at_s, "default", condition, cause, figure, None, rate))

    def flushed(self, at_s: float, *, damaged: bool = False) -> None:
        """End a flush."""
        self.stalls.take(FlushFinished(at_s, 1, "default", damaged, {}, (), None, None, None))

    def switched(self, at_s: float) -> None:
        """Begin a new memtable."""
        self.stalls.take(MemtableSwitched(at_s, "default", 1, 1))

    def spans(self) -> list[tuple[float, float, float]]:
        """Give begin, end and held seconds of each stall."""
        return [(each.begin_s, each.end_s, each.stalled_s) for each in self.stalls.found]


def test_a_stall_ends_with_the_first_job_that_no_line_follows() -> None:
    seen = Watched()
    seen.line(10.0, figure=21, rate=900)
    seen.line(11.0, figure=25, rate=300)
    seen.line(12.0, figure=22, rate=500)
    seen.flushed(11.5)
    seen.flushed(12.0)  # its line was written at the same moment: the condition held at its install
    assert seen.stalls.open
    seen.flushed(13.0, damaged=True)
    assert seen.stalls.open
    seen.flushed(14.0)
    assert not seen.stalls.open
    (found,) = seen.stalls.found
    assert (found.begin_s, found.end_s, found.stalled_s, found.ended) == (10.0, 14.0, 4.0, True)
    assert (found.lines, found.figure, found.rate_bytes_per_s) == (3, 25, 300)
    assert sum(until - since for since, until, _ in seen.held) == 4.0


@pytest.mark.parametrize(("gap_s", "spans"), [(0.75, [(10.0, 13.75, 3.0)]), (1.25, [(10, 11, 1), (12.25, 14.25, 2)])])
def test_two_that_are_less_than_a_second_apart_are_one(gap_s: float, spans: list[tuple[float, float, float]]) -> None:
    seen = Watched()
    seen.line(10.0)
    seen.flushed(11.0)
    seen.line(11.0 + gap_s)
    seen.flushed(13.0 + gap_s)
    assert seen.spans() == spans


@pytest.mark.parametrize(("second_s", "is_open"), [(12.5, True), (13.5, False)])
def test_memtables_without_a_line_end_it_at_the_first_after_a_second(second_s: float, is_open: bool) -> None:
    seen = Watched()
    seen.line(10.0)
    seen.switched(12.0)
    seen.switched(second_s)
    assert bool(seen.stalls.open) is is_open
    if not is_open:
        assert seen.spans() == [(10.0, 12.0, 2.0)]


def test_a_line_after_a_memtable_says_that_it_goes_on() -> None:
    seen = Watched()
    seen.line(10.0)
    seen.switched(12.0)
    seen.line(12.1)
    seen.switched(15.0)
    seen.flushed(15.5)
    assert seen.spans() == [(10.0, 15.0, 5.0)], "by the memtable that no line followed, not by the job after it"


def test_another_cause_ends_the_one_before() -> None:
    seen = Watched()
    seen.line(10.0, "memtable", "stopped")
    seen.line(12.0, "l0", "stopped")
    seen.flushed(15.0)
    assert [(each.cause, each.stalled_s) for each in seen.stalls.found] == [("memtable", 2.0), ("l0", 3.0)]
    assert [causes for _, _, causes in seen.held] == [{"memtable"}, {"l0"}]


def test_so_far_counts_no_second_twice() -> None:
    seen = Watched()
    seen.line(10.0)
    for now_s in (11.0, 12.0):
        seen.stalls.so_far(now_s)
        (found,) = seen.stalls.found
        assert (found.stalled_s, found.ended) == (now_s - 10.0, False)
    seen.flushed(13.0)
    assert (found.stalled_s, found.ended) == (3.0, True)


def test_more_stalls_than_are_kept_are_joined_with_all_their_seconds() -> None:
    seen = Watched()
    for number in range(5001):
        seen.line(10.0 * number, figure=number, rate=10_000 - number)
        seen.flushed(10.0 * number + 1)
    assert len(seen.stalls.found) < 5000
    assert sum(each.stalled_s for each in seen.stalls.found) == 5001
    assert sum(each.lines for each in seen.stalls.found) == 5001
    first = seen.stalls.found[0]
    assert first.stalled_s > 1
    assert (first.figure, first.rate_bytes_per_s) == (first.lines - 1, 10_000 - first.lines + 1)


@pytest.mark.parametrize(("session", "span"), [("S1", (10.0, 110.0, 100.0)), ("S2", (10.0, 12.0, 2.0))])
def test_another_open_ends_a_stall_at_the_last_line_before_it(session: str, span: tuple[float, float, float]) -> None:
    """The lines of the same open are there again in the LOG's next file, and end nothing."""
    seen = Watched()
    seen.opened(1.0, "S1")
    seen.line(10.0)
    seen.told(12.0)
    seen.opened(100.0, session)
    seen.flushed(110.0)
    assert seen.spans() == [span]
    assert seen.stalls.found[0].ended is (session == "S1")


def test_without_a_line_of_level_info_a_stall_lasts_up_to_its_last_line() -> None:
    seen = Watched(info=False)
    seen.line(10.0)
    seen.line(12.0)
    seen.stalls.so_far(50.0)
    (found,) = seen.stalls.found
    assert (found.begin_s, found.end_s, found.stalled_s, found.ended) == (10.0, 12.0, 2.0, False)
    assert not seen.stalls.open
    assert seen.held == [(10.0, 12.0, frozenset(("l0",)))]
    seen.line(73.0)
    seen.told(75.0)
    assert list(seen.stalls.open) == ["default"], "now the LOG is known to tell the end"
    seen.flushed(80.0)
    assert seen.spans() == [(10.0, 12.0, 2.0), (73.0, 80.0, 7.0)]
    assert [each.ended for each in seen.stalls.found] == [False, True]


def test_the_way_back_from_lines_that_were_an_hour_early_takes_no_time() -> None:
    """As where summer time ends: an EVENT_LOG_v1 line is the first with the right time again."""
    seen = Watched()
    seen.line(5000.0)
    seen.flushed(5001.0)
    seen.line(5010.0 - 3600)
    seen.flushed(5012.0)
    assert seen.stalls.open, "whether the line is of this install nobody knows"
    seen.flushed(5013.0)
    assert seen.spans() == [(5000.0, 5001.0, 1.0), (5012.0, 5013.0, 1.0)]
    assert sum(until - since for since, until, _ in seen.held) == 2.0


def test_after_a_clock_was_set_back_a_quiet_time_counts() -> None:
    seen = Watched()
    seen.line(5000.0)
    seen.flushed(5001.0)
    seen.line(1400.0)
    seen.flushed(1500.0)
    assert seen.spans() == [(5000.0, 5001.0, 1.0), (1400.0, 1500.0, 100.0)]
    seen.line(4990.0)
    seen.line(5002.0)
    seen.flushed(5100.0)
    assert seen.spans()[-1] == (4990.0, 5100.0, 110.0), "it is as late as it was before"


def test_a_stall_of_a_column_family_that_was_dropped_is_over() -> None:
    seen = Watched()
    seen.line(10.0)
    seen.stalls.keep({"default"})
    assert seen.stalls.open
    seen.stalls.keep({"other"})
    assert not seen.stalls.open
    assert seen.stalls.take_ended()


def compacted(at_s: float, written_bytes: int, job: int = 9) -> CompactionFinished:
    none = (None,) * 3
    return CompactionFinished(at_s, job, "a", False, {}, None, None, written_bytes, *none, None, None, (4, 7))


def compacting(at_s: float, job: int = 9) -> CompactionStarted:
    return CompactionStarted(at_s, job, "a", False, {}, None, None, {}, None)


def flush(at_s: float, written_bytes: int) -> FlushFinished:
    return FlushFinished(at_s, 1, "a", False, {}, (5, 6), None, written_bytes, None)


def test_what_led_to_a_stall_is_the_minute_before_it() -> None:
    history = BackgroundHistory()
    history.flushed(flush(939.0, 1))  # 61 s before
    for at_s in (940.0, 999.2, 999.4):
        history.flushed(flush(at_s, 10))
    history.compacting(compacting(950.0, 8))
    history.compacting(compacting(950.0, 9))
    history.compacted(compacted(999.1, 100))
    history.compacted(compacted(999.9, 200, 10))
    led = history.led("a", 1000.0, {})
    assert (led.flushes, led.flushed_bytes, led.compactions, led.compacted_bytes) == (3, 30, 2, 300)
    assert (led.compactions_running, led.l0_files) == (1, 4)
    assert history.led("a", 900.0, {}).flushes == 0, "what came later did not lead to it"
    assert led.seconds == 60
    history.opened(990.0)
    led = history.led("a", 1000.0, {})
    assert (led.seconds, led.compactions_running, led.flushed_bytes) == (10, 0, 0), "that was another open"


def steady(*times_s: float) -> list[float]:
    time, known = SteadyTime(), []
    for at_s in times_s:
        known += time.take(LogEvent(at_s))
    return [each.time_s for each in (*known, *time.end())]


def test_after_a_clock_was_set_back_durations_stay_right() -> None:
    assert steady(1000.0, 1010.0, 500.0, 505.0) == [1000.0, 1010.0, 1010.0, 1015.0]
    assert steady(1000.0, 1010.0, 500.0, 1011.0, 1012.0) == [1000.0, 1010.0, 1010.0, 1011.0, 1012.0]
    assert steady(1000.0, 960.0, 1001.0) == [1000.0, 960.0, 1001.0], "lines are out of order by less than a minute"
    assert steady(1000.0, 9000.0, 1001.0) == [1000.0, 1000.0, 1001.0], "a stray line of another day takes no time"
    assert steady(1000.0, 9000.0, 9001.0) == [1000.0, 9000.0, 9001.0], "a quiet hour does"
