"""What the LOG says of a database now, line by line; test_real.py has it against RocksDB's own counters."""

from __future__ import annotations

import random
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rocksdict import Options, Rdict, WriteBatch

from adocd.model.options import OPTIONS
from adocd.probes.log import LogFollower, LogParser, read_log
from adocd.probes.log.dump_events import DbStats, StatisticsDump
from adocd.probes.log.live_options import as_options_file
from adocd.probes.log.state import LogState

from .lines import AT_S, event, line, parsed
from .sources import MIB, tickers_in

MEMTABLE = "[default] New memtable created with log file: #8. Immutable memtables: 1."
SUMMARY = "[default] Level summary: files[3 1 0] max score 0.25, estimated pending compaction bytes {}"
STOPPED = "[WARN] [db/column_family.cc:944] [default] Stopping writes because {}"


def state_of(*lines: bytes) -> LogState:
    return fed(LogState(), *lines)


def fed(state: LogState, *lines: bytes) -> LogState:
    for each in parsed(lines):
        state.add(each)
    return state


def opened(session: str | None = "S1", time_s: float = AT_S, batch: int = MIB) -> bytes:
    """Write the lines that RocksDB writes at an open, and again in each file of the same open."""
    header = line("RocksDB version: 9.8.4", time_s) + line("DB SUMMARY", time_s)
    if session is not None:
        header += line(f"DB Session ID:  {session}", time_s)
    header += line("                                         Options.max_background_jobs: 2", time_s)
    header += line("[/column_family.cc:629] --------------- Options for column family [default]:", time_s)
    return header + line(f"        Options.write_buffer_size: {batch}", time_s)


def flush(job: int = 3, *, levels: str = "[1, 0]", immutable: int = 0, size: int = 1000, at_s: float = AT_S) -> bytes:
    """Write the lines of a flush."""
    return (
        event(f'"job": {job}, "event": "flush_started", "cf_name": "default", "num_memtables": 1', at_s)
        + event(f'"job": {job}, "event": "table_file_creation", "cf_name": "default", "file_size": {size}', at_s)
        + event(
            f'"job": {job}, "event": "flush_finished", "lsm_state": {levels}, "immutable_memtables": {immutable}', at_s
        )
    )


def write_with_small_logs(path: Path) -> tuple[dict[str, int], float]:
    """Open a database, write to it until its LOG was rotated, and close it; its tickers, and when they were read."""
    options = Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(MIB)
    options.set_target_file_size_base(MIB)
    options.set_max_log_file_size(40_000)
    options.set_keep_log_file_num(1000)
    options.set_stats_dump_period_sec(0)
    options.enable_statistics()
    database = Rdict(str(path), options)
    draw = random.Random(7)  # noqa: S311
    for _ in range(1500):
        batch = WriteBatch(raw_mode=True)
        for _ in range(100):
            batch.put(draw.randbytes(16), draw.randbytes(100))
        database.write(batch)
    database.flush()
    database.compact_range(None, None)
    found = dict(tickers_in(options.get_statistics() or "")), time.time()
    database.close()
    return found


def test_a_log_rotated_by_its_size_is_one_session(tmp_path: Path) -> None:
    """The first open's files are there, too, and count for nothing."""
    path = tmp_path / "db"
    write_with_small_logs(path)
    of_before = set(path.glob("LOG*"))
    tickers, at_s = write_with_small_logs(path)
    assert len(set(path.glob("LOG.old.*")) - of_before) > 2
    follower, state = LogFollower(path / "LOG", whole_session=True, poll_bytes_most=10_000), LogState()
    while not follower.caught_up:
        for each in follower.poll():
            if each.time_s < at_s:
                state.add(each)
    assert state.counters.flushes == tickers["rocksdb.db.flush.micros"] > 3
    assert state.counters.compactions == tickers["rocksdb.compaction.times.micros"] > 1
    assert state.counters.compaction_written_bytes == tickers["rocksdb.compact.write.bytes"]
    without = LogState()
    for each in read_log(path / "LOG", rotated=False):
        without.add(each)
    assert (without.counters.flushes or 0) < state.counters.flushes


# -- line by line


def test_nothing_is_known_before_it_is_told() -> None:
    state = state_of(opened())
    tree = state.trees["default"]
    assert (tree.level_files, tree.immutable_memtables, tree.pending_compaction_bytes) == (None, None, None)
    assert (state.session, state.rocksdb_version, state.opened_s) == ("S1", "9.8.4", AT_S)
    assert state.dump is None
    counters = state.counters
    assert (counters.writes, counters.written_bytes, counters.wal_bytes, counters.stall_micros) == (None,) * 4
    assert (counters.flushes, counters.flush_written_bytes, counters.compactions) == (0, 0, 0)


