"""The parser against LOGs of three versions, made here: what it finds equals RocksDB's own counters, exactly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from adocd.probes.log import LogParser, read_log
from adocd.probes.log.dump_events import ColumnFamilyStats, CompactionStats, StatisticsDump
from adocd.probes.log.events import (
    CompactionFinished,
    CompactionStarted,
    FlushFinished,
    HeaderLine,
    LogEvent,
    LoggedStall,
    OptionsChanged,
    OptionsListed,
)
from adocd.probes.log.state import LogState
from adocd.probes.options_file import OptionsFile, newest_of

from .manifest import is_of_jobs
from .sources import Made, by_db_bench, by_mariadb, by_rocksdict

COUNTED = {"delayed": "slowdowns", "stopped": "stops"}


@pytest.fixture(
    scope="module",
    params=[(by_db_bench, "7.8.3"), (by_rocksdict, "9.8.4"), (by_mariadb, "6.29.5")],
    ids=["db_bench", "rocksdict", "mariadb"],
)
def real(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Made, list[LogEvent], LogParser]:
    make: Callable[[Path], Made] = request.param[0]
    made = make(tmp_path_factory.mktemp("log"))
    parser = LogParser()
    return request.param[1], made, list(read_log(made.log, parser=parser)), parser


Real = tuple[str, Made, list[LogEvent], LogParser]


def test_every_line_is_read(real: Real) -> None:
    version, made, events, parser = real
    assert parser.unread == {}
    assert parser.lines == made.log.read_bytes().count(b"\n")
    headers = {event.name: event.value for event in events if isinstance(event, HeaderLine)}
    assert headers["rocksdb_version"] == version
    assert headers["db_session_id"]
    listed = {event.column_family: event.values for event in events if isinstance(event, OptionsListed)}
    assert listed["default"]["level0_file_num_compaction_trigger"] == "4"
    assert int(listed["default"]["table_factory.block_size"]) > 0
    assert "max_background_jobs" in listed[None]


def test_flushes_equal_the_tickers(real: Real) -> None:
    """Flush for flush; the ticker has in addition what the flush's own thread wrote to the MANIFEST, to the byte."""
    _, made, events, _ = real
    flushes = [event for event in events if isinstance(event, FlushFinished) and event.time_s < made.at_s]
    assert len(flushes) > 3
    if "rocksdb.db.flush.micros" in made.tickers:
        assert len(flushes) == made.tickers["rocksdb.db.flush.micros"]
    assert all(event.column_family and event.level_files and event.elapsed_s is not None for event in flushes)
    tables = sum(event.written_bytes or 0 for event in flushes)
    beside = made.tickers["rocksdb.flush.write.bytes"] - tables
    print(f"tables {tables:,} bytes, flush.write.bytes {beside:+,} beside them")
    assert is_of_jobs(made.directory, len(flushes), beside)


def test_compactions_equal_the_tickers(real: Real) -> None:
    """Bytes written are equal to the byte; bytes read are close to the inputs' size, but not it.

    The ticker counts what the job's thread read through the file system. That leaves out what it has in memory
    already (index and properties of tables that are open), and adds what it read of a table twice, to open it.
    """
    _, made, events, _ = real
    compactions = [event for event in events if isinstance(event, CompactionFinished) and event.time_s < made.at_s]
    assert len(compactions) > 2
    assert sum(event.written_bytes or 0 for event in compactions) == made.tickers["rocksdb.compact.write.bytes"]
    if "rocksdb.compaction.times.micros" in made.tickers:
        assert len(compactions) == made.tickers["rocksdb.compaction.times.micros"]
    started = sum(event.input_bytes or 0 for event in events if isinstance(event, CompactionStarted))
    assert started == sum(event.input_bytes or 0 for event in compactions)
    read = made.tickers["rocksdb.compact.read.bytes"]
    print(f"inputs {started:,} bytes, compact.read.bytes {read:,}: {read - started:+,}")
    assert 0.97 * started < read <= 1.01 * started


def test_the_last_dump_says_the_same(real: Real) -> None:
    version, made, events, _ = real
    last = [event for event in events if isinstance(event, StatisticsDump)][-1]
    assert last.histograms["rocksdb.db.write.micros"].count > 0
    if version == "7.8.3":  # db_bench closes before there is a dump at rest
        assert 0 < last.tickers["rocksdb.flush.write.bytes"] <= made.tickers["rocksdb.flush.write.bytes"]
        return
    for name in ("rocksdb.flush.write.bytes", "rocksdb.compact.write.bytes", "rocksdb.compact.read.bytes"):
        assert last.tickers[name] == made.tickers[name]


