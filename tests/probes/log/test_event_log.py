"""EVENT_LOG_v1 lines, whole and damaged."""

from __future__ import annotations

import pytest

from adocd.probes.log import LogParser
from adocd.probes.log.events import (
    CompactionFinished,
    CompactionStarted,
    FlushFinished,
    FlushStarted,
    JobEvent,
    OtherJobEvent,
    TableFileCreated,
    TableFileDeleted,
    TrivialMove,
)

from .lines import AT_S, event, line, only, parsed


def created(job: int, size_bytes: int, family: str = "a") -> bytes:
    return event(
        f'"cf_name": "{family}", "job": {job}, "event": "table_file_creation", "file_number": 9, '
        f'"file_size": {size_bytes}'
    )


def test_a_flush() -> None:
    data = (
        line("[db/flush_job.cc:861] [a b] [JOB 7] Flushing memtable with next log file: 8")
        + event(
            '"job": 7, "event": "flush_started", "num_memtables": 1, "num_entries": 7008, "num_deletes": 2, '
            '"total_data_size": 883008, "memory_usage": 1018120, "flush_reason": "Write Buffer Full"'
        )
        + created(7, 849080, "a b")
        + event('"job": 7, "event": "flush_finished", "lsm_state": [3, 0, 7], "immutable_memtables": 1', AT_S + 0.5)
    )
    started, table, finished = parsed(data)
    assert isinstance(started, FlushStarted)
    assert (started.column_family, started.reason) == ("a b", "Write Buffer Full")
    assert (started.memtables, started.entries, started.deletes) == (1, 7008, 2)
    assert (started.data_bytes, started.memory_bytes) == (883008, 1018120)
    assert isinstance(table, TableFileCreated)
    assert (table.column_family, table.job, table.size_bytes) == ("a b", 7, 849080)
    assert isinstance(finished, FlushFinished)
    assert (finished.column_family, finished.written_bytes) == ("a b", 849080)
    assert (finished.level_files, finished.immutable_memtables) == ((3, 0, 7), 1)
    assert finished.elapsed_s == pytest.approx(0.5)


def test_an_atomic_flush_is_one_job_of_several_families() -> None:
    started = '"job": 7, "event": "flush_started"'
    finished = '"job": 7, "event": "flush_finished"'
    data = b""
    for family, size_bytes in (("a", 10), ("b", 20)):
        data += line(f"[x.cc:1] [{family}] [JOB 7] Flushing memtable with next log file: 8")
        data += event(started) + created(7, size_bytes, family)
    found = [each for each in parsed(data + event(finished) * 2) if isinstance(each, FlushFinished)]
    assert [(each.column_family, each.written_bytes) for each in found] == [("a", 10), ("b", 20)]


def test_blob_files_count() -> None:
    blob = event('"job": 7, "event": "blob_file_creation", "blob_file_number": 1, "total_blob_bytes": 5')
    data = event('"job": 7, "event": "flush_started"') + blob + created(7, 10)
    found = parsed(data + event('"job": 7, "event": "flush_finished"'))
    assert isinstance(found[1], OtherJobEvent)
    assert isinstance(found[-1], FlushFinished)
    assert found[-1].written_bytes == 15


@pytest.mark.parametrize(
    ("sizes", "written_bytes"),
    [
        ('"total_output_size": 550, "total_blob_output_size": 40', 590),
        ('"total_output_size": 550', 550),
        ('"num_output_files": 0', None),
    ],
)
def test_a_compaction_that_moves_blobs_writes_them(sizes: str, written_bytes: int | None) -> None:
    found = only(event(f'"job": 9, "event": "compaction_finished", {sizes}'))
    assert isinstance(found, CompactionFinished)
    assert found.written_bytes == written_bytes


def test_a_compaction() -> None:
    data = (
        line("[db/compaction/compaction_job.cc:1994] [a] [JOB 9] Compacting 4@0 + 2@1 files to L1, score 1.00")
        + event(
            '"job": 9, "event": "compaction_started", "compaction_reason": "LevelL0FilesNum", "files_L0": [1, 2, 3, '
            '4], "files_L1": [5, 6], "score": 1.5, "input_data_size": 600, "oldest_snapshot_seqno": -1'
        )
        + event(
            '"job": 9, "event": "compaction_finished", "compaction_time_micros": 1500000, '
            '"compaction_time_cpu_micros": 500000, "output_level": 1, "num_output_files": 2, "total_output_size": 550, '
            '"num_input_records": 60, "num_output_records": 55, "num_subcompactions": 1, "lsm_state": [0, 2]'
        )
    )
    started, finished = parsed(data)
    assert isinstance(started, CompactionStarted)
    assert (started.reason, started.score, started.input_bytes) == ("LevelL0FilesNum", 1.5, 600)
    assert started.input_files == {0: 4, 1: 2}
    assert isinstance(finished, CompactionFinished)
    assert (finished.column_family, finished.input_bytes, finished.written_bytes) == ("a", 600, 550)
    assert (finished.output_level, finished.output_files, finished.level_files) == (1, 2, (0, 2))
    assert (finished.input_records, finished.output_records) == (60, 55)
    assert (finished.elapsed_s, finished.cpu_s) == (1.5, 0.5)


