"""Reading OPTIONS files: the newest, whole, whatever RocksDB does to the directory meanwhile."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from adocd_agent.options_file import OptionsReader, parse
from adocd_agent.problems import DatabaseClosed

TEXT = """# This is a RocksDB option file.
[Version]
  rocksdb_version=9.8.4
  options_file_version=1.1

[DBOptions]
  max_background_jobs=2
  wal_dir=/a\\\\b

[CFOptions "default"]
  write_buffer_size={size}
  compaction_options_fifo={{allow_compaction=false;age_for_warm=0;}}

[TableOptions/BlockBasedTable "default"]
  block_size=4096

[CFOptions "third-ünï \\\\ \\#1"]
  write_buffer_size=1
"""


def write(directory: Path, number: int, size: int) -> Path:
    path = directory / f"OPTIONS-{number:06}"
    path.write_text(TEXT.format(size=size), encoding="utf-8")
    return path


def size_of(reader: OptionsReader, *, fresh: bool = False) -> str:
    return reader.read(fresh=fresh).column_families["default"]["write_buffer_size"]


def test_sections_and_escapes() -> None:
    file = parse(TEXT.format(size=7))
    assert file.rocksdb_version == "9.8.4"
    assert file.database == {"max_background_jobs": "2", "wal_dir": "/a\\b"}
    assert file.column_families == {
        "default": {
            "write_buffer_size": "7",
            "compaction_options_fifo": "{allow_compaction=false;age_for_warm=0;}",
        },
        "third-ünï \\ #1": {"write_buffer_size": "1"},
    }


def test_the_newest_counts_by_number(tmp_path: Path) -> None:
    write(tmp_path, 999999, 1)
    write(tmp_path, 1000000, 2)
    (tmp_path / "OPTIONS-1000001.dbtmp").write_text("half")
    assert size_of(OptionsReader(str(tmp_path))) == "2"


def test_a_new_file_is_seen_and_an_old_one_not_read_again(tmp_path: Path) -> None:
    first = write(tmp_path, 1, 1)
    reader = OptionsReader(str(tmp_path))
    parsed = reader.read()
    assert reader.read() is parsed
    write(tmp_path, 2, 2)
    assert size_of(reader, fresh=True) == "2"
    first.unlink()
    assert size_of(reader, fresh=True) == "2"


def test_a_directory_with_a_fresh_time_stamp_is_listed_again(tmp_path: Path) -> None:
    """Two changes within one tick of the file system's clock leave the same time stamp."""
    write(tmp_path, 1, 1)
    stamp = os.stat(tmp_path).st_mtime_ns
    reader = OptionsReader(str(tmp_path))
    assert size_of(reader) == "1"
    write(tmp_path, 2, 2)
    os.utime(tmp_path, ns=(stamp, stamp))
    assert size_of(reader) == "2"


def test_a_file_that_vanishes_is_looked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = write(tmp_path, 1, 1)
    reader = OptionsReader(str(tmp_path))
    real = os.listdir

    def replaced_meanwhile(directory: str) -> list[str]:
        names = real(directory)
        if old.exists():
            old.unlink()
            write(tmp_path, 2, 2)
        return names

    monkeypatch.setattr(os, "listdir", replaced_meanwhile)
    assert size_of(reader) == "2"


def test_a_database_that_is_away_has_no_options(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "missing"):
        with pytest.raises(DatabaseClosed):
            OptionsReader(str(directory)).read()
