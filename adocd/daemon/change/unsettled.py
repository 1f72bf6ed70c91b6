"""Changes that RocksDB before 9.11 may silently revert (facebook/rocksdb#13294, HAZARDS 2). Pure.

A flush or compaction copies its column family's options when it begins and applies the copy when it ends: to the
active memtable, the write-stall conditions and the compaction scores. The reported options and the compaction picker
keep the new values. So with compaction switched off, the stalls on level 0 can return, and nothing ends them. Sending
the same change again after the last such job has ended applies it everywhere.

A job whose beginning was never seen began before the daemon did, and so before any of our changes. If events were
lost, any job may have ended, and unknown jobs may be running.
"""

from collections.abc import Iterable

from adocd.model.snapshot import Snapshot
from adocd.probes.running_jobs import ENDS, RunningJobs

_FIXED_IN = (9, 11)


class Unsettled:
    """Tracks which column families' last changes must be resent, and when."""

    def __init__(self) -> None:
        self._jobs = RunningJobs()
        self._being_changed: set[str] = set()
        self._changed: set[str] = set()
        #: By column family, the jobs whose end may revert its last change.
        self._suspect: dict[str, set[int]] = {}
        self._due: set[str] = set()

    def sending(self, families: Iterable[str]) -> None:
        """Note a change that is about to be sent; not called for a repeat."""
        self._being_changed |= set(families)

    def observe(self, snapshot: Snapshot) -> None:
        """Take in a snapshot's events, in order; call it once for each snapshot of the session."""
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
        """Note that all events of the last change have been observed."""
        self._being_changed.clear()

    def due(self) -> frozenset[str]:
        """Return the column families whose change may have been reverted, and that have no suspect job left."""
        return frozenset(self._due)

    def is_in_doubt(self, family: str) -> bool:
        """Whether a job may still revert, or may have reverted, this column family's last change."""
        return family in self._suspect or family in self._due

    def repeated(self, families: Iterable[str]) -> None:
        """Note that their changes are being resent."""
        self._due -= set(families)

    def not_repeated(self, families: Iterable[str]) -> None:
        """Note that resending has failed, so they are due again."""
        self._due |= set(families) & self._changed

    def _change(self, family: str) -> None:
        self._changed.add(family)
        self._due.discard(family)
        self._suspect.pop(family, None)
        if running := self._jobs.of(family):
            self._suspect[family] = running

    def _settle(self) -> None:
        """Mark column families as due when their last suspect job has ended."""
        for family in list(self._suspect):
            self._suspect[family] &= self._jobs.of(family)
            if not self._suspect[family]:
                del self._suspect[family]
                self._due.add(family)


def is_needed(rocksdb_version: str, protocol: str) -> bool:
    """Whether this RocksDB reverts changes, and this agent can repeat them (since protocol version 1.1)."""
    return takes_back(rocksdb_version) and _numbers(protocol) >= (1, 1)


def takes_back(rocksdb_version: str) -> bool:
    """Whether this RocksDB may revert changes; from 9.11 on, whatever is reverted was reverted by somebody."""
    return _numbers(rocksdb_version) < _FIXED_IN


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() else 0 for part in version.split(".")[:2])