def test_a_newer_version_names_the_family_itself() -> None:
    assert isinstance(
        found := only(event('"job": 1, "cf_name": "b", "event": "flush_finished", "total_output_size": 7')),
        FlushFinished,
    )
    assert (found.column_family, found.written_bytes) == ("b", None)


def test_moves_deletions_and_whatever_else() -> None:
    data = (
        event('"job": 5, "event": "trivial_move", "destination_level": 2, "files": 1, "total_files_size": 847'),
        event('"job": 5, "event": "table_file_deletion", "file_number": 12'),
        event('"job": 1, "event": "recovery_started", "wal_files": [4]'),
        event('"event": "news_of_version_20", "figures": {"a": [1]}'),
    )
    move, deleted, recovery, news = parsed(data)
    assert isinstance(move, TrivialMove)
    assert (move.output_level, move.files, move.size_bytes) == (2, 1, 847)
    assert isinstance(deleted, TableFileDeleted)
    assert (deleted.job, deleted.file_number) == (5, 12)
    assert isinstance(recovery, OtherJobEvent)
    assert (recovery.name, recovery.fields["wal_files"]) == ("recovery_started", [4])
    assert isinstance(news, OtherJobEvent)
    assert (news.name, news.job, news.fields["figures"]) == ("news_of_version_20", None, {"a": [1]})


def test_a_new_session_forgets_the_jobs() -> None:
    data = event('"job": 1, "event": "flush_started"') + created(1, 10) + line("RocksDB version: 9.8.4")
    finished = parsed(data + event('"job": 1, "event": "flush_finished"'))[-1]
    assert isinstance(finished, FlushFinished)
    assert (finished.written_bytes, finished.elapsed_s) == (None, None)


def test_what_was_cut_is_saved_as_far_as_it_is_whole() -> None:
    """RocksDB cuts what is longer than its buffer: a number at the very end may lack digits."""
    whole = event(
        '"cf_name": "a", "job": 9, "event": "table_file_creation", "file_size": 123456, "lsm_state": [1, 2], "x": 77'
    )
    parser = LogParser()
    found = only(whole[: whole.index(b'"x"') + 6] + b"\n", parser)
    assert isinstance(found, TableFileCreated)
    assert found.damaged
    assert (found.job, found.size_bytes, found.fields["lsm_state"]) == (9, 123456, [1, 2])
    assert "x" not in found.fields
    assert parser.unread == {"event_log": 1}


def test_unescaped_quotation_marks() -> None:
    found = only(event('"cf_name": "we"ird", "job": 9, "event": "table_file_deletion", "file_number": 4'))
    assert isinstance(found, TableFileDeleted)
    assert (found.damaged, found.job, found.file_number) == (True, 9, 4)


def test_of_two_in_one_line_neither_takes_the_others_figures() -> None:
    cut = event('"job": 3, "event": "flush_finished", "immutable_mem')[:-2]
    parser = LogParser()
    found = parsed(cut + event('"job": 4, "event": "table_file_deletion", "file_number": 4'), parser)
    assert [(type(each), each.job) for each in found if isinstance(each, JobEvent)] == [
        (FlushFinished, 3),
        (TableFileDeleted, 4),
    ]
    assert parser.unread == {"cut": 1}
    glued = b'2026/11/20-20:04:10.122835 7 EVENT_LOG_v1 {"time_micros": 1, "job": 3, "event": "flu'
    last = only(glued + b'{"time_micros": 2, "job": 4, "event": "table_file_deletion"}\n')
    assert isinstance(last, TableFileDeleted)
    assert (last.job, last.damaged) == (4, True)


@pytest.mark.parametrize(
    "json", ["", "{}", "[]", "7", "{", '{"event": "x"}', '{"time_micros": 7}', '{"time_micros": -7, "event": "x"}']
)
def test_what_tells_nothing_is_unread(json: str) -> None:
    parser = LogParser()
    assert parsed(line(f"EVENT_LOG_v1 {json}"), parser) == []
    assert parser.unread == {"event_log": 1}
