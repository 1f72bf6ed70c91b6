"""The free space of a database's file system is statvfs's, as the database's process sees it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from adocd.probes.free_space import free_bytes

ROOT = Path("/")


def test_it_is_what_an_ordinary_user_may_still_write(tmp_path: Path) -> None:
    found, told = free_bytes(tmp_path, ROOT, None), shutil.disk_usage(tmp_path).free
    assert found is not None
    # Others write meanwhile.
    assert abs(found - told) < 0.05 * shutil.disk_usage(tmp_path).total


def test_a_path_is_looked_up_in_the_process_s_own_root(tmp_path: Path) -> None:
    assert free_bytes(tmp_path, ROOT, os.getpid()) is not None


def test_what_is_not_there_is_unknown(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "gone", ROOT, None) is None
    assert free_bytes(Path("relative"), ROOT, None) is None
    assert free_bytes(tmp_path, tmp_path, None) is None
