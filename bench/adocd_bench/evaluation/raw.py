"""A run's raw result: one JSON file per run, from which the report computes all its figures.

It only has what was measured; medians, ranks and whether a run was disturbed are the report's (report/). Times are
seconds since the first client operation of the measured phase, unless the name says otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter

from adocd.probes.diskstats import SECTOR_BYTES
from adocd_bench.errors import BadArgument
from adocd_bench.results import ResultFile

#: Incremented when a field changes its meaning; a report refuses any other format.
FORMAT = 1
#: The scheme that all others are compared with.
BASELINE = "default"
_GB = 1_000_000_000

OperationKind = Literal["write", "read", "scan"]


@dataclass(frozen=True, slots=True)
class LatencyHistogram:
    """Latencies in microseconds: the count of each bucket that is not empty, ascending.

    A bucket is (lowest, highest, count), both ends inclusive. The load generator's buckets are at most 0.1 % of their
    values wide, like HdrHistogram's with three significant digits; db_bench's (rocksdb/monitoring/histogram.cc) 50 %.
    """

    buckets: tuple[tuple[int, int, int], ...]
    max_us: int


@dataclass(frozen=True, slots=True)
class Operations:
    """All operations of one kind in the measured phase.

    `processing` is the time from the call to its return. `queueing` is the time from the intended start (the arrival)
    to the call, and `total` from the intended start to the return; both are None in a closed loop, which has no queue.
    """

    kind: OperationKind
    count: int
    processing: LatencyHistogram | None
    queueing: LatencyHistogram | None = None
    total: LatencyHistogram | None = None


@dataclass(frozen=True, slots=True)
class Second:
    """One second of the measured phase: the operations that ended in it.

    `offered` is how many operations should have started in it; None in a closed loop. `longest_us` is the longest
    `total` of these operations (in a closed loop the longest `processing`); None if the program does not report it.
    """

    at_s: int
    writes: int
    reads: int
    offered: int | None = None
    longest_us: int | None = None


@dataclass(frozen=True, slots=True)
class Sampled:
    """One of the daemon's samples, from the measured phase or from the drain after it (`at_s` continues there)."""

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
    """One stall from RocksDB's LOG. `stalled_s` is the part of it that lies in the measured phase."""

    begin_s: float
    end_s: float
    condition: str
    cause: str
    stalled_s: float


@dataclass(frozen=True, slots=True)
class RawDecision:
    """One decision of the law, or of a guard in its place, with its outcome.

    `settings` are the knobs that the law wants. `elapsed_s` is the time from sending the change until it was applied
    and read back; None if nothing was sent. `changes` is option -> its values before and after, of what was sent:
    guards change what a law wants, and the daemon puts options back that it no longer wants. None: it was not recorded.
    """

    at_s: float
    rule: str
    signal: str
    settings: Mapping[str, Any]
    outcome: str
    elapsed_s: float | None = None
    changes: Mapping[str, tuple[str, str]] | None = None


@dataclass(frozen=True, slots=True)
class Moved:
    """RocksDB's counters at one moment, since the measured phase began; None for what it does not count."""

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
    """A process's CPU time and peak resident memory from its start to its end.

    `measured_cpu_s` is its CPU time in the measured phase; None if it is not known.
    """

    cpu_s: float
    peak_rss_bytes: int
    measured_cpu_s: float | None = None


@dataclass(frozen=True, slots=True)
class Noise:
    """What other programs did meanwhile.

    Attributes:
        others_cpu_fraction: the share of all CPUs (0 to 1) that other programs had in user mode, and that the
            hypervisor gave to other guests (steal).
        other_device_bytes: what they wrote to the device; None if it cannot be counted (no cap, or a device without
            counters).
        others_kernel_fraction: the share of all CPUs that the kernel had, except for the run's own system calls: for
            other programs, and in its threads and interrupts also for the run. None: it was not recorded.
        bench_cpu_fraction: the share of all CPUs that the bench had beside this run's database and daemon, which is in
            neither of the others: for its own work, and for the runs that went on at the same time. None: it was not
            recorded.
        bench_device_bytes: what all runs that went on at the same time wrote to the disk beneath their devices, this
            one's included; None if they had no devices of their own, or it was not recorded.
        measured_others_fraction: `others_cpu_fraction` and `others_kernel_fraction` together, over the measured phase
            alone. None: it was not recorded.
        others_signed_fraction: the first and the third together as they came out, below 0 where the run's own time came
            out larger than all time: how far those two can be too small. None: it was not recorded.

    """

    others_cpu_fraction: float
    other_device_bytes: int | None = None
    others_kernel_fraction: float | None = None
    bench_cpu_fraction: float | None = None
    bench_device_bytes: int | None = None
    measured_others_fraction: float | None = None
    others_signed_fraction: float | None = None


