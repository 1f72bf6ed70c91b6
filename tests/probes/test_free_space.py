"""The free space of a database's file system is statvfs's, as the database's process sees it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from adocd.probes.free_space import free_bytes, reachable

ROOT = Path("/")


def test_it_is_what_an_ordinary_user_may_still_write(tmp_path: Path) -> None:
    found, told = free_bytes(tmp_path), shutil.disk_usage(tmp_path)
    assert found is not None
    assert abs(found - told.free) < 0.05 * told.total, "others write meanwhile"


def test_a_path_is_looked_up_in_the_process_s_own_root(tmp_path: Path) -> None:
    assert reachable(tmp_path, ROOT, None) == tmp_path
    assert reachable(tmp_path, ROOT, os.getpid()) == Path(f"/proc/{os.getpid()}/root{tmp_path}")


def test_what_is_not_there_is_unknown(tmp_path: Path) -> None:
    assert free_bytes(tmp_path / "gone") is None
    assert reachable(tmp_path / "gone", ROOT, None) is None
    assert reachable(Path("relative"), ROOT, None) is None
    assert reachable(tmp_path, tmp_path, None) is None
