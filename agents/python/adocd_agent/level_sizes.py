"""The size of each level in bytes, read again only when the database's files have changed."""

from __future__ import annotations

from typing import Any

from adocd_agent.statistics_text import level_bytes

VERSION, TOTAL = "rocksdb.current-super-version-number", "rocksdb.live-sst-files-size"
MOST_FILES = 1000
"""Most files: `rocksdb.sstables` has a line per file, which takes some 0.6 ms for this many, and as much to parse."""


class LevelSizes:
    """The newest sizes of one column family. RocksDB's other properties round them (levelstats, cfstats)."""

    def __init__(self) -> None:
        self._state: tuple[int | None, int | None] | None = None
        self._sizes: list[int] | None = None

    def read(self, handle: Any, files: int) -> list[int] | None:
        """Return the sizes by level; None if the column family has too many files. rocksdict raises Exception."""
        # First the state, then the text: what changes in between is read again next time. The number begins anew when
        # a column family is dropped and created again.
        state = (handle.property_int_value(VERSION), handle.property_int_value(TOTAL))
        if state != self._state:
            self._sizes = level_bytes(handle.property_value("rocksdb.sstables")) if files <= MOST_FILES else None
            self._state = state
        return self._sizes