def test_memtables_levels_and_pending_bytes_as_they_come() -> None:
    state = state_of(opened(), line(MEMTABLE, AT_S + 1))
    tree = state.trees["default"]
    assert tree.immutable_memtables == 2
    fed(state, flush(levels="[1, 0]", immutable=1, at_s=AT_S + 2))
    assert (tree.level_files, tree.immutable_memtables) == ((1, 0), 1)
    fed(state, line(SUMMARY.format(77), AT_S + 3))
    assert (tree.level_files, tree.pending_compaction_bytes) == ((3, 1, 0), 77)
    fed(state, flush(levels="[4, 1, 0]", at_s=AT_S + 1))  # out of order
    assert tree.level_files == (3, 1, 0)
    assert state.counters.flushes == 2
    assert state.counters.flush_written_bytes == 2000


def test_pending_bytes_of_a_line_about_a_stall_hold_until_the_next_job() -> None:
    state = state_of(opened(), line(STOPPED.format("of estimated pending compaction bytes 999")))
    found = [state.trees["default"].pending_compaction_bytes]
    fed(state, flush(at_s=AT_S + 1))
    found.append(state.trees["default"].pending_compaction_bytes)
    fed(state, line(SUMMARY.format(77), AT_S + 2), flush(at_s=AT_S + 3))
    found.append(state.trees["default"].pending_compaction_bytes)
    assert found == [999, None, 77], "a version that says it after each job says it until the next one"


def test_jobs_that_run() -> None:
    begin = '"job": {}, "event": "flush_started", "num_memtables": 1'
    compact = '"job": 9, "event": "compaction_started", "cf_name": "default", "input_data_size": 5'
    state = state_of(opened(), event(begin.format(7)), event(begin.format(8)), event(compact))
    assert (state.running_flushes, state.running_compactions) == (2, 1)
    fed(state, event('"job": 8, "event": "flush_finished", "lsm_state": [1]'))
    assert (state.running_flushes, state.running_compactions) == (1, 1)
    fed(state, opened("S2", AT_S + 9))
    assert (state.running_flushes, state.running_compactions) == (0, 0)


def test_another_open_begins_anew() -> None:
    state = state_of(opened(), flush(), line("Shutdown complete"))
    assert state.is_closed
    state = fed(state, opened("S2", AT_S + 60))
    assert (state.session, state.opened_s, state.is_closed) == ("S2", AT_S + 60, False)
    assert state.counters.flushes == 0
    assert state.trees["default"].level_files is None


def test_the_same_open_goes_on_in_the_next_file() -> None:
    """RocksDB repeats the lines of the open there, with the options of the open."""
    changed = line("[db/db_impl/db_impl.cc:1] SetOptions() on column family [default], inputs:") + line(
        "write_buffer_size: 2097152"
    )
    state = state_of(opened(), flush(), changed, line("[default] SetOptions() succeeded"))
    assert state.options.now["default"]["write_buffer_size"] == str(2 * MIB)
    fed(state, opened(time_s=AT_S + 60))
    fed(state, flush(at_s=AT_S + 61))
    assert state.options.now["default"]["write_buffer_size"] == str(2 * MIB)
    assert state.options.opened_with["default"]["write_buffer_size"] == str(MIB)
    assert (state.counters.flushes, state.opened_s) == (2, AT_S)


def test_an_open_without_a_session_id() -> None:
    state = state_of(opened(None), flush(), opened(None, AT_S + 60), flush(at_s=AT_S + 61))
    assert state.session == f"opened at {AT_S + 60:.6f}"
    assert state.counters.flushes == 1


def test_changes_that_failed_and_those_that_the_options_file_lacks() -> None:
    begin = "SetOptions() on column family [default], inputs:"
    state = state_of(
        opened(),
        line(begin) + line("write_buffer_size: 64M") + line("[default] SetOptions() failed"),
    )
    assert state.options.now["default"]["write_buffer_size"] == str(MIB)
    fed(
        state,
        line(begin) + line("write_buffer_size: 64M") + line("[default] SetOptions() succeeded"),
        line("Unable to persist options in SetOptions() -- IO error: No space left on device"),
    )
    assert state.options.now["default"]["write_buffer_size"] == str(64 * MIB)


def test_options_are_spelled_as_in_an_options_file() -> None:
    assert as_options_file(
        {"disable_auto_compactions": "0", "write_buffer_size": "64M", "max_compaction_bytes": "many", "other": "1"}
    ) == {"disable_auto_compactions": "false", "write_buffer_size": str(64 * MIB)}
    assert as_options_file({"max_background_flushes": "-1"}) == {"max_background_flushes": "-1"}


DUMP = """** DB Stats **
Uptime(secs): {uptime} total, {interval} interval
Cumulative writes: {total}K writes, {total}K keys, 3 commit groups, 1.0 writes per commit group, ingest: 1.00 GB, 1 MB/s
Cumulative WAL: 12K writes, 0 syncs, 12000.00 writes per sync, written: 1.00 GB, 1.00 MB/s
Cumulative stall: 00:01:00.000 H:M:S, 10.0 percent
Interval writes: 6000 writes, 6000 keys, 3 commit groups, 1.0 writes per commit group, ingest: 600.00 MB, 1.00 MB/s
Interval WAL: 6000 writes, 0 syncs, 6000.00 writes per sync, written: 0.60 GB, 1.00 MB/s
Interval stall: 00:02:30.000 H:M:S, 25.0 percent
"""


