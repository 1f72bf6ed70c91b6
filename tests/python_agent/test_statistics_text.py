"""RocksDB's texts, read into numbers: hand-written ones, and those of a database of this very RocksDB."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rocksdict
from adocd_agent.level_sizes import MOST_FILES, LevelSizes
from adocd_agent.statistics_text import counters, level_bytes, statistics, totals

STATISTICS = """rocksdb.block.cache.miss COUNT : 5
rocksdb.bytes.written COUNT : 18446744073709551615
a line of something else
rocksdb.db.write.micros P50 : 2.585543 P95 : 5.98 P99 : 23.89 P100 : 628.000000 COUNT : 20000 SUM : 79967
rocksdb.db.flush.micros P50 : 0.000000 P95 : 0.000000 P99 : 0.000000 P100 : 0.000000 COUNT : 0 SUM : 0
"""
SSTABLES = """--- level 0 --- version# 32 ---
 63:147391[19339 .. 20000]['0040E3EAFF3106D8' seq:19976, type:1 .. 'FF5AC989D74B3177' seq:19451, type:1](0)
 60:179197[18533 .. 19338]['001795BBF35448AE' seq:18739, type:1 .. 'FFB514FF7C1060DF' seq:18598, type:1](0)
--- level 1 --- version# 32 --- compact_cursor: '0040E3EAFF3106D8' seq:1, type:1 ---
--- level 2 --- version# 32 ---
 52:3558133[0 .. 0]['000038913758A766' seq:0, type:1 .. 'FFFC42AC722E09B3' seq:0, type:1] blob_file:7(0)
"""


def test_tickers_and_histograms_are_told_apart() -> None:
    read = statistics(STATISTICS)
    assert read.tickers == {"rocksdb.block.cache.miss": 5, "rocksdb.bytes.written": (1 << 64) - 1}
    assert read.histograms == {
        "rocksdb.db.write.micros": (20000, 79967),
        "rocksdb.db.flush.micros": (0, 0),
    }


def test_counters_come_from_both_and_begin_at_the_baseline() -> None:
    later = STATISTICS.replace("COUNT : 0 SUM : 0", "COUNT : 3 SUM : 40")
    counted = counters(totals(statistics(later)), totals(statistics(STATISTICS)))
    assert counted["flushes"] == 3
    assert counted["written_bytes"] == 0
    assert counted["writes"] is None, "no such ticker"
    assert counters(totals(statistics(later)), {})["flushes"] == 3


@pytest.mark.parametrize(
    ("text", "sizes"),
    [
        (SSTABLES, [326588, 0, 3558133]),
        (SSTABLES + "--- blob files --- version# 32 ---\n7:100 total blob count: 5\n", [326588, 0, 3558133]),
        (SSTABLES.replace("52:3558133[", "52 3558133["), None),
        (" 52:3558133[0 .. 0]\n" + SSTABLES, None),
        ("", None),
        (None, None),
    ],
)
def test_levels_are_added_up(text: str | None, sizes: list[int] | None) -> None:
    assert level_bytes(text) == sizes


class Counting:
    """A handle that counts how often texts are read."""

    def __init__(self, db: Any) -> None:
        self._db = db
        self.texts = 0
        self.property_int_value = db.property_int_value

    def property_value(self, name: str) -> Any:
        """See rocksdict.Rdict."""
        self.texts += 1
        return self._db.property_value(name)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Any]:
    """Open a database whose keys are text with everything that could end a line or a name."""
    options = rocksdict.Options(raw_mode=True)
    options.create_if_missing(True)
    options.set_write_buffer_size(50_000)
    options.set_target_file_size_base(10_000)
    opened = rocksdict.Rdict(str(tmp_path / "db"), options)
    yield opened
    opened.close()


def fill(db: Any, keys: int = 2000) -> None:
    for number in range(keys):
        db[f"\n--- level 9:{number % 7}[]\n".encode() + os.urandom(8)] = os.urandom(100)
    db.flush()


def test_sizes_are_those_of_the_files(db: Any) -> None:
    """RocksDB lists its live files elsewhere too, with level and size, but of the default column family alone."""
    fill(db)
    db.compact_range(None, None)
    fill(db, 100)
    expected = [0] * 7
    for file in db.live_files():
        expected[file["level"]] += file["size"]
    found = LevelSizes().read(db, files=20)
    assert found == expected
    assert found[0] > 0, "the last flush"
    assert sum(size > 0 for size in found) > 1


def test_they_are_read_again_only_when_something_changed(db: Any) -> None:
    handle, sizes = Counting(db), LevelSizes()
    fill(db, 100)
    first = sizes.read(handle, files=1)
    assert first is not None
    assert sizes.read(handle, files=1) == first
    assert handle.texts == 1
    fill(db, 100)
    second = sizes.read(handle, files=2)
    assert second is not None
    assert second[0] > first[0]
    assert handle.texts == 2


def test_a_column_family_with_too_many_files_is_not_asked(db: Any) -> None:
    handle, sizes = Counting(db), LevelSizes()
    fill(db, 100)
    assert sizes.read(handle, files=MOST_FILES + 1) is None
    assert handle.texts == 0
    fill(db, 100)
    assert sizes.read(handle, files=MOST_FILES) is not None