@dataclass(frozen=True, slots=True)
class DeviceBytes:
    """What a block device counted of its own in the measured phase (/proc/diskstats).

    Attributes:
        device: its kernel name.
        dedicated: nobody but the run could write to it, and all writers are under its cap.
        most_written_bytes_per_s: the highest rate of writing over a window of at least a second; None if the phase is
            shorter.
        size_bytes: its size, of whose free space a law may take a share; None if not recorded.

    """

    device: str
    dedicated: bool
    written_bytes: int
    read_bytes: int
    most_written_bytes_per_s: float | None
    size_bytes: int | None = None

    @property
    def asked_gb(self) -> int | None:
        """The size that the plan asked for, in GB; one that follows from the load is hardly ever a whole number."""
        if not self.dedicated or self.size_bytes is None or -self.size_bytes % _GB >= SECTOR_BYTES:
            return None
        return -(-self.size_bytes // _GB)


@dataclass(frozen=True, slots=True)
class Machine:
    """The machine of a run, with the versions of the programs.

    `code` is a hash of the sources of adocd and the bench, and of the agent in use; `program_hash` is one of the file
    of a program that is not built of these sources (code_hash.py). None if it was not recorded.
    """

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
    code: str | None = None
    program_hash: str | None = None


@dataclass(frozen=True, slots=True)
class SchemeUsed:
    """A scheme as it was run: options at open, rate limiter (None without one), the daemon's policy, tick and limits.

    `safety` is the daemon's configuration by that name, where it is not the default.
    """

    name: str
    title: str
    options: Mapping[str, str]
    rate_limiter_bytes_per_s: int | None
    auto_tuned: bool
    policy: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    tick_s: float = 1.0
    safety: Mapping[str, int] = field(default_factory=dict)

    @property
    def setting(self) -> Mapping[str, Any]:
        """All but its name and title: two schemes of the same setting are the same one."""
        return {each.name: getattr(self, each.name) for each in fields(self) if each.name not in ("name", "title")}


@dataclass(frozen=True, slots=True)
class WorkloadUsed:
    """A workload as it was run; `offered_per_s` is the mean rate of arrivals, None in a closed loop."""

    name: str
    title: str
    program: str
    arguments: Mapping[str, Any]
    seconds: float
    offered_per_s: float | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """How the owner's options came back after the measured phase, and what was due under them.

    Attributes:
        clients_ended_s: the clients had stopped, and the drain began.
        asked_s: the daemon was asked to restore.
        restored_s: the restore was done.
        owners_s: every option had the owner's value, in every scheme the same one.
        changed: what the bench set itself for that, since the database had been opened with other values.
        quiet_s: from then on nothing ran or was due; None if that was not reached.
        running_flushes, running_compactions, flush_pending, compaction_pending, memtables, pending_compaction_bytes:
            what RocksDB said last; `memtables` are those with content. The bytes are an estimate.

    """

    clients_ended_s: float
    asked_s: float
    restored_s: float
    owners_s: float
    changed: Mapping[str, str]
    quiet_s: float | None
    running_flushes: int
    running_compactions: int
    flush_pending: int
    compaction_pending: int
    memtables: int
    pending_compaction_bytes: int


@dataclass(frozen=True, slots=True)
class RawRun:
    """One run: a scheme under a workload on a device profile, from a fresh database to the end of its drain.

    Attributes:
        format: `FORMAT` of the program that wrote it.
        block: the runs of a block are interleaved and compared with the block's own baseline.
        repetition: 1 for the first.
        started_unix_s: when the program was started.
        operations: the clients' operations in the measured phase.
        measured_s: how long the measured phase took, as the program reports it; in an open loop with what was late.
        drain_s: time from the clients' end until nothing was left to flush or compact under the owner's options (kept
            runs without `settled`: under the law's); None if that was not reached (`cut_off`) or not waited for.
        wal_outside_cap: whether the cap did not limit the WAL's buffered writes. Such runs have a profile's name with
            `-wal-outside`; before there were such names, runs on cgroup v1 had the name without it.
        capped_at_s: when the cap took effect, for a run that began without it; else None.
        law_at_s: when the policy was set, for a run that was loaded before without one; else None: from the open on.
        device: what the capped device counted in the measured phase, without a cap the disk; None if not recorded.
        after: the clients' operations after the measured phase, if the workload continues to observe its effects.
        after_span_s: from when until when these went on; None without any, or if it was not recorded.
        settled: the restore and the drain; None in runs that were drained under the law's options, or not at all.
        at_once: how many runs of the plan might go on at the same time, this one included; the last ones have fewer
            beside them.
        warnings: what the runner noticed, such as counts that disagree or a daemon that ended.

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
    law_at_s: float | None = None
    device: DeviceBytes | None = None
    settled: Settled | None = None
    at_once: int = 1
    after_span_s: tuple[float, float] | None = None

    @property
    def cut_off(self) -> bool:
        """Whether its drain was waited for and not reached; a program that is not drained has no `settled`."""
        return self.settled is not None and self.drain_s is None

    @property
    def phase_s(self) -> float:
        """How long the phase was to take: what a law did, and how long writes were held, are shares of it.

        An open loop has the length of its load, for how long what is late goes on afterwards is an outcome.
        """
        return self.measured_s if self.workload.offered_per_s is None else self.workload.seconds


_FILE = ResultFile(
    TypeAdapter(RawRun), "{file} is not a raw result of adocd bench ({why})", unreadable="{file} cannot be read ({why})"
)


def write(file: Path, run: RawRun) -> None:
    """Write a run to a file. Raises BadArgument if that fails."""
    _FILE.write(file, run, indent=None)


def read(file: Path) -> RawRun:
    """Read a file that `write` wrote. Raises BadArgument with the file's name and what is wrong with it."""
    run = _FILE.read(file)
    if run.format != FORMAT:
        raise BadArgument(
            f"{file} has format {run.format}, this adocd reads {FORMAT}: make the report with the adocd that wrote it"
        )
    return run
