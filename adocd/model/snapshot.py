"""An agent's report on one database, as values (agents/admin-api.yaml, schema `Snapshot`).

A snapshot is raw: cumulative counters and current properties under RocksDB's own names. Two of them make a
sample (adocd.probes.statistics).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from adocd.model.latency import LatencyTotals
from adocd.model.options import LEVEL_COMPACTION

_T = TypeVar("_T")

Condition = Literal["normal", "delayed", "stopped"]


@dataclass(frozen=True, slots=True)
class Stall:
    """The write condition from stall events, the worst of all column families.

    `stopped_s` and `delayed_s` are cumulative, and include the stall in progress.
    """

    condition: Condition
    since_monotonic_s: float
    stopped_s: float
    delayed_s: float


@dataclass(frozen=True, slots=True)
class Counters:
    """Cumulative counters since the open; None if this agent cannot read one."""

    writes: int | None = None
    written_bytes: int | None = None
    wal_bytes: int | None = None
    stall_micros: int | None = None
    flushes: int | None = None
    flush_written_bytes: int | None = None
    compactions: int | None = None
    compaction_read_bytes: int | None = None
    compaction_written_bytes: int | None = None


class _Derived:
    # Not a dataclass field, because it would be serialised with the others.
    __slots__ = ("_derived",)
    _derived: dict[object, Any]


@dataclass(frozen=True, slots=True)
class OptionValues(_Derived):
    """Option values as RocksDB writes them, and the two knobs that are not options."""

    database: Mapping[str, str] = field(default_factory=dict)
    column_families: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rate_limiter_bytes_per_s: int | None = None
    thread_pools: Mapping[str, int] = field(default_factory=dict)

    def compaction_style(self, column_family: str) -> str:
        """Return a column family's compaction_style; level compaction where the agent does not report it."""
        return self.column_families.get(column_family, {}).get("compaction_style", LEVEL_COMPACTION)

    def once(self, work_out: Callable[["OptionValues"], _T]) -> _T:
        """Compute something from these values and cache it with them, because they rarely change.

        Callers must not modify the result.
        """
        try:
            known = self._derived
        except AttributeError:
            known = {}
            object.__setattr__(self, "_derived", known)
        if work_out not in known:
            known[work_out] = work_out(self)
        found: _T = known[work_out]
        return found


@dataclass(frozen=True, slots=True)
class ColumnFamilySnapshot:
    """One column family: integer properties by RocksDB's names, stall counts by cause, and level sizes.

    `level_bytes` is the size of each level's table files; None if it cannot be read, and before protocol 1.2. `id` is
    RocksDB's: a recreated column family has another one; None if it cannot be read, and before protocol 1.3.
    """

    properties: Mapping[str, int]
    stall_counts: Mapping[str, int] | None = None
    level_bytes: tuple[int, ...] | None = None
    id: int | None = None


@dataclass(frozen=True, slots=True)
class HistogramTotals:
    """The number of values in a RocksDB histogram since the open, and their sum in its own unit."""

    count: int
    sum: int


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease: who may change the database, and for how long without a renewal."""

    holder: str
    epoch: int
    ttl_s: float
    expires_in_s: float


@dataclass(frozen=True, slots=True)
class Restore:
    """The progress of the agent's restore of the original options."""

    state: str
    steps_left: int = 0
    waiting_for: str | None = None
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """An event inside RocksDB; members that do not apply to its `kind` are None."""

    sequence: int
    monotonic_s: float
    kind: str
    column_family: str | None = None
    job: int | None = None
    reason: str | None = None
    bytes: int | None = None
    read_bytes: int | None = None
    written_bytes: int | None = None
    base_level: int | None = None
    output_level: int | None = None
    elapsed_s: float | None = None
    waiting: int | None = None
    condition: Condition | None = None
    previous: Condition | None = None
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class PeriodicDump:
    """RocksDB's last stats dump in its LOG: rates over the time since the previous dump, as measured by RocksDB.

    `monotonic_s` is the time of the dump. RocksDB rounds counts in thousands and millions.
    """

    monotonic_s: float
    interval_s: float
    writes_per_s: float | None = None
    written_bytes_per_s: float | None = None
    wal_bytes_per_s: float | None = None
    stalled_fraction: float | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The agent's cached view of one database; `monotonic_s` is the host's CLOCK_MONOTONIC."""

    database: str
    session: str
    sequence: int
    monotonic_s: float
    age_s: float
    collect_s: float
    stall: Stall
    counters: Counters
    properties: Mapping[str, int]
    tickers: Mapping[str, int] | None
    options: OptionValues
    column_families: Mapping[str, ColumnFamilySnapshot]
    lease: Lease | None
    restore: Restore
    change_in_flight: bool
    events: tuple[Event, ...]
    last_event: int
    lost_events: int
    #: The histograms that have values; None if Statistics keeps none, and before protocol 1.2.
    histograms: Mapping[str, HistogramTotals] | None = None
    #: The epoch of the newest lease when an operator last revoked by force; None if never, and before protocol 1.3.
    #: Events report that, too, but a holder that stood still may miss them.
    revoked_epoch: int | None = None
    #: How long writes took; None if the agent does not time them, and before protocol 1.4.
    write_latency: LatencyTotals | None = None
    #: The write rates for a database without an agent, from the last stats dump; None with an agent.
    dump: PeriodicDump | None = None
