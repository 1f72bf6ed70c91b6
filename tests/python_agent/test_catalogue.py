"""The catalogue of options is what the real engine takes: every entry is held against a database of rocksdict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import rocksdict
from adocd_agent.catalogue import (
    BOOL,
    DATABASE_OPTIONS_SHOWN,
    DOUBLE,
    INT,
    INTS,
    MULTIPLIER,
    ROCKSDICT,
    SIZE,
    UINT8,
    UINT32,
    OptionKind,
)
from adocd_agent.options_file import OptionsFile, OptionsReader

OTHER_VALUES = {
    "blob_compression_type": "kSnappyCompression",
    "bottommost_compression": "kZSTD",
    "compression": "kZSTD",
    "default_write_temperature": "kWarm",
    "last_level_temperature": "kCold",
    "prepopulate_blob_cache": "kFlushOnly",
    "block_protection_bytes_per_key": "8",
    "memtable_protection_bytes_per_key": "4",
    "blob_garbage_collection_age_cutoff": "0.500000",
    "max_bytes_for_level_multiplier_additional": "1:2:3:1:1:1:1",
    "bottommost_file_compaction_delay": "4294967295",
    "memtable_max_range_deletions": "4294967295",
    "uncache_aggressiveness": "4294967295",
    "write_buffer_size": "8589934592",
    "max_compaction_bytes": "18446744073709551615",
}
"""Values that show the width of the type, or that differ from the default, where the rule below gives none."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Any, OptionsReader]]:
    """Open a real database with default options."""
    path = tmp_path_factory.mktemp("engine") / "db"
    db = rocksdict.Rdict(str(path), rocksdict.Options(raw_mode=True))
    yield db, OptionsReader(str(path))
    db.close()


def values(reader: OptionsReader) -> dict[str, str]:
    return reader.read(fresh=True).column_families["default"]


def test_every_option_of_the_file_is_in_exactly_one_list(engine: tuple[Any, OptionsReader]) -> None:
    live, not_live, unchecked = set(ROCKSDICT.column_family), set(ROCKSDICT.not_live), set(ROCKSDICT.unchecked)
    assert live | not_live | unchecked == set(values(engine[1]))
    assert len(live) + len(not_live) + len(unchecked) == len(live | not_live | unchecked)


@pytest.mark.parametrize("option", ROCKSDICT.column_family)
def test_what_is_live_can_be_changed_and_read_back(engine: tuple[Any, OptionsReader], option: str) -> None:
    db, reader = engine
    kind, original = ROCKSDICT.column_family[option], values(reader)[option]
    assert kind.accepts(original), f"{option}={original} is what RocksDB wrote"
    other = OTHER_VALUES.get(option) or another(kind, original)
    assert other != original
    assert kind.accepts(other)
    db.set_options({option: other})
    assert values(reader)[option] == other
    db.set_options({option: original})
    assert values(reader)[option] == original


def another(kind: OptionKind, value: str) -> str:
    """Return a value of the same kind that is a little different."""
    if kind is BOOL:
        return "false" if value == "true" else "true"
    if kind in (DOUBLE, MULTIPLIER):
        return f"{float(value) + 0.5:.6f}"
    return str(int(value) + 1)


@pytest.mark.parametrize("option", sorted(ROCKSDICT.not_live - {"comparator", "memtable_factory"}))
def test_what_is_not_live_is_refused_by_rocksdb(engine: tuple[Any, OptionsReader], option: str) -> None:
    db, reader = engine
    with pytest.raises(Exception, match="not changeable"):
        db.set_options({option: values(reader)[option]})


@pytest.mark.parametrize(
    ("option", "value"),
    [("comparator", "rocksdb.ReverseBytewiseComparator"), ("memtable_factory", "VectorRepFactory")],
)
def test_objects_cannot_be_exchanged(engine: tuple[Any, OptionsReader], option: str, value: str) -> None:
    """RocksDB takes their own names, and no others."""
    db, reader = engine
    before = values(reader)[option]
    with pytest.raises(Exception, match=r"Invalid argument|not changeable"):
        db.set_options({option: value})
    assert values(reader)[option] == before


def test_database_options_that_are_shown_are_rocksdbs(engine: tuple[Any, OptionsReader]) -> None:
    """One is left out by RocksDB as long as it is empty."""
    shown = set(DATABASE_OPTIONS_SHOWN) - {"daily_offpeak_time_utc"}
    file: OptionsFile = engine[1].read()
    assert shown <= set(file.database)
    assert file.rocksdb_version == "9.8.4"


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (SIZE, ["0", "18446744073709551615"], ["-1", "18446744073709551616", "1e7", "4M", "", " 5", "+5", "05", "٣"]),
        (INT, ["0", "-1", "2147483647", "-2147483648"], ["2147483648", "-2147483649", "-0", "1.0"]),
        (UINT32, ["4294967295"], ["4294967296", "-1"]),
        (UINT8, ["255"], ["256", "-1"]),
        (BOOL, ["true", "false"], ["True", "1", "truex", ""]),
        (DOUBLE, ["0.250000", "10.000000"], ["10", "10.0", "nan", "inf", "1e1", ".500000", "-1.000000"]),
        (MULTIPLIER, ["1.000000", "10.000000"], ["0.999999", "0.000000", "10", "nan"]),
        (INTS, ["1", "1:1:2"], ["", ":", "1:", "1:x", "1::1"]),
    ],
)
def test_kinds_take_what_rocksdb_would_write(kind: OptionKind, good: list[str], bad: list[str]) -> None:
    assert [value for value in good if not kind.accepts(value)] == []
    assert [value for value in bad if kind.accepts(value)] == []
