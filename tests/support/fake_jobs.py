"""Flushes and compactions of a fake database that begin and end when the test says, and what that reverts.

As RocksDB before 9.11 (facebook/rocksdb#13294): a job copies its column family's options when it begins, and puts the
copy in force when it ends. What is shown, and written into the OPTIONS file, stays what was set last.
"""

from __future__ import annotations

import itertools
from typing import Literal

from adocd_agent.events import EventRing
from adocd_agent.option_state import OptionState

from tests.support.fake_measurements import Measurements

Kind = Literal["flush", "compaction"]
_RUNNING = {"flush": "rocksdb.num-running-flushes", "compaction": "rocksdb.num-running-compactions"}


class Jobs:
    """`in_force` has the options that "RocksDB" works with, by column family; `options` what it shows."""

    def __init__(self, events: EventRing, measurements: Measurements, options: OptionState) -> None:
        self._events = events
        self._properties = measurements.properties
        self._options = options
        self._numbers = itertools.count(100)
        self._running: dict[int, tuple[Kind, str, dict[str, str]]] = {}
        self.in_force = options.copy().column_families

    def begin(self, kind: Kind, column_family: str = "default") -> int:
        """Begin a job; its number."""
        job = next(self._numbers)
        self._running[job] = (kind, column_family, dict(self._options.column_families[column_family]))
        self._properties[_RUNNING[kind]] += 1
        self._events.emit(f"{kind}_begin", column_family=column_family, job=job)
        return job

    def end(self, job: int) -> None:
        """End it: what it copied is in force."""
        kind, column_family, copied = self._running.pop(job)
        self.in_force[column_family] = copied
        self._events.emit(f"{kind}_end", column_family=column_family, job=job, elapsed_s=0.01)
        self._properties[_RUNNING[kind]] -= 1

    def fail(self, job: int) -> None:
        """Let it fail: a flush that does tells nobody, and installs nothing."""
        kind, _, _ = self._running.pop(job)
        self._properties[_RUNNING[kind]] -= 1

    def options_set(self, column_family: str) -> None:
        """Put everything in force that is shown, as SetOptions does."""
        self.in_force[column_family] = dict(self._options.column_families[column_family])
