"""A run's raw result, as it is kept: a JSON file a run, from which every figure of the report is worked out anew.

Nothing here is a judgement: medians, ranks and whether a run was disturbed are the report's (report/). Times are
seconds since the first client operation of the measured phase, unless a name says otherwise; bytes are bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from adocd_bench.errors import BadArgument
from adocd_bench.results import ResultFile

#: Raised when a field changes its meaning; a report refuses what it does not know.
FORMAT = 1

OperationKind = Literal["write", "read", "scan"]


@dataclass(frozen=True, slots=True)
class LatencyHistogram:
    """Latencies in microseconds: how many values fell into each bucket that is not empty, ascending.

    A bucket is (lowest, highest, count), both ends inclusive. The load generator's are within 0.1 % of a value, as
    HdrHistogram's with three significant digits; db_bench's own (rocksdb/monitoring/histogram.cc) within 50 %.
    """

    buckets: tuple[tuple[int, int, int], ...]
    max_us: int


@dataclass(frozen=True, slots=True)
class Operations:
    """All operations of a kind in the measured phase.

    `processing` is from the call to its return. `queueing` is from the intended start (the arrival) to the call, and
    `total` from the intended start to the return: None where the loop is closed, for there nothing queues.
    """

    kind: OperationKind
    count: int
    processing: LatencyHistogram | None
    queueing: LatencyHistogram | None = None
    total: LatencyHistogram | None = None


@dataclass(frozen=True, slots=True)
class Second:
    """One second of the measured phase: operations that ended in it, and the longest `total` (else `processing`).

    `offered` is how many operations were to start in it, None in a closed loop; `longest_us` None where nobody says.
    """

    at_s: int
    writes: int
    reads: int
    offered: int | None = None
    longest_us: int | None = None


@dataclass(frozen=True, slots=True)
class Sampled:
    """What the daemon saw at one of its ticks, in the measured phase and in the drain after it (`at_s` goes on)."""

    at_s: float
    condition: str
    stalled_fraction: float | None
    l0_files: int
    immutable_memtables: int
    memtables_bytes: int
    pending_compaction_bytes: int
    background_jobs: int | None
    write_buffer_size_bytes: int
    compaction_enabled: bool
    rate_limit_bytes_per_s: int | None
    written_bytes_per_s: float | None
    flush_written_bytes_per_s: float | None
    compaction_written_bytes_per_s: float | None


@dataclass(frozen=True, slots=True)
class RawStall:
    """One stall of RocksDB's own LOG: how long its condition held; `stalled_s` of it lies in the measured phase."""

    begin_s: float
    end_s: float
    condition: str
    cause: str
    stalled_s: float


@dataclass(frozen=True, slots=True)
class RawDecision:
    """One decision of the law (or of a guard in its place), and what became of it.

    `elapsed_s` is from the change being sent to its being applied and read back, None where nothing was sent.
    """

    at_s: float
    rule: str
    signal: str
    settings: Mapping[str, Any]
    outcome: str
    elapsed_s: float | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """RocksDB's own counts of bytes since the measured phase began, at one moment; None where it does not count."""

    at_s: float
    user_written_bytes: int | None
    wal_bytes: int | None
    flush_written_bytes: int | None
    compaction_written_bytes: int | None
    compaction_read_bytes: int | None
    pending_compaction_bytes: int
    stalled_s: float | None


@dataclass(frozen=True, slots=True)
class Process:
    """What a process used from its start to its end: processor seconds, and its resident memory at the most.

    `measured_cpu_s` is what of it lies in the measured phase; None where that cannot be told.
    """

    cpu_s: float
    peak_rss_bytes: int
    measured_cpu_s: float | None = None


@dataclass(frozen=True, slots=True)
class Noise:
    """What else went on: shares of all processors that other programs had (0 to 1), bytes others wrote to the device.

    `other_device_bytes` is None where the device cannot be told (no cap, no counters).
    """

    others_cpu_fraction: float
    other_device_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Machine:
    """Where it was run."""

    cpus: int
    cpu_model: str
    memory_bytes: int
    kernel: str
    distribution: str
    device: str | None
    #: Measured with direct I/O before the runs, in the directory of the databases.
    device_write_bytes_per_s: float | None
    device_read_bytes_per_s: float | None
    cgroup_version: int | None
    adocd_version: str
    rocksdb_version: str
    program_version: str


@dataclass(frozen=True, slots=True)
class SchemeUsed:
    """A scheme as it was run: options at the open, whether a limiter was there, and the daemon's policy and tick."""

    name: str
    title: str
    options: Mapping[str, str]
    rate_limiter_bytes_per_s: int | None
    auto_tuned: bool
    policy: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tick_s: float = 1.0


@dataclass(frozen=True, slots=True)
class WorkloadUsed:
    """A workload as it was run; `offered_per_s` is the mean rate of arrivals, None where the loop is closed."""

    name: str
    title: str
    program: str
    arguments: Mapping[str, Any]
    seconds: float
    offered_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class RawRun:
    """One run: a scheme under a workload on a device profile, from a fresh database to the end of its drain.

    Attributes:
        format: `FORMAT` of the program that wrote it.
        block: runs of one block are interleaved with each other and compared with its own baseline.
        repetition: 1 for the first.
        started_unix_s: when the program was started.
        operations: what clients did in the measured phase.
        measured_s: how long that phase took, by the program's own account.
        drain_s: how long compactions took until none was left; None where that was not reached, or not waited for.
        wal_outside_cap: whether the WAL's buffered writes escaped the cap (cgroup v1).
        capped_at_s: when the cap came into force, where what came before was let through; else None.
        after: what clients did after the measured phase, where the workload goes on to see what it left behind.
        warnings: what the runner noticed: a disagreement of counts, a daemon that ended, and so on.

    """

    format: int
    block: str
    scheme: SchemeUsed
    profile: str
    workload: WorkloadUsed
    repetition: int
    seed: int
    scale: int
    started_unix_s: float
    wall_s: float
    machine: Machine
    operations: tuple[Operations, ...]
    measured_s: float
    drain_s: float | None
    seconds: tuple[Second, ...]
    samples: tuple[Sampled, ...]
    stalls: tuple[RawStall, ...]
    decisions: tuple[RawDecision, ...]
    at_end: Moved
    drained: Moved | None
    database: Process
    daemon: Process
    noise: Noise
    wal_outside_cap: bool
    warnings: tuple[str, ...] = ()
    after: tuple[Operations, ...] = ()
    capped_at_s: float | None = None


_FILE = ResultFile(
    TypeAdapter(RawRun), "{file} is no raw result of adocd bench ({why})", unreadable="{file} cannot be read ({why})"
)


def write(file: Path, run: RawRun) -> None:
    """Keep a run. Raises BadOption where it cannot be written."""
    _FILE.write(file, run, indent=None)


def read(file: Path) -> RawRun:
    """Read what `write` kept. Raises BadOption with the file's name and what is wrong with it."""
    run = _FILE.read(file)
    if run.format != FORMAT:
        raise BadArgument(
            f"{file} has format {run.format}, this adocd reads {FORMAT}: make the report with the other one"
        )
    return run
