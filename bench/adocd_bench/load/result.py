"""Reads the load generator's result file, and converts it to the types of a raw run (adocd_bench.evaluation.raw)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from adocd_bench.errors import RunFailed
from adocd_bench.evaluation.raw import LatencyHistogram, OperationKind, Operations, Process, Second
from adocd_bench.results import ResultFile

LoadKind = Literal["read", "update", "insert", "scan", "read_modify_write"]
#: A read-modify-write counts as a write, which waits for its read first.
KINDS: Mapping[OperationKind, tuple[LoadKind, ...]] = {
    "write": ("update", "insert", "read_modify_write"),
    "read": ("read",),
    "scan": ("scan",),
}
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class OfKind:
    """All operations of one kind in a phase. `queueing` and `total` include those that were due but never started."""

    count: int
    processing: LatencyHistogram
    not_started: int = 0
    queueing: LatencyHistogram | None = None
    total: LatencyHistogram | None = None


@dataclass(frozen=True, slots=True)
class _SecondRow:
    at_s: int
    longest_us: int
    read: int = 0
    update: int = 0
    insert: int = 0
    scan: int = 0
    read_modify_write: int = 0
    offered: int | None = None


@dataclass(frozen=True, slots=True)
class Drained:
    """Whether the database became idle in time, and the pending compaction bytes at the end of the wait."""

    reached: bool
    pending_compaction_bytes: int


@dataclass(frozen=True, slots=True)
class PhaseResult:
    """The result of one phase.

    Attributes:
        begin_monotonic_s: on CLOCK_MONOTONIC, like the daemon's samples.
        seconds: until the last operation returned, in an open loop at least as long as its steps; for a drain, until
            the database was idle.
        cpu_s: CPU time of the whole process during the phase.
        operations_by_kind: only the kinds that occurred.
        not_found: reads of a record that does not exist.

    """

    name: str
    measured: bool
    begin_monotonic_s: float
    begin_unix_s: float
    seconds: float
    cpu_s: float
    loop: Literal["open", "closed"] | None = None
    operations_by_kind: Mapping[LoadKind, OfKind] = field(default_factory=dict)
    not_found: int = 0
    by_second: tuple[_SecondRow, ...] = ()
    drain: Drained | None = None

    @property
    def operations(self) -> tuple[Operations, ...]:
        """The operations by the kinds of a raw run; only the kinds that occurred."""
        merged = ((raw, [self.operations_by_kind[kind] for kind in kinds if kind in self.operations_by_kind])
                  for raw, kinds in KINDS.items())  # fmt: skip
        return tuple(_merge(raw, found) for raw, found in merged if found)

    @property
    def raw_seconds(self) -> tuple[Second, ...]:
        """The phase by second; scans count as reads."""
        return tuple(
            Second(
                at_s=row.at_s,
                writes=row.update + row.insert + row.read_modify_write,
                reads=row.read + row.scan,
                offered=row.offered,
                longest_us=row.longest_us,
            )
            for row in self.by_second
        )

    @property
    def not_started(self) -> int:
        """Operations that were due but not started before the phase ended."""
        return sum(of_kind.not_started for of_kind in self.operations_by_kind.values())


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The result of a run; `process` covers the database and its clients together."""

    interrupted: bool
    rocksdb_version: str
    process: Process
    phases: tuple[PhaseResult, ...]

    @property
    def measured(self) -> PhaseResult:
        """The measured phase. Raises RunFailed if the run was ended before it."""
        for phase in self.phases:
            if phase.measured:
                return phase
        raise RunFailed("the load generator was ended before its measured phase")

    @property
    def drain_s(self) -> float | None:
        """Seconds from the measured phase's end until the database was idle; None if not reached or not waited for."""
        measured = self.measured
        following = self.phases[self.phases.index(measured) + 1 :]
        if not following or following[0].drain is None or not following[0].drain.reached:
            return None
        return following[0].seconds


@dataclass(frozen=True, slots=True)
class _File:
    format: int
    interrupted: bool
    rocksdb_version: str
    cpu_s: float
    peak_rss_bytes: int
    phases: tuple[PhaseResult, ...]


_FILE = ResultFile(
    TypeAdapter(_File),
    "{file} is not a result of the load generator ({why})",
    unreadable="the load generator left no result in {file} ({why})",
    error=RunFailed,
)


def read_result(file: Path) -> LoadResult:
    """Read a result file. Raises RunFailed with what is wrong with it."""
    content = _FILE.read(file)
    if content.format != _FORMAT:
        raise RunFailed(f"{file} has format {content.format}, this adocd reads {_FORMAT}")
    process = Process(content.cpu_s, content.peak_rss_bytes)
    return LoadResult(content.interrupted, content.rocksdb_version, process, content.phases)


def _merge(kind: OperationKind, found: list[OfKind]) -> Operations:
    return Operations(
        kind=kind,
        count=sum(each.count for each in found),
        processing=_together(each.processing for each in found),
        queueing=_together(each.queueing for each in found),
        total=_together(each.total for each in found),
    )


def _together(histograms: Iterable[LatencyHistogram | None]) -> LatencyHistogram | None:
    """Add up histograms, which all have the same bucket bounds; None if there are none."""
    there = [histogram for histogram in histograms if histogram is not None]
    if not there:
        return None
    counts: Counter[tuple[int, int]] = Counter()
    for histogram in there:
        for lowest_us, highest_us, count in histogram.buckets:
            counts[lowest_us, highest_us] += count
    buckets = tuple((*bounds, count) for bounds, count in sorted(counts.items()))
    return LatencyHistogram(buckets, max(histogram.max_us for histogram in there))
