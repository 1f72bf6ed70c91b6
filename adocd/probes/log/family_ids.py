"""The ids of column families, by which alone a LOG says that one was dropped.

At the open and when one is created, RocksDB writes its name and its id; both are never used for another one
(version_set.cc, VersionSet::Recover; db_impl.cc, CreateColumnFamilyImpl and DropColumnFamilyImpl; the same from 5.x to
10.x). Where a LOG begins later, the name is unknown.
"""

import re

from adocd.probes.log.events import ColumnFamilyDropped
from adocd.probes.log.lines import text

#: Most column families remembered; the oldest is forgotten first.
_FAMILIES_MOST = 4096
_NAMED = re.compile(rb"(.{0,512})\] \(ID (\d{1,10})\).{0,100}")
_DROPPED = re.compile(rb"(\d{1,10})\s*")


class FamilyIds:
    """Reads what comes after `Column family [`, `Created column family [` and `Dropped column family with id `."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}

    def named(self, rest: bytes) -> None:
        """Learn an id, unless the line is about something else."""
        m = _NAMED.fullmatch(rest)
        if m is None:
            return
        if len(self._names) >= _FAMILIES_MOST:
            del self._names[next(iter(self._names))]
        self._names[int(m[2])] = text(m[1])

    def dropped(self, time_s: float, rest: bytes) -> ColumnFamilyDropped | None:
        """Return the event; None if the line is damaged."""
        m = _DROPPED.fullmatch(rest)
        return None if m is None else ColumnFamilyDropped(time_s, self._names.pop(int(m[1]), None))
