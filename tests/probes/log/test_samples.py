"""Samples of real LOGs of three versions (samples/, cut from runs of db_bench, rocksdict and MariaDB)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from adocd.probes.log import LogParser, read_log
from adocd.probes.log.dump_events import ColumnFamilyStats, CompactionStats, StatisticsDump
from adocd.probes.log.events import (
    HeaderLine,
    LevelSummary,
    LoggedStall,
    OptionsChanged,
    OptionsListed,
)

from .lines import SAMPLES, parsed

EXPECTED = {
    "6.29.5": {"flush_finished": 3, "trivial_move": 0, "options_changed": 3, "stall": 0, "statistics": 1, "manual": 7},
    "7.8.3": {"flush_finished": 5, "trivial_move": 0, "options_changed": 0, "stall": 4, "statistics": 1, "manual": 0},
    "9.8.4": {"flush_finished": 2, "trivial_move": 0, "options_changed": 3, "stall": 2, "statistics": 1, "manual": 3},
}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_sample(sample: Path) -> None:
    parser = LogParser()
    events = list(read_log(sample, parser=parser))
    version = sample.stem.removeprefix("rocksdb-")
    assert parser.unread == {}
    assert parser.utc_offset_s == 0
    assert HeaderLine(events[0].time_s, "rocksdb_version", version) == events[0]
    kinds = Counter(event.kind for event in events)
    assert {kind: kinds[kind] for kind in EXPECTED[version]} == EXPECTED[version]
    options = {event.column_family: event.values for event in events if isinstance(event, OptionsListed)}
    assert int(options["default"]["write_buffer_size"]) == 1 << 20
    assert options[None]["max_background_jobs"] in ("2", "4")
    assert options["default"]["table_factory.block_size"] == "4096"
    statistics = next(event for event in events if isinstance(event, StatisticsDump))
    assert len(statistics.tickers) > 150
    assert len(statistics.histograms) > 40
    assert statistics.tickers["rocksdb.flush.write.bytes"] > 1 << 20
    assert all(isinstance(event.column_family, str) for event in events if isinstance(event, LevelSummary))
    tables = [event for event in events if isinstance(event, CompactionStats) and event.by == "level"]
    assert {row.name for table in tables for row in table.rows} >= {"L0", "Sum", "Int"}
    assert all(len(event.stall_counts) in (8, 10) for event in events if isinstance(event, ColumnFamilyStats))


def test_stalls_of_7_8_3() -> None:
    stalls = [event for event in parsed(SAMPLES[1].read_bytes()) if isinstance(event, LoggedStall)]
    assert [(s.condition, s.cause, s.figure, s.limit, s.rate_bytes_per_s) for s in stalls[:3]] == [
        ("stopped", "memtable", 2, 2, None),
        ("delayed", "pending_bytes", 21450221, None, 8388608),
        ("delayed", "pending_bytes", 21450221, None, 6710886),
    ]


def test_changes_of_9_8_4() -> None:
    changes = [event for event in parsed(SAMPLES[2].read_bytes()) if isinstance(event, OptionsChanged)]
    assert [(c.column_family, c.values, c.outcome) for c in changes] == [
        ("default", {"write_buffer_size": "2097152"}, "succeeded"),
        ("default", {"nosuch": "1"}, "failed"),
        ("default", {"write_buffer_size": "x"}, "failed"),
    ]
