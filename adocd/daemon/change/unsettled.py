"""Changes that RocksDB before 9.11 may silently take back (facebook/rocksdb#13294, HAZARDS 2). Pure.

A flush or compaction copies its column family's options when it begins, and puts the copy in force when it ends: into
the active memtable, the conditions for write stalls and the compaction scores. What is shown, and picking compactions,
keep the new values; so with compaction switched off the stalls of level 0 can be back, and nothing ends them. The same
change once more, after the last such job has ended, puts everything in force again.

A job that ends and was never seen to begin is one from before the daemon looked, so before any change of ours. Where
events were lost, any job may have ended, and jobs may run of which nobody knows.
"""

from collections.abc import Iterable

from adocd.model.snapshot import Snapshot
from adocd.probes.jobs import ENDS, RunningJobs

_FIXED_IN = (9, 11)


class Unsettled:
    """Which column families' last changes have to be sent once more, and when."""

    def __init__(self) -> None:
        self._jobs = RunningJobs()
        self._being_changed: set[str] = set()
        self._changed: set[str] = set()
        #: The jobs whose end may take back a column family's last change.
        self._suspect: dict[str, set[int]] = {}
        self._due: set[str] = set()

    def sending(self, families: Iterable[str]) -> None:
        """Take note of a change that is about to be sent; a repeat is none."""
        self._being_changed |= set(families)

    def observe(self, snapshot: Snapshot) -> None:
        """Take in what happened, in order; each snapshot of the session once."""
        if snapshot.lost_events:
            self._jobs.forget()
            self._changed |= self._being_changed
            for family in self._changed:
                self._suspect.setdefault(family, set())
            self._settle()
        for event in snapshot.events:
            family, begin = event.column_family or "", self._jobs.take(event)
            if event.kind == "options_changed":
                for changed in self._being_changed:
                    self._change(changed)
            elif event.kind in ENDS:
                if begin is None and family in self._changed:
                    self._suspect.setdefault(family, set())
                self._settle()
        self._jobs.look(snapshot)
        self._settle()

    def all_seen(self) -> None:
        """Take note that all events of the last change have been observed."""
        self._being_changed.clear()

    def due(self) -> frozenset[str]:
        """Name the families whose change may have been taken back, with no job left that could do it again."""
        return frozenset(self._due)

    def repeated(self, families: Iterable[str]) -> None:
        """Take note that they are sent once more."""
        self._due -= set(families)

    def not_repeated(self, families: Iterable[str]) -> None:
        """Take note that sending them once more has failed: they are due again."""
        self._due |= set(families) & self._changed

    def _change(self, family: str) -> None:
        self._changed.add(family)
        self._due.discard(family)
        self._suspect.pop(family, None)
        if running := self._jobs.of(family):
            self._suspect[family] = running

    def _settle(self) -> None:
        """Let those be due whose last suspect has ended."""
        for family in list(self._suspect):
            self._suspect[family] &= self._jobs.of(family)
            if not self._suspect[family]:
                del self._suspect[family]
                self._due.add(family)


def is_needed(rocksdb_version: str, protocol: str) -> bool:
    """Whether this RocksDB takes changes back, and this agent can repeat them (since version 1.1 of the protocol)."""
    return _numbers(rocksdb_version) < _FIXED_IN and _numbers(protocol) >= (1, 1)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split(".")[:2])
