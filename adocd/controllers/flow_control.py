"""The limit of TiKV's flow controller: the table in adocd.controllers.tikv, without RocksDB's delay.

Fed with events, and with figures of column families as they were at the end of the window in which the events came.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from adocd.controllers.admitted import FLOOR_BYTES_PER_S
from adocd.controllers.recent import Recent
from adocd.model.knob import MIB
from adocd.model.sample import ColumnFamilySample

_TAKES_OVER_FILES = 4
_LOWERED, _RAISED = 0.8, 1.25
_STEP_BYTES_PER_S = MIB
#: A higher limit is none.
LIMIT_MOST_BYTES_PER_S = 200 * MIB
_FIRST_DROP, _OLD_SHARE = 0.01, 0.6
_PENDING_SPAN_S = 60.0


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Memtables and level-0 files, more of which limit; pending bytes at which a drop begins, and at which it is 1."""

    memtables: int
    l0_files: int
    soft_pending_bytes: int
    hard_pending_bytes: int


@dataclass(slots=True)
class _Signal:
    """A window, and whether it counts already."""

    recent: Recent
    counts: bool = False

    def add(self, now_s: float, value: float, below: float, span_s: float = 0.0) -> None:
        self.recent.add(now_s, value)
        self.counts = self.counts or value < below or self.recent.rises(span_s)


@dataclass(slots=True)
class _Family:
    """What is known of a column family."""

    memtables: _Signal = field(default_factory=lambda: _Signal(Recent(20)))
    l0: _Signal = field(default_factory=lambda: _Signal(Recent(20)))
    #: log2 of the pending compaction bytes.
    pending: _Signal = field(default_factory=lambda: _Signal(Recent(1024)))
    #: Immutable memtables at its last flush.
    immutable: int = 0
    #: Steps of 1 MiB/s by which memtables have lowered the limit.
    owed: int = 0


class FlowControl:
    """A limit in bytes/s or none, and the share of writes to drop."""

    def __init__(self, thresholds: Thresholds) -> None:
        #: In bytes/s; None without a limit.
        self.limit: float | None = None
        #: The family that holds a limit by level 0; None where memtables have begun it.
        self.holder: str | None = None
        #: 1.25 times the last limit that level 0 has ended, in bytes/s; 0 before the first.
        self.last = 0.0
        #: The share of writes to drop for pending bytes, 0 to 1.
        self.drop = 0.0
        #: The flow from before the drop began, in bytes/s.
        self.offered = 0.0
        self._thresholds = thresholds
        self._soft, self._hard = math.log2(thresholds.soft_pending_bytes), math.log2(thresholds.hard_pending_bytes)
        self._flow = Recent(30)
        self._families: dict[str, _Family] = {}

    @property
    def flow(self) -> float:
        """The 90th percentile of what clients have written lately, in bytes/s; 0 before they have."""
        return self._flow.high

    @property
    def next_limit(self) -> float:
        """The rate at which a limit by level 0 would begin now, in bytes/s; 0 before there is a flow."""
        return self.last or self.flow

    def counts(self, family: str) -> bool:
        """Whether level 0 of this column family may limit already."""
        return self._families[family].l0.counts

    def look(self, families: Sequence[ColumnFamilySample], written_bytes_per_s: float | None, now_s: float) -> None:
        """Take in a window: its flow, and the column families that there are."""
        if written_bytes_per_s:
            self._flow.add(now_s, written_bytes_per_s)
        self._families = {cf.name: self._families.get(cf.name, _Family()) for cf in families}
        for cf in families:
            # TiKV looks at the first flush; here the triggers are to be set before there are files.
            self._families[cf.name].l0.counts |= cf.l0_files < self._thresholds.l0_files
            self._families[cf.name].pending.recent.forget(now_s)
        limited = {cf.name for cf in families if cf.options.compaction_holds_writes}
        if self.holder is not None and self.holder not in limited:
            self._unlimit()  # nobody else would end it
        if self._backlog() < self._soft:
            self.drop = 0.0  # nor this, where the family that owes most compacts no more

    def memtables(self, cf: ColumnFamilySample, most_immutable: int, now_s: float) -> None:
        """Take in a flush's end; `most_immutable` is the number of immutable memtables in the family with most."""
        family, m, most = self._families[cf.name], cf.immutable_memtables, self._thresholds.memtables
        before, family.immutable = family.immutable, m
        family.memtables.add(now_s, m, most)
        if m < most_immutable:
            return
        if family.memtables.counts and family.memtables.recent.mean > most and m >= most:
            if self.limit is None:
                self._limit_to(self.flow, None)
            elif m != before:
                step = 1 if m > before else -1
                family.owed += step
                self._limit_to(self.limit - step * _STEP_BYTES_PER_S, self.holder)
        elif self.limit is not None:
            owed, family.owed = family.owed, 0
            if self.holder is None:
                self.limit = None
            else:
                self._limit_to(self.limit + owed * _STEP_BYTES_PER_S, self.holder)

    def level0(self, cf: ColumnFamilySample, now_s: float) -> None:
        """Take in the end of a flush, or of a compaction of level 0."""
        if not cf.options.compaction_holds_writes:
            return
        family, n, most = self._families[cf.name], cf.l0_files, self._thresholds.l0_files
        family.l0.add(now_s, n, most)
        if self.limit is not None and not self._holds(cf.name, n):
            return
        if n > most and family.l0.counts:
            self._limit_to(self.next_limit if self.limit is None else self.limit * _LOWERED, cf.name)
        elif self.limit is not None:
            self._unlimit()

    def pending(self, cf: ColumnFamilySample, now_s: float) -> None:
        """Take in a compaction's end."""
        value = math.log2(cf.pending_compaction_bytes) if cf.pending_compaction_bytes > 0 else 0.0
        self._families[cf.name].pending.add(now_s, value, self._soft, _PENDING_SPAN_S)
        x = self._backlog()
        if x < self._soft:
            self.drop = 0.0
            return
        new = (1 - _OLD_SHARE) * (x - self._soft) / (self._hard - self._soft)
        if self.drop == 0.0:
            self.offered = self.flow
            self.drop = min(_FIRST_DROP, new)
        else:
            self.drop = min(1.0, _OLD_SHARE * self.drop + new)

    def _backlog(self) -> float:
        """Return the highest mean of log2 of the pending bytes."""
        return max((its.pending.recent.mean for its in self._families.values() if its.pending.counts), default=0.0)

    def _holds(self, name: str, n: int) -> bool:
        """Whether this family holds the limit, or takes it over with so many files."""
        if self.holder is None or self.holder == name:
            return self.holder is not None
        highest = self._families[self.holder].l0.recent.highest
        return self._families[name].l0.counts and n > highest + _TAKES_OVER_FILES

    def _limit_to(self, rate: float, holder: str | None) -> None:
        """Limit to this rate. Without a flow (0) there is nothing to begin with; more than 200 MiB/s is no limit."""
        if rate <= 0:
            return
        if rate > LIMIT_MOST_BYTES_PER_S:
            self.limit = self.holder = None
        else:
            self.limit, self.holder = max(float(FLOOR_BYTES_PER_S), rate), holder

    def _unlimit(self) -> None:
        self.last = _RAISED * (self.limit or 0.0)
        self.limit = self.holder = None
