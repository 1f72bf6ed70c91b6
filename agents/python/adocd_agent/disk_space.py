"""Whether there is room for the files that RocksDB writes at each change of options."""

from __future__ import annotations

import os
from collections.abc import Iterable

NEEDED_MIB = 8
"""OPTIONS and LOG take about 20 KB for each column family: enough for hundreds, and little on any disk."""


def lack_of_space(directories: Iterable[str]) -> str | None:
    """Say in one sentence which directory has too little room; None if all have enough, as far as is known."""
    for directory in directories:
        free = _free_bytes(directory)
        if free is not None and free < NEEDED_MIB << 20:
            return (
                f"less than {NEEDED_MIB} MiB are free for {directory}, and RocksDB writes OPTIONS and LOG at each "
                "change; make room"
            )
    return None


def _free_bytes(directory: str) -> int | None:
    """Return what this process may still write there; None if the file system does not say."""
    try:
        status = os.statvfs(directory)
    except OSError:
        return None
    if status.f_blocks == 0:
        return None
    return (status.f_bfree if os.geteuid() == 0 else status.f_bavail) * status.f_frsize
