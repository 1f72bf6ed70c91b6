"""Mounts of one kind, of every committed tree."""

from __future__ import annotations

from pathlib import Path

import pytest

from adocd.model.missing import Missing
from adocd.probes.mounts import read_mounts
from tests.probes.kernel_tree import NAMES, tree


@pytest.mark.parametrize("kernel", NAMES)
@pytest.mark.parametrize("kind", ["cgroup", "ext4", ""])
def test_a_kind_is_what_is_left_of_all(tmp_path: Path, kernel: str, kind: str) -> None:
    proc = tree(kernel, tmp_path) / "proc"
    every = read_mounts(proc)
    assert not isinstance(every, Missing)
    assert len(every) >= 1
    assert read_mounts(proc, kind=kind) == [mount for mount in every if mount.filesystem.startswith(kind)]
