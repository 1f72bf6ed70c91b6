"""A run whose disk was too small for a compaction says so, and counts for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from adocd_bench.errors import RunFailed
from adocd_bench.evaluation.drained import see_room

_CANCELLED = (
    "2026/11/23-16:11:56.309874 6203 (Original Log Time 2026/11/23-16:11:56.309861) "
    "[db/db_impl/db_impl_compaction_flush.cc:57] Cancelled compaction because not enough room\n"
)
_FULL = (
    "2026/11/23-16:11:56.309874 6203 [WARN] Compaction error: IO error: No space left on device: While appending to "
    "file: /data/db/000123.sst: No space left on device\n"
    "2026/11/23-16:12:06.313 6203 RocksDB went on\n"
)


def test_a_disk_that_was_too_small_fails_the_run(tmp_path: Path) -> None:
    log = tmp_path / "LOG"
    log.write_text("2026/11/23-16:11:55.1 6203 RocksDB version: 7.8.3\n")
    see_room(tmp_path)
    with log.open("a") as file:
        file.write(_CANCELLED)
    with pytest.raises(RunFailed, match="not enough room"):
        see_room(tmp_path)


def test_a_disk_that_was_full_for_a_while_fails_the_run(tmp_path: Path) -> None:
    """RocksDB recovers by itself, and the run ended well."""
    (tmp_path / "LOG").write_text(_FULL)
    with pytest.raises(RunFailed, match="the disk was too small: RocksDB found no space left on it"):
        see_room(tmp_path)
