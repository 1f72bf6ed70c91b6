"""The watch where samples are not all: in an agent's silence, and with a LOG."""

from __future__ import annotations

import pytest

from adocd.diagnosis.stalls import StallWatch
from adocd.diagnosis.stalls.seen import Named
from tests.builders import column_family
from tests.diagnosis.watching import APART_S, L0, STOP, logged, now, sampled, spans

from .logs import BEGIN_S, compacted, flushed, opened, stall


def test_silence_is_possibly_a_stall_only_of_an_agent_that_stands_still_in_one() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    watch.silent(2.0, APART_S + 12, may_be_stalled=False, surroundings_in_words=None)
    assert watch.now is None
    watch.silent(3.0, APART_S + 13, may_be_stalled=True, surroundings_in_words="vda writes 80 MB/s")
    seen = now(watch)
    assert (seen.condition, seen.causes, seen.evidence) == ("possibly", (), "silence")
    assert seen.since_unix_s == pytest.approx(APART_S + 10)
    assert seen.noticed_unix_s == pytest.approx(APART_S + 12)
    assert seen.why == ("the agent has been silent for 3.0 s, as it is while writes are stalled; vda writes 80 MB/s")
    sampled(watch, 14, "normal", interval_s=4.0)
    assert watch.now is None
    assert not watch.found, "no count and no figure says that it was one"


def test_a_silence_that_was_a_stall_has_its_name_afterwards_and_was_noticed_before() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    watch.silent(2.1, APART_S + 12.5, may_be_stalled=True)
    counted = column_family(memtable_stops=1)
    sampled(watch, 13.5, "normal", counted, interval_s=3.5, stalled_fraction=3.0 / 3.5)
    assert spans(watch.found) == [(10.5, 13.5, "memtable", "stopped", "counts")]
    assert watch.found[0].noticed_unix_s == pytest.approx(APART_S + 12.5)


@pytest.mark.parametrize(
    ("counted", "found"),
    [
        ({}, [(10.5, 15, "l0", "delayed", "properties")]),
        ({"l0_stops": 1}, [(10.5, 12, "l0", "delayed", "properties"), (12, 15, "l0", "stopped", "counts")]),
    ],
)
def test_what_was_there_before_the_silence_lasted_through_it_unless_another_did(
    counted: dict[str, int], found: list[tuple[float, float, str, str, str]]
) -> None:
    watch = StallWatch()
    sampled(watch, 10)
    sampled(watch, 11, "delayed", column_family(l0_files=20))
    watch.silent(2.0, APART_S + 14, may_be_stalled=True)
    assert now(watch).condition == "possibly"
    assert now(watch).causes == (Named("l0", "default", "delayed"),)
    assert "when it last answered, writes were delayed" in now(watch).why
    sampled(watch, 15, "normal", column_family(stalls=counted), interval_s=4.0, stalled_fraction=0.75)
    assert spans(watch.found) == found


def test_in_silence_the_log_names_condition_and_cause() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    watch.silent(2.0, APART_S + 12, may_be_stalled=True)
    assert now(watch).condition == "possibly"
    logged(watch, 12.1, opened(at_s=0), stall(10.4, STOP, stopped=True))
    seen = now(watch)
    assert seen.causes == (Named("memtable", "default", "stopped"),)
    assert (seen.condition, seen.evidence) == ("stopped", "LOG")
    assert seen.since_unix_s == pytest.approx(BEGIN_S + 10.4)
    assert "2 immutable memtables, max_write_buffer_number 2" in seen.why
    logged(watch, 13.1, flushed(13.0))
    sampled(watch, 13.2, "normal", column_family(memtable_stops=1), interval_s=3.2)
    assert watch.now is None
    assert spans(watch.found) == [(10.4, 13.0, "memtable", "stopped", "LOG")]


def test_a_line_that_is_newer_than_the_last_sample_counts_at_once() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    logged(watch, 10.2, opened(at_s=0), stall(10.1, L0))
    assert (now(watch).condition, now(watch).evidence) == ("delayed", "LOG")


def test_a_line_that_is_older_does_not_beat_the_sample() -> None:
    watch = StallWatch()
    sampled(watch, 10)
    logged(watch, 10.2, opened(at_s=0), stall(9.1, L0))
    assert watch.now is None


