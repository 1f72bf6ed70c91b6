"""Messages in words, in the wordings of all versions."""

from __future__ import annotations

import pytest

from adocd.probes.log import LogParser
from adocd.probes.log.events import (
    ColumnFamilyDropped,
    CompactionPressure,
    HeaderLine,
    LevelSummary,
    LoggedProblem,
    LoggedStall,
    ManualJob,
    MemtableSwitched,
    OptionsChanged,
    OptionsListed,
    Shutdown,
)

from .lines import AT_S, line, only, parsed

HERE = "[WARN] [db/column_family.cc:944] [default] "
PENDING = "because of estimated pending compaction bytes "
MEMTABLES = "because we have 4 immutable memtables (waiting for flush), max_write_buffer_number is set to 5"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Stopping writes " + MEMTABLES, ("stopped", "memtable", 4, 5, None)),
        ("Stalling writes " + MEMTABLES + " rate 8388608", ("delayed", "memtable", 4, 5, 8388608)),
        ("Stopping writes because we have 36 level-0 files", ("stopped", "l0", 36, None, None)),
        ("Stalling writes because we have 20 level-0 files rate 6710886", ("delayed", "l0", 20, None, 6710886)),
        ("Stopping writes " + PENDING + "274877906944", ("stopped", "pending_bytes", 274877906944, None, None)),
        ("Stalling writes " + PENDING + "68719476736 rate 16", ("delayed", "pending_bytes", 68719476736, None, 16)),
        ("Stalling writes because the moon is full", ("delayed", "other", None, None, None)),
    ],
)
@pytest.mark.parametrize("place", ["db/column_family.cc:944", "/db/column_family.cc:712", "column_family.cc:1"])
def test_stalls(message: str, expected: tuple[object, ...], place: str) -> None:
    stall = only(line(f"[WARN] [{place}] [a b] {message}"))
    assert isinstance(stall, LoggedStall)
    assert (stall.time_s, stall.column_family) == (AT_S, "a b")
    assert (stall.condition, stall.cause, stall.figure, stall.limit, stall.rate_bytes_per_s) == expected


@pytest.mark.parametrize("name", ["a]b", "[x] [y]", "ünï", "default"])
def test_names_of_column_families(name: str) -> None:
    stall = only(line(f"[WARN] [db/column_family.cc:9] [{name}] Stopping writes because we have 36 level-0 files"))
    assert isinstance(stall, LoggedStall)
    assert (stall.column_family, stall.figure) == (name, 36)


@pytest.mark.parametrize("cut", [20, 30, 44])
def test_a_stall_without_its_end_is_unread(cut: int) -> None:
    parser = LogParser()
    assert parsed(line(HERE + ("Stalling writes " + PENDING + "68719476736 rate 16")[:cut]), parser) == []
    assert parser.unread == {"stall": 1}


def test_pressure() -> None:
    text = "[db/column_family.cc:1053] [default] Increasing compaction threads "
    assert parsed(line(text + "because we have 8 level-0 files ") + line(text + PENDING + "17179869184")) == [
        CompactionPressure(AT_S, "default", "l0", 8),
        CompactionPressure(AT_S, "default", "pending_bytes", 17179869184),
    ]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("RocksDB version: 6.0.1", HeaderLine(AT_S, "rocksdb_version", "6.0.1")),
        ("DB Session ID:  DZEIFHJF6DZAL5KXJ7OJ", HeaderLine(AT_S, "db_session_id", "DZEIFHJF6DZAL5KXJ7OJ")),
        ("[db/db_impl/db_impl_open.cc:538] DB ID: 2fb6b101-1529", HeaderLine(AT_S, "db_id", "2fb6b101-1529")),
        ("DB SUMMARY", HeaderLine(AT_S, "db_summary", "")),
        (
            "[db/db_impl/db_impl_write.cc:2089] [a] New memtable created with log file: #8. Immutable memtables: 3.",
            MemtableSwitched(AT_S, "a", 8, 3),
        ),
        ("[x.cc:1] [a] Level summary: files[4 0 2] max score 1.25", LevelSummary(AT_S, "a", (4, 0, 2), 1.25, None)),
        (
            "[x.cc:1] [a] Level summary: base level 6 level multiplier 10.00 max bytes base 4194304 files[4 0] max "
            "score 0.50, estimated pending compaction bytes 77",
            LevelSummary(AT_S, "a", (4, 0), 0.5, 77),
        ),
        ("[x.cc:1] [a] Manual flush start.", ManualJob(AT_S, "a", "flush", "Manual flush start.")),
        ("[x.cc:1] [a] Manual compaction starting", ManualJob(AT_S, "a", "compaction", "Manual compaction starting")),
        ("[x.cc:704] Shutdown complete", Shutdown(AT_S, "Shutdown complete")),
        (
            "[ERROR] [x.cc:1] Waiting after background flush error: IO error: No space left on deviceAccumulated "
            "background error counts: 1",
            LoggedProblem(
                AT_S,
                "error",
                None,
                "Waiting after background flush error: IO error: No space left on deviceAccumulated background error "
                "counts: 1",
                True,
            ),
        ),
        (
            "[WARN] [x.cc:1] [a] [JOB 3] Compaction error: Corruption: bad block",
            LoggedProblem(AT_S, "warning", "a", "Compaction error: Corruption: bad block", True),
        ),
        ("[x.cc:1] Successfully resumed DB", LoggedProblem(AT_S, "warning", None, "Successfully resumed DB", True)),
        ("[FATAL] oh", LoggedProblem(AT_S, "fatal", None, "oh", False)),
    ],
)
def test_other_messages(message: str, expected: object) -> None:
    assert only(line(message)) == expected


