"""What a job's earlier lines say of its later ones: parts, names, files, and how much of it is remembered."""

from __future__ import annotations

import pytest

from adocd.probes.log.dump_events import DbStats, StatisticsDump
from adocd.probes.log.events import CompactionFinished, CompactionStarted, FlushFinished, JobEvent
from adocd.probes.log.jobs import JOBS_MOST, Jobs
from adocd.probes.log.state import LogState

from .lines import AT_S, event, line, only, parsed


def started(job: int, more: str = "", at_s: float = AT_S) -> bytes:
    return event(f'"job": {job}, "event": "flush_started"{more}', at_s)


def finished(job: int, at_s: float = AT_S) -> bytes:
    return event(f'"job": {job}, "event": "flush_finished"', at_s)


def wrote(job: int, size_bytes: int) -> bytes:
    return event(f'"job": {job}, "event": "table_file_creation", "file_size": {size_bytes}')


def flushes(data: bytes) -> list[FlushFinished]:
    return [each for each in parsed(data) if isinstance(each, FlushFinished)]


def test_parts_of_one_job_that_no_text_announces() -> None:
    found = flushes(started(7) + wrote(7, 10) + started(7) + wrote(7, 20) + finished(7) + finished(7))
    assert [each.written_bytes for each in found] == [10, 20]


def test_the_name_in_the_start_is_more_than_the_text_before_it() -> None:
    text = line("[x.cc:1] [told] [JOB 7] Flushing memtable with next log file: 8")
    (found,) = flushes(text + started(7, ', "cf_name": "named"') + finished(7))
    assert found.column_family == "named"


@pytest.mark.parametrize(("session", "written_bytes"), [("S1", 10), ("S2", None), (None, None)])
def test_a_job_goes_on_in_the_logs_next_file(session: str | None, written_bytes: int | None) -> None:
    """RocksDB repeats the lines of the open there; another open numbers its jobs anew, and has another session id."""

    def opened(session: str | None) -> bytes:
        identified = b"" if session is None else line(f"DB Session ID:  {session}")
        return line("RocksDB version: 9.8.4") + identified + line("Options.max_background_jobs: 2")

    (found,) = flushes(opened("S1") + started(7) + wrote(7, 10) + opened(session) + finished(7))
    assert found.written_bytes == written_bytes


def test_a_job_whose_start_is_missing_wrote_nobody_knows_how_much() -> None:
    text = line("[x.cc:1] [a] [JOB 7] Flushing memtable with next log file: 8")
    (found,) = flushes(text + wrote(7, 10) + finished(7))
    assert (found.column_family, found.written_bytes, found.elapsed_s) == ("a", None, None)


def test_no_job_takes_less_than_no_time() -> None:
    """The wall clock may be set back."""
    (found,) = flushes(started(7) + finished(7, AT_S - 5))
    assert found.elapsed_s == 0


def test_of_a_member_that_is_there_twice_in_a_damaged_line_the_first_counts() -> None:
    found = only(line('EVENT_LOG_v1 {"time_micros": 1000000, "job": 7, "event": "x", "job": 9, "torn'))
    assert isinstance(found, JobEvent)
    assert (found.damaged, found.job) == (True, 7)


@pytest.mark.parametrize("job", ["true", "-1", "7.0", '"7"', str(1 << 64)])
def test_what_is_no_figure(job: str) -> None:
    found = only(event(f'"job": {job}, "event": "x"'))
    assert isinstance(found, JobEvent)
    assert found.job is None


def test_jobs_that_never_end_are_forgotten_the_oldest_first() -> None:
    jobs = Jobs()
    for job in range(JOBS_MOST + 1):
        jobs.begin(job, "a", 1.0)
    assert jobs.current(0) is None
    assert jobs.current(1) is not None
    for _ in range(10_000):
        jobs.begin(1, "a", 1.0)
    ends = 0
    while jobs.end(1) is not None:
        ends += 1
    assert 1 < ends < 1000


def test_a_compaction_reads_its_inputs_and_writes_its_outputs() -> None:
    data = event('"job": 8, "event": "compaction_started", "input_data_size": 300')
    data += event('"job": 8, "event": "compaction_finished", "total_output_size": 200, "total_blob_output_size": 7')
    begun, done = parsed(data)
    assert isinstance(begun, CompactionStarted)
    assert isinstance(done, CompactionFinished)
    assert (done.input_bytes, done.written_bytes) == (300, 207)
    state = LogState()
    state.add(begun)
    state.add(done)
    assert (state.counters.compaction_read_bytes, state.counters.compaction_written_bytes) == (300, 207)


def test_a_job_with_two_parts_runs_until_both_have_ended() -> None:
    state = LogState()
    running = []
    for each in parsed(started(7) + started(7) + finished(7) + finished(7)):
        state.add(each)
        running.append(state.running_flushes)
    assert running == [1, 1, 1, 0]


def test_each_ticker_is_its_own_figure() -> None:
    names = ("number.keys.written", "bytes.written", "wal.bytes", "stall.micros")
    state = LogState()
    state.add(DbStats(AT_S - 600, {"keys": 1.0}, {"uptime_s": 600.0}, {}))
    state.add(StatisticsDump(AT_S, {f"rocksdb.{name}": at for at, name in enumerate(names, 1)}, {}))
    counters = state.counters
    assert (counters.writes, counters.written_bytes, counters.wal_bytes, counters.stall_micros) == (1, 2, 3, 4)
