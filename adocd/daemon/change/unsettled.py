"""Changes that RocksDB before 9.11 may silently take back (facebook/rocksdb#13294, HAZARDS 2). Pure.

A flush or compaction copies its column family's options when it begins, and puts the copy in force when it ends: into
the active memtable, the conditions for write stalls and the compaction scores. What is shown, and picking compactions,
keep the new values; so with compaction switched off the stalls of level 0 can be back, and nothing ends them. The same
change once more, after the last such job has ended, puts everything in force again.
"""

from collections.abc import Iterable

from adocd.model.snapshot import Event

_FIXED_IN = (9, 11)
_BEGINS = ("flush_begin", "compaction_begin")
_ENDS = ("flush_end", "compaction_end")


class Unsettled:
    """Which column families' last changes have to be sent once more, and when."""

    def __init__(self) -> None:
        self._running: dict[str, set[int]] = {}
        self._suspect: dict[str, set[int]] = {}
        self._being_changed: set[str] = set()
        self._due: set[str] = set()

    def sending(self, families: Iterable[str]) -> None:
        """Take note of a change that is about to be sent; a repeat is none."""
        self._being_changed |= set(families)

    def observe(self, events: Iterable[Event]) -> None:
        """Take in what happened, in order."""
        for event in events:
            family, job = event.column_family or "", event.job or 0
            if event.kind in _BEGINS:
                self._running.setdefault(family, set()).add(job)
            elif event.kind in _ENDS:
                self._running.get(family, set()).discard(job)
                self._ended(family, job)
            elif event.kind == "options_changed":
                for changed in self._being_changed:
                    self._changed(changed)

    def all_seen(self) -> None:
        """Take note that all events of the last change have been observed."""
        self._being_changed.clear()

    def due(self) -> frozenset[str]:
        """Name the families whose change may have been taken back, with no job left that could do it again."""
        return frozenset(self._due)

    def repeated(self, families: Iterable[str]) -> None:
        """Take note that they are sent once more."""
        self._due -= set(families)

    def _changed(self, family: str) -> None:
        self._due.discard(family)
        if running := self._running.get(family):
            self._suspect[family] = set(running)

    def _ended(self, family: str, job: int) -> None:
        suspect = self._suspect.get(family)
        if suspect is None:
            return
        suspect.discard(job)
        if not suspect:
            del self._suspect[family]
            self._due.add(family)


def is_needed(rocksdb_version: str, protocol: str) -> bool:
    """Whether this RocksDB takes changes back, and this agent can repeat them (since version 1.1 of the protocol)."""
    return _numbers(rocksdb_version) < _FIXED_IN and _numbers(protocol) >= (1, 1)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split(".")[:2])
