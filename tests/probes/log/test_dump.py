"""The statistics dump, old wordings and new; every figure that the thesis's parser reads (warlo 2018, appendix A)."""

from __future__ import annotations

import pytest

from adocd.probes.log import LogParser
from adocd.probes.log.dump_events import ColumnFamilyStats, CompactionStats, DbStats, ReadLatency, StatisticsDump
from adocd.probes.log.events import MemtableSwitched

from .lines import AT_S, line, parsed

MIB = 1 << 20
GIB = 1 << 30
HEAD = line("[db/db_impl/db_impl.cc:1105] ------- DUMPING STATS -------") + line("[db/db_impl/db_impl.cc:1107] ")
END = line("[db/version_set.cc:5056] Creating manifest 5")
DB = b"""** DB Stats **
Uptime(secs): 10.3 total, 1.2 interval
Cumulative writes: 4389 writes, 877K keys, 4389 commit groups, 1.0 writes per commit group, ingest: 0.10 GB, 9.73 MB/s
Cumulative WAL: 4388 writes, 3 syncs, 1462.00 writes per sync, written: 0.10 GB, 9.73 MB/s
Cumulative stall: 01:02:3.815 H:M:S, 37.1 percent
Interval writes: 720 writes, 144K keys, 720 commit groups, 1.0 writes per commit group, ingest: 16.42 MB, 16.30 MB/s
Interval WAL: 721 writes, 0 syncs, 721.00 writes per sync, written: 0.02 GB, 16.32 MB/s
Interval stall: 00:00:0.229 H:M:S, 22.7 percent
"""
TABLE = b"""
** Compaction Stats [a [b] **
Level    Files   Size     Score Read(GB)  Rn(GB) Rnp1(GB) Write(GB) Comp(cnt) Avg(sec) KeyIn KeyDrop
----------------------------------------------------------------------------------------------------
  L0      2/1    3.46 MB   0.5      0.0     0.0      0.0       0.1        17    0.032       0      0
 L12     10/0    1.50 GB  13.0      2.5     0.0      0.0       0.1         4    0.150    283K      7
 Sum     12/1    1.50 GB   0.0      2.5     0.0      0.0       0.2        21    0.060    456K      7
 Int      0/0    0.00 KB   0.0      0.0     0.0      0.0       0.0         9    0.068    147K      0
"""
PRIORITY = b"""
** Compaction Stats [a [b] **
Priority    Files   Size     Score Read(GB)
-------------------------------------------
 Low      0/0    0.00 KB   0.0      0.1
High      0/0    0.00 KB   0.0      0.0

Blob file count: 0, total size: 0.0 GB, garbage size: 0.0 GB, space amp: 0.0

"""
FAMILY = b"""Uptime(secs): 10.3 total, 1.2 interval
Flush(GB): cumulative 0.052, interval 0.001
AddFile(GB): cumulative 0.000, interval 0.000
AddFile(Total Files): cumulative 4, interval 1
AddFile(L0 Files): cumulative 3, interval 0
AddFile(Keys): cumulative 2, interval 0
Cumulative compaction: 0.29 GB write, 28.71 MB/s write, 0.24 GB read, 23.57 MB/s read, 4.8 seconds
Interval compaction: 0.05 GB write, 5.00 MB/s write, 0.04 GB read, 4.00 MB/s read, 0.7 seconds
"""
OLD = (
    b"Stalls(count): 1 level0_slowdown, 2 level0_slowdown_with_compaction, 3 level0_numfiles, 4 level0_numfiles_with_"
    b"compaction, 5 stop for pending_compaction_bytes, 6 slowdown for pending_compaction_bytes, 7 memtable_compaction, "
    b"8 memtable_slowdown, interval 9 total count\n"
)
NEW = (
    b"Estimated pending compaction bytes: 1234\n"
    b"Write Stall (count): cf-l0-file-count-limit-delays-with-ongoing-compaction: 2, "
    b"cf-l0-file-count-limit-stops-with-ongoing-compaction: 4, l0-file-count-limit-delays: 1, l0-file-count-limit-"
    b"stops: 3, memtable-limit-delays: 8, memtable-limit-stops: 7, pending-compaction-bytes-delays: 6, "
    b"pending-compaction-bytes-stops: 5, total-delays: 15, total-stops: 15\ninterval: 9 total count\n"
)
LATENCY = b"""Block cache LRUCache@0x55ebf13613b0#8769 capacity: 32.00 MB usage: 0.08 KB
Block cache entry stats(count,size,portion): Misc(1,0.00 KB,0%)

** File Read Latency Histogram By Level [a [b] **
** Level 0 read latency histogram (micros):
Count: 13848 Average: 5.1472  StdDev: 221.52
Min: 0  Median: 0.5609  Max: 22857
Percentiles: P50: 0.56 P75: 0.84 P99: 3.21 P99.9: 157.28 P99.99: 8630.16
------------------------------------------------------
[       0,       1 ]    12344  89.139%  89.139% ##################
(       1,       2 ]     1158   8.362%  97.501% ##

** Level 6 read latency histogram (micros):
Count: 2 Average: 1.0000  StdDev: 0.00
Min: 1  Median: 1.0000  Max: 1
Percentiles: P50: 1.00 P75: 1.00 P99: 1.00 P99.9: 1.00 P99.99: 1.00
------------------------------------------------------
[       0,       1 ]        2 100.000% 100.000% ####################

"""
COUNTS = {
    "l0_slowdowns": 1,
    "l0_slowdowns_with_compaction": 2,
    "l0_stops": 3,
    "l0_stops_with_compaction": 4,
    "pending_bytes_stops": 5,
    "pending_bytes_slowdowns": 6,
    "memtable_stops": 7,
    "memtable_slowdowns": 8,
}