def dumped(at_s: float, **figures: object) -> bytes:
    values = {"uptime": 1200.0, "interval": 600.0, "total": 12} | figures
    return line("[db/db_impl/db_impl.cc:1] ------- DUMPING STATS -------", at_s) + DUMP.format(**values).encode()


def test_a_dumps_rates_are_over_its_own_interval() -> None:
    state = state_of(opened(), dumped(AT_S + 600), line("Shutdown: canceling all background work", AT_S + 601))
    dump = state.dump
    assert dump is not None
    assert (dump.time_s, dump.interval_s, dump.writes_per_s, dump.stalled_fraction) == (AT_S + 600, 600.0, 10.0, 0.25)
    assert dump.written_bytes_per_s == MIB
    counters = state.counters
    assert (counters.writes, counters.written_bytes, counters.stall_micros) == (12_000, 1 << 30, 60_000_000)


def test_a_dump_that_other_lines_break_into_is_one() -> None:
    state = state_of(opened())
    state.add(DbStats(AT_S, {"keys": 9.0}, {"uptime_s": 10.0}, {}))
    state.add(DbStats(AT_S + 0.2, {"stall_s": 2.0}, {"keys": 50.0, "stall_s": 5.0}, {}))
    assert state.dump is not None
    assert (state.dump.time_s, state.dump.writes_per_s, state.dump.stalled_fraction) == (AT_S, 5.0, 0.5)
    assert (state.counters.writes, state.counters.stall_micros) == (9, 2_000_000)
    state.add(DbStats(AT_S + 600, {}, {"uptime_s": 600.0}, {}))
    assert (state.dump.writes_per_s, state.dump.interval_s) == (None, 600.0)


def test_the_dump_of_the_open_counts_nothing_until_the_next() -> None:
    """RocksDB dumps as it opens the database, and then not for 600 s: its zeros are no rate of now."""
    tickers = {"rocksdb.number.keys.written": 0, "rocksdb.stall.micros": 0}
    for uptime_s, told in ((0.0, {}), (5.0, {}), (5.0, tickers)):
        state = state_of(opened())
        state.add(DbStats(AT_S, {"keys": 0.0, "stall_s": 0.0, "uptime_s": uptime_s}, {"uptime_s": uptime_s}, {}))
        if told:
            state.add(StatisticsDump(AT_S, told, {}))
        counters = state.counters
        assert (state.dump, counters.writes, counters.written_bytes, counters.stall_micros) == (None,) * 4
        state.add(DbStats(AT_S + 600, {"keys": 0.0, "uptime_s": 605.0}, {"keys": 0.0, "uptime_s": 600.0}, {}))
        assert state.counters.writes == 0, "now that is a figure"
        assert state.dump is not None
        assert state.dump.writes_per_s == 0


def test_exact_counters_never_give_way_to_rounded_ones() -> None:
    tickers = line("STATISTICS:") + b" rocksdb.number.keys.written COUNT : 12345\n"
    state = state_of(opened(), dumped(AT_S), tickers, line("x"))
    assert state.counters.writes == 12_345
    fed(state, dumped(AT_S + 600, total=12), line("x"))
    assert state.counters.writes == 12_345


def test_damage_does_not_grow_it() -> None:
    """Jobs that never end, and column families by the thousand."""
    state = state_of(
        opened(),
        *(event(f'"job": {n}, "event": "compaction_started", "cf_name": "cf{n}"') for n in range(6000)),
        *(line(MEMTABLE.replace("default", f"cf{n}")) for n in range(6000)),
    )
    assert state.running_compactions <= 4096
    assert len(state.trees) <= 4096


@given(
    st.lists(
        st.sampled_from(
            [
                opened(),
                opened("S2"),
                opened(None),
                flush(),
                line(MEMTABLE),
                line(SUMMARY.format(5)),
                line(STOPPED.format("we have 5 level-0 files")),
                dumped(AT_S),
                line("Shutdown complete"),
            ]
        ),
        max_size=20,
    ),
    st.randoms(use_true_random=False),
)
def test_it_takes_any_order_and_any_pieces(pieces: list[bytes], draw: random.Random) -> None:
    data = b"".join(pieces)
    parser, state, at = LogParser(), LogState(), 0
    while at < len(data):
        size = draw.randint(1, 300)
        for each in parser.feed(data[at : at + size]):
            state.add(each)
        at += size
    for each in parser.finish():
        state.add(each)
    whole = state_of(*pieces)
    assert state.counters == whole.counters
    assert (state.session, state.trees, state.options.now) == (whole.session, whole.trees, whole.options.now)
    for values in state.options.now.values():
        assert values.keys() <= OPTIONS.keys()