def test_stalls_equal_the_counts_of_cfstats(real: Real) -> None:
    """Side by side with RocksDB's own counts, in the last dump.

    They are equal, because RocksDB counts and writes the line in the same place
    (RecalculateWriteStallConditions). Both count superversions installed while the condition held, not stalls that a
    writer would notice: those are fewer and last.
    """
    version, _, events, _ = real
    stats = {event.column_family: event for event in events if isinstance(event, ColumnFamilyStats)}
    until = max(event.time_s for event in stats.values())
    found: Counter[tuple[str, str]] = Counter()
    surely: Counter[tuple[str, str]] = Counter()
    for event in events:
        if isinstance(event, LoggedStall) and event.time_s <= until:
            found[event.column_family, f"{event.cause}_{COUNTED[event.condition]}"] += 1
            # A dump is stamped some moments after its figures were taken; two databases are at rest then.
            surely[event.column_family, f"{event.cause}_{COUNTED[event.condition]}"] += event.time_s < until - 0.2
    compared = 0
    for family, event in stats.items():
        for name, count in sorted(event.stall_counts.items()):
            if name.startswith(("memtable", "l0", "pending")) and "with_compaction" not in name:
                print(f"{version} [{family}] {name}: {count} in cfstats, {found[family, name]} lines")
                compared += count > 0
                assert surely[family, name] <= count <= found[family, name]
                assert version == "7.8.3" or found[family, name] == count
    assert found, "it was to stall"
    assert compared > 0


def test_the_tables_are_whole(real: Real) -> None:
    _, _, events, _ = real
    tables = [event for event in events if isinstance(event, CompactionStats) and event.column_family == "default"]
    by_level = [table for table in tables if table.by == "level"][-1]
    rows = {row.name: row for row in by_level.rows}
    assert "L0" in rows
    assert rows["Sum"].values["Comp(cnt)"] >= rows["L0"].values["Comp(cnt)"] > 0
    assert rows["Sum"].files == sum(row.files for name, row in rows.items() if name.startswith("L"))
    assert {row.name for row in [table for table in tables if table.by == "priority"][-1].rows} & {
        "Low",
        "High",
        "User",
    }


def test_changed_options(real: Real) -> None:
    version, _, events, _ = real
    changes = [event for event in events if isinstance(event, OptionsChanged)]
    if version == "7.8.3":
        assert changes == [], "db_bench changes nothing"
    elif version == "9.8.4":
        assert [(c.column_family, c.outcome) for c in changes] == [("default", "succeeded"), ("default", "failed")]
        assert changes[0].values == {"write_buffer_size": "2097152", "disable_auto_compactions": "false"}
    else:
        assert (None, {"max_background_jobs": "4"}, "succeeded") in [
            (c.column_family, c.values, c.outcome) for c in changes
        ]


# -- its state


def state_of(events: Iterable[LogEvent]) -> LogState:
    state = LogState()
    for each in events:
        state.add(each)
    return state


@pytest.fixture(scope="module")
def state(real: Real) -> LogState:
    """What the LOG says until the database was at rest."""
    _, made, events, _ = real
    return state_of(event for event in events if event.time_s < made.at_s)


def test_the_counters_equal_the_statistics(real: Real, state: LogState) -> None:
    """Counts and bytes of compactions to the byte; of flushes but for what they write to the MANIFEST, to the byte."""
    _, made, _, _ = real
    counters, tickers = state.counters, made.tickers
    assert counters.flushes is not None
    assert counters.flush_written_bytes is not None
    assert counters.flushes > 3
    assert counters.compaction_written_bytes == tickers["rocksdb.compact.write.bytes"]
    for count, histogram in (
        (counters.flushes, "rocksdb.db.flush.micros"),
        (counters.compactions, "rocksdb.compaction.times.micros"),
    ):
        assert histogram not in tickers or count == tickers[histogram]
    beside = tickers["rocksdb.flush.write.bytes"] - counters.flush_written_bytes
    assert is_of_jobs(made.directory, counters.flushes, beside)


def test_writes_are_those_of_the_last_dump(real: Real, state: LogState) -> None:
    _, made, _, _ = real
    counters, dump = state.counters, state.dump
    assert dump is not None
    assert 0.5 < dump.interval_s < 60
    assert counters.writes is not None
    assert 0 < counters.writes <= made.tickers["rocksdb.number.keys.written"]
    assert counters.written_bytes is not None
    assert 0 < counters.written_bytes <= made.tickers["rocksdb.bytes.written"]
    assert counters.stall_micros is not None
    assert 0 < counters.stall_micros <= made.tickers["rocksdb.stall.micros"]


def test_the_trees_are_the_files_there(real: Real) -> None:
    _, made, events, _ = real
    state = state_of(events)  # to its end, for the close may flush, too
    assert state.is_closed
    assert state.trees["default"].level_files is not None
    told = sum(sum(tree.level_files or ()) for tree in state.trees.values())
    assert told == len(list(made.directory.glob("*.sst")))
    assert state.trees["default"].immutable_memtables == 0
    assert sum(state.trees["default"].stall_counts.values()) > 0
    assert (state.running_flushes, state.running_compactions) == (0, 0)


def test_the_options_are_those_of_the_options_file(real: Real, state: LogState) -> None:
    _, made, _, _ = real
    file = newest_of(made.directory)
    assert isinstance(file, OptionsFile)
    for name, written in (*file.column_families.items(), (None, file.database)):
        told = state.options.now[name]
        assert len(told) >= 8
        assert told == {option: written[option] for option in told}
    assert state.options.unpersisted == {}