@pytest.mark.parametrize(("stalls", "more"), [(OLD, {}), (NEW, {"total_slowdowns": 15, "total_stops": 15})])
def test_a_whole_dump(stalls: bytes, more: dict[str, int]) -> None:
    parser = LogParser()
    data = HEAD + DB + TABLE + PRIORITY + FAMILY + stalls + LATENCY + END
    database, by_level, by_priority, family, level0, level6 = parsed(data, parser)
    assert parser.unread == {}
    assert {each.time_s for each in (database, by_level, by_priority, family, level0, level6)} == {AT_S}

    assert isinstance(database, DbStats)
    assert database.cumulative == pytest.approx(
        {
            "uptime_s": 10.3,
            "writes": 4389,
            "keys": 877_000,
            "commit_groups": 4389,
            "writes_per_commit_group": 1,
            "ingest_bytes": 0.1 * GIB,
            "ingest_bytes_per_s": 9.73 * MIB,
            "wal_writes": 4388,
            "wal_syncs": 3,
            "wal_writes_per_sync": 1462,
            "wal_written_bytes": 0.1 * GIB,
            "wal_bytes_per_s": 9.73 * MIB,
            "stall_s": 3723.815,
            "stall_percent": 37.1,
        }
    )
    assert database.interval["uptime_s"] == 1.2
    assert database.interval["ingest_bytes"] == pytest.approx(16.42 * MIB)
    assert database.interval["ingest_bytes_per_s"] == pytest.approx(16.3 * MIB)
    assert (database.interval["stall_s"], database.interval["stall_percent"]) == (0.229, 22.7)

    assert isinstance(by_level, CompactionStats)
    assert (by_level.column_family, by_level.by) == ("a [b", "level")
    assert [row.name for row in by_level.rows] == ["L0", "L12", "Sum", "Int"]
    row = by_level.rows[1]
    assert (row.files, row.being_compacted, row.size_bytes) == (10, 0, 1.5 * GIB)
    assert (row.values["Score"], row.values["Read(GB)"], row.values["KeyIn"]) == (13.0, 2.5, 283_000)
    assert by_level.rows[0].being_compacted == 1

    assert isinstance(by_priority, CompactionStats)
    assert (by_priority.by, [row.name for row in by_priority.rows]) == ("priority", ["Low", "High"])

    assert isinstance(family, ColumnFamilyStats)
    assert family.column_family == "a [b"
    assert family.stall_counts == COUNTS | more
    assert family.pending_compaction_bytes == (1234 if more else None)
    assert family.cumulative == pytest.approx(
        {
            "uptime_s": 10.3,
            "flush_bytes": 0.052 * GIB,
            "add_file_bytes": 0,
            "add_file_total_files": 4,
            "add_file_l0_files": 3,
            "add_file_keys": 2,
            "compaction_write_bytes": 0.29 * GIB,
            "compaction_write_bytes_per_s": 28.71 * MIB,
            "compaction_read_bytes": 0.24 * GIB,
            "compaction_read_bytes_per_s": 23.57 * MIB,
            "compaction_s": 4.8,
        }
    )
    assert family.interval["compaction_write_bytes_per_s"] == 5 * MIB
    assert family.interval["stalls"] == 9

    assert isinstance(level0, ReadLatency)
    assert (level0.column_family, level0.level, level0.count) == ("a [b", 0, 13848)
    assert (level0.average_us, level0.deviation_us) == (5.1472, 221.52)
    assert (level0.min_us, level0.median_us, level0.max_us) == (0, 0.5609, 22857)
    assert level0.percentiles_us == {50: 0.56, 75: 0.84, 99: 3.21, 99.9: 157.28, 99.99: 8630.16}
    assert isinstance(level6, ReadLatency)
    assert (level6.level, level6.count) == (6, 2)


