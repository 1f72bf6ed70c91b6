"""A cgroup of the pids controller, as systemd makes one for TasksMax= and a container runtime for its limit."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from tests.support.waiting import eventually

_ROOT = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def pids_group() -> Iterator[Path]:
    """Make one below the root of its hierarchy, which takes root; it is removed when its processes have ended."""
    hierarchy = _ROOT / "pids"
    if not hierarchy.is_dir():
        hierarchy = _ROOT
        (hierarchy / "cgroup.subtree_control").write_text("+pids")
    group = hierarchy / f"adocd-tests-{os.getpid()}"
    group.mkdir()
    try:
        yield group
    finally:
        eventually(lambda: not (group / "cgroup.procs").read_text(), what="its processes have ended")
        group.rmdir()