def test_what_nobody_asks_for_is_no_event_and_not_unread() -> None:
    parser = LogParser()
    data = line("[db/version_set.cc:5056] Creating manifest 5") + line("[DEBUG] [x.cc:1] [JOB 1] Delete a.sst -- OK")
    assert parsed(data, parser) == []
    assert (parser.unread, parser.lines) == ({}, 2)


def test_options_are_listed_by_family() -> None:
    data = (
        line("                        Options.error_if_exists: 0")
        + line("            Options.delayed_write_rate : 8388608")
        + line("[db/column_family.cc:630] --------------- Options for column family [a b]:")
        + line("              Options.comparator: leveldb.BytewiseComparator")
        + line("           table_factory options:   flush_block_policy_factory: BySize (0x55b0ecb78dd0)")
        + b"  block_size: 4096\n  block_cache_options:\n    capacity : 8388608\n"
        + line("        Options.write_buffer_size: 1048576")
        + line("[db/version_set.cc:5056] Creating manifest 5")
    )
    factory = {
        "table_factory.flush_block_policy_factory": "BySize (0x55b0ecb78dd0)",
        "table_factory.block_size": "4096",
        "table_factory.block_cache_options": "",
        "table_factory.capacity": "8388608",
    }
    own = {"Options.comparator": "leveldb.BytewiseComparator"}
    assert parsed(data) == [
        OptionsListed(AT_S, None, {"error_if_exists": "0", "delayed_write_rate": "8388608"}),
        OptionsListed(
            AT_S, "a b", {"comparator": own["Options.comparator"], **factory, "write_buffer_size": "1048576"}
        ),
    ]


SET = "[db/db_impl/db_impl.cc:1212] "


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        (
            [
                "SetOptions() on column family [a b], inputs:",
                "write_buffer_size: 2097152",
                "ttl: 7",
                "[a b] SetOptions() succeeded",
            ],
            [("a b", {"write_buffer_size": "2097152", "ttl": "7"}, "succeeded", None)],
        ),
        (
            ["SetOptions() on column family [a], inputs:", "nosuch: 1", "[a] SetOptions() failed"],
            [("a", {"nosuch": "1"}, "failed", None)],
        ),
        (
            ["SetDBOptions(), inputs:", "max_background_jobs: 4", "SetDBOptions() succeeded"],
            [(None, {"max_background_jobs": "4"}, "succeeded", None)],
        ),
        (["SetDBOptions(), inputs:", "nosuch: 4", "SetDBOptions failed"], [(None, {"nosuch": "4"}, "failed", None)]),
        (["SetDBOptions(), empty input."], [(None, {}, "unchanged", None)]),
        (["SetDBOptions(), input option value is not changed, skipping updating."], [(None, {}, "unchanged", None)]),
        (["SetOptions() on column family [a], empty input"], [("a", {}, "unchanged", None)]),
        (
            [
                "SetOptions() on column family [a], inputs:",
                "ttl: 7",
                "[a] SetOptions() succeeded",
                "Unable to persist options in SetOptions() -- IO error: disk full",
            ],
            [("a", {"ttl": "7"}, "succeeded", None), ("a", {"ttl": "7"}, "not persisted", "IO error: disk full")],
        ),
        (["SetOptions() on column family [a], inputs:", "ttl: 7"], [("a", {"ttl": "7"}, "unknown", None)]),
    ],
)
def test_changes_of_options(messages: list[str], expected: list[tuple[object, ...]]) -> None:
    """Lines of other threads stand in between."""
    between = line("[x.cc:1] ttl: 9", thread="1") + line("[x.cc:1] Creating manifest 5", thread="2")
    found = parsed(between.join(line(SET + message) for message in messages))
    assert all(isinstance(each, OptionsChanged) for each in found)
    assert [
        (e.column_family, e.values, e.outcome, e.detail) for e in found if isinstance(e, OptionsChanged)
    ] == expected


def test_the_listing_after_a_change_is_the_database_s() -> None:
    data = (
        line("[x.cc:1] --------------- Options for column family [a]:")
        + line(SET + "SetDBOptions() succeeded")
        + line("            Options.max_background_jobs: 4")
    )
    assert parsed(data)[1:] == [OptionsListed(AT_S, None, {"max_background_jobs": "4"})]


@pytest.mark.parametrize(
    "named",
    [
        "[db/version_set.cc:5590] Column family [{name}] (ID 7), log number is 0",
        "[/db_impl/db_impl.cc:2799] Created column family [{name}] (ID 7)",
    ],
)
@pytest.mark.parametrize("name", ["a", "[x] (ID 3)", "ünï"])
def test_a_column_family_is_dropped_by_the_id_that_it_was_given(named: str, name: str) -> None:
    found = parsed([
        line(named.format(name=name)),
        line("[db/version_set.cc:5590] Column family [default] (ID 0), log number is 0"),
        line("[db/db_impl/db_impl.cc:3311] Dropped column family with id 7"),
        line("[db/db_impl/db_impl.cc:3311] Dropped column family with id 8"),
    ])  # fmt: skip
    assert found == [ColumnFamilyDropped(AT_S, name), ColumnFamilyDropped(AT_S, None)]


def test_a_drop_without_its_id_is_unread() -> None:
    parser = LogParser()
    assert parsed(line("[db/db_impl/db_impl.cc:3311] Dropped column family with id "), parser) == []
    assert parser.unread == {"dropped": 1}