STATISTICS = b""" rocksdb.block.cache.miss COUNT : 5
rocksdb.flush.write.bytes COUNT : 18446744073709551615
rocksdb.db.get.micros P50 : 1.500000 P95 : 2.000000 P99 : 3.000000 P100 : 4.000000 COUNT : 9 SUM : 20
rocksdb.db.write.micros P50 : 0.000000 P95 : 0.000000 P99 : 0.000000 P100 : 0.000000 COUNT : 0 SUM : 0
"""


def test_statistics() -> None:
    (found,) = parsed(line("[db/db_impl/db_impl.cc:788] STATISTICS:") + STATISTICS + END)
    assert isinstance(found, StatisticsDump)
    assert found.tickers == {"rocksdb.block.cache.miss": 5, "rocksdb.flush.write.bytes": (1 << 64) - 1}
    histogram = found.histograms["rocksdb.db.get.micros"]
    assert (histogram.count, histogram.sum) == (9, 20)
    assert histogram.percentiles == {50: 1.5, 95: 2, 99: 3, 100: 4}
    assert found.histograms["rocksdb.db.write.micros"].count == 0


def test_lines_that_break_in_make_two_events_of_a_section() -> None:
    parser = LogParser()
    between = line("[x.cc:1] [a] New memtable created with log file: #8. Immutable memtables: 3.", AT_S + 1)
    lines = DB.splitlines(keepends=True)
    tickers = STATISTICS.splitlines(keepends=True)
    data = (
        HEAD
        + b"".join(lines[:3])
        + between
        + b"".join(lines[3:])
        + line("[x.cc:1] STATISTICS:")
        + b"".join(tickers[:1])
        + between
        + b"".join(tickers[1:])
        + END
    )
    found = parsed(data, parser)
    assert parser.unread == {}
    assert [type(each) for each in found] == [
        DbStats,
        MemtableSwitched,
        DbStats,
        StatisticsDump,
        MemtableSwitched,
        StatisticsDump,
    ]
    first, second = (each for each in found if isinstance(each, DbStats))
    assert len({*first.cumulative, *second.cumulative}) == 14
    assert len({*first.interval, *second.interval}) == 14


@pytest.mark.parametrize(
    "broken",
    [
        b"Cumulative writes: 4389 writes, 877K ke",
        b"  L0      2/1    3.46 MB   0.5",
        b"  L0      2    3.46 MB   0.5      0.0     0.0      0.0       0.1        17    0.032       0      0",
        b"Stalls(count): ",
        b"** Something New **",
        b"Something new: 7",
    ],
)
def test_what_cannot_be_read_is_counted(broken: bytes) -> None:
    parser = LogParser()
    parsed(HEAD + DB + TABLE + broken + b"\n" + END, parser)
    assert parser.unread == {"dump": 1}


def test_a_column_that_is_not_there_yet() -> None:
    table = (
        TABLE.replace(b"Write(GB) ", b"Write(GB) WPreComp(GB) ")
        .replace(b"0.1  ", b"0.1 0.7 ")
        .replace(b"0.2  ", b"0.2 0.7 ")
    )
    (found,) = parsed(HEAD + table.replace(b" 0.0         9", b" 0.0  0.7    9"))
    assert isinstance(found, CompactionStats)
    assert [row.values["WPreComp(GB)"] for row in found.rows] == [0.7, 0.7, 0.7, 0.7]


def test_the_allocator_s_report_is_passed_over() -> None:
    parser = LogParser()
    report = (
        line("[x.cc:1] ------- Malloc STATS -------") + line("[x.cc:1] ") + b"___ Begin jemalloc statistics ___\n7: 8\n"
    )
    assert [type(each) for each in parsed(report + HEAD + DB, parser)] == [DbStats]
    assert parser.unread == {}
