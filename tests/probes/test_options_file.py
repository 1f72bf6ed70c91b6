"""The newest OPTIONS file of a database's directory; what cannot be read says why."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adocd.probes.options_file import OptionsFile, Unreadable, newest, parse

TEXT = """# This is a RocksDB option file.
[Version]
  rocksdb_version=9.8.4

[DBOptions]
  max_background_jobs={jobs}
  wal_dir=/a\\\\b
  db_write_buffer_size=

[CFOptions "default"]
  compaction_options_fifo={{allow_compaction=false;age_for_warm=0;}}

[TableOptions/BlockBasedTable "default"]
  block_size=4096

[CFOptions "third-ünï \\\\ \\#1"]
  compaction_style=kCompactionStyleLevel
"""
IDENTITY = "4019f0e3"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "IDENTITY").write_text(IDENTITY + "\n")
    return tmp_path


def write(directory: Path, number: int, jobs: int) -> Path:
    path = directory / f"OPTIONS-{number:06}"
    path.write_text(TEXT.format(jobs=jobs), encoding="utf-8")
    return path


def jobs(directory: Path) -> str:
    file = newest(directory, IDENTITY)
    assert isinstance(file, OptionsFile)
    return file.database["max_background_jobs"]


def test_sections_and_escapes() -> None:
    assert parse(TEXT.format(jobs=4)) == OptionsFile(
        {"max_background_jobs": "4", "wal_dir": "/a\\b", "db_write_buffer_size": ""},
        {
            "default": {"compaction_options_fifo": "{allow_compaction=false;age_for_warm=0;}"},
            "third-ünï \\ #1": {"compaction_style": "kCompactionStyleLevel"},
        },
    )


@given(st.text())
def test_any_text_parses(text: str) -> None:
    parse(text)


def test_the_newest_counts_by_number(directory: Path) -> None:
    write(directory, 999999, 1)
    write(directory, 1000000, 2)
    (directory / "OPTIONS-1000001.dbtmp").write_text("half")
    assert jobs(directory) == "2"


def test_a_file_that_vanishes_is_looked_for_again(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """RocksDB deletes the old one between our listing and our reading."""
    old = write(directory, 1, 1)
    real = Path.iterdir

    def replaced_meanwhile(path: Path) -> Iterator[Path]:
        entries = list(real(path))
        if old.exists():
            old.unlink()
            write(directory, 2, 2)
        return iter(entries)

    monkeypatch.setattr(Path, "iterdir", replaced_meanwhile)
    assert jobs(directory) == "2"


def test_what_is_not_there(directory: Path) -> None:
    assert newest(directory, IDENTITY) == Unreadable(str(directory), "there is no OPTIONS file")
    missing = directory / "missing"
    assert newest(missing, IDENTITY) == Unreadable(str(missing), "No such file or directory")


def test_another_database_under_the_same_path_is_not_read(directory: Path) -> None:
    write(directory, 1, 1)
    answer = newest(directory, "another")
    assert isinstance(answer, Unreadable)
    assert "another database" in answer.why


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user for a moment, which root alone can")
def test_permissions_are_named() -> None:
    with tempfile.TemporaryDirectory() as name:  # others may not even enter pytest's own
        directory = Path(name)
        directory.chmod(0o755)
        path = write(directory, 1, 1)
        path.chmod(0o600)
        os.seteuid(65534)
        try:
            answer = newest(directory, IDENTITY)
        finally:
            os.seteuid(0)
    assert answer == Unreadable(str(path), "Permission denied (-rw-------, owner 0, group 0)")


def test_a_file_beyond_all_sizes_is_not_read(directory: Path) -> None:
    os.truncate(write(directory, 1, 1), 1 << 40)
    answer = newest(directory, IDENTITY)
    assert isinstance(answer, Unreadable)
    assert "larger than 64 MiB" in answer.why