def test_the_log_makes_times_exact_that_were_guesses() -> None:
    """Two samples in a row saw a delay, which were two delays."""
    watch = StallWatch()
    logged(watch, 9, opened(at_s=0))
    sampled(watch, 10.5)
    sampled(watch, 11.5, "delayed", column_family(l0_files=20))
    sampled(watch, 12.5, "delayed", column_family(l0_files=20))
    sampled(watch, 13.5)
    assert spans(watch.found) == [(11, 13, "l0", "delayed", "properties")]
    logged(watch, 14, stall(11.25, L0), compacted(11.75), stall(12.25, L0), compacted(12.75, job=3))
    assert spans(watch.found) == [(11.25, 11.75, "l0", "delayed", "LOG"), (12.25, 12.75, "l0", "delayed", "LOG")]
    assert [s.noticed_unix_s - APART_S for s in watch.found] == [pytest.approx(11.5), pytest.approx(12.25)]


def test_also_of_one_that_lasts() -> None:
    watch = StallWatch()
    logged(watch, 9, opened(at_s=0))
    sampled(watch, 10.5)
    sampled(watch, 11.5, "delayed", column_family(l0_files=20))
    sampled(watch, 12.5, "delayed", column_family(l0_files=20))
    logged(watch, 12.6, stall(11.25, L0), compacted(11.75), stall(12.25, L0))
    assert spans(watch.found) == [(11.25, 11.75, "l0", "delayed", "LOG")]
    assert now(watch).since_unix_s == pytest.approx(APART_S + 12.25)
    sampled(watch, 13.5)
    assert len(watch.found) == 2


def test_the_log_alone_is_enough() -> None:
    """A directory target has no agent."""
    watch = StallWatch()
    logged(watch, 10.5, opened(at_s=0), stall(10, L0))
    assert (now(watch).condition, now(watch).causes) == ("delayed", (Named("l0", "default", "delayed"),))
    logged(watch, 12.5, stall(12, STOP, stopped=True))
    assert now(watch).condition == "stopped"
    logged(watch, 14.5, flushed(14))
    assert watch.now is None
    assert spans(watch.found) == [(10, 12, "l0", "delayed", "LOG"), (12, 14, "memtable", "stopped", "LOG")]


def test_a_log_that_is_being_caught_up_with_tells_nothing_of_now() -> None:
    watch = StallWatch()
    logged(watch, 5000, opened(at_s=0), stall(10, L0))
    assert watch.now is None
    logged(watch, 5001, flushed(20), stall(4999, L0))
    assert now(watch).since_unix_s == pytest.approx(BEGIN_S + 4999)
    assert spans(watch.found) == [(10, 20, "l0", "delayed", "LOG")]


def test_a_line_from_before_the_last_sample_does_not_beat_its_figures() -> None:
    """The LOG is read some seconds late: its figures are older than those that the agent reported before it blocked."""
    watch = StallWatch()
    sampled(watch, 10)
    sampled(watch, 11, "stopped", column_family(l0_files=37))
    logged(watch, 11.2, opened(at_s=0), stall(10.2, "we have 21 level-0 files rate 8388608"))
    watch.silent(2.0, APART_S + 13, may_be_stalled=True)
    logged(watch, 13.1)
    assert now(watch).condition == "possibly"
    assert "37 level-0 files, stop trigger 36" in now(watch).why
    logged(watch, 13.4, stall(11.5, "we have 36 level-0 files", stopped=True))
    assert (now(watch).condition, now(watch).evidence) == ("stopped", "LOG")
    logged(watch, 14.1)
    assert "36 level-0 files" in now(watch).why


def test_a_stall_goes_on_in_the_logs_next_file() -> None:
    watch = StallWatch()
    logged(watch, 10.5, opened(session="S1"), stall(10, L0))
    logged(watch, 12.5, opened(at_s=12, session="S1", info=False))
    assert now(watch).since_unix_s == pytest.approx(BEGIN_S + 10)
    logged(watch, 14.5, flushed(14))
    assert spans(watch.found) == [(10, 14, "l0", "delayed", "LOG")]


def test_a_log_of_warnings_tells_nothing_of_now() -> None:
    watch = StallWatch()
    logged(watch, 10.5, opened(info=False), stall(10, STOP, stopped=True))
    assert watch.now is None
    logged(watch, 12.5, stall(12, STOP, stopped=True))
    watch.closed(APART_S + 500)
    logged(watch, 600.5, opened(at_s=600), flushed(600))
    assert watch.now is None


def test_the_end_of_summer_time_is_no_hour_of_stop() -> None:
    """A line is an hour early until the LOG shows the new offset, by the job that ends the stall."""
    watch = StallWatch()
    logged(watch, 10.5, opened(), flushed(5))
    logged(watch, 10.5, stall(10 - 3600, STOP, stopped=True), flushed(12), flushed(13))
    assert watch.now is None
    (found,) = spans(watch.found)
    assert (found[2:], 10 <= found[0] <= found[1] <= 13) == (("memtable", "stopped", "LOG"), True)
