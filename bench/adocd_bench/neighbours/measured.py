"""What was measured, as it is kept."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import TypeAdapter

from adocd_bench.evaluation.report.percentiles import Percentiles
from adocd_bench.results import ResultFile

#: The database that is written as fast as it goes; all others have a rate.
HOT = "hot"


@dataclass(frozen=True, slots=True)
class NeighbourSecond:
    """A second of a database's clients; the longest operation that ended in it, from its call to its return."""

    at_s: int
    operations: int
    longest_us: int | None


@dataclass(frozen=True, slots=True)
class NeighbourSeen:
    """One of the daemon's samples, in seconds since the clients began, and what was in force."""

    at_s: float
    condition: str
    waited_fraction: float | None
    l0_files: int
    l0_bytes: int
    immutable_memtables: int
    pending_compaction_bytes: int
    write_buffer_bytes: int
    memtables: int
    l0_trigger: int
    jobs: int | None
    subcompactions: int | None
    delayed_write_rate: int | None
    written_bytes_per_s: float | None
    background_bytes_per_s: float | None
    #: Of writes within the database, in seconds, by the agent's sampler.
    p99_s: float | None
    #: What the arbiter allowed, in one sentence, and the share of the device; None without it.
    shared: str | None
    device_share: float | None


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision that was recorded: its rule, its outcome, and what it set."""

    at_s: float
    rule: str
    outcome: str
    settings: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class DatabaseRun:
    """One database; `latency` is from the call, for an open loop from when the operation was to start.

    An open loop's operations that were due and never started are in its latency with the time that they waited.
    """

    name: str
    operations: int
    not_started: int
    seconds: float
    latency: Percentiles
    by_second: tuple[NeighbourSecond, ...]
    seen: tuple[NeighbourSeen, ...]
    decided: tuple[Decided, ...]

    @property
    def per_s(self) -> float:
        """Operations per second of its own clients, from their first to their last."""
        return self.operations / self.seconds


@dataclass(frozen=True, slots=True)
class Run:
    """One run of one arm.

    Attributes:
        arm: which of `runs.ARMS`.
        repetition: from 1 on; the runs of one followed one another.
        began_unix_s: when its clients began.
        measured_s: until the last client of any database had ended.
        drain_s: from then until nothing was due anywhere, under the originals; None if that took too long.
        device_bytes: written to the device while clients ran, and in the drain.
        others_cpu: share of all processors that others had, 0 to 1.
        databases: the hot one first.

    """

    arm: str
    repetition: int
    began_unix_s: float
    measured_s: float
    drain_s: float | None
    device_bytes: tuple[int, int]
    others_cpu: float
    databases: tuple[DatabaseRun, ...]

    @property
    def operations(self) -> int:
        """Of all databases."""
        return sum(each.operations for each in self.databases)

    @property
    def per_s(self) -> float:
        """Operations per second of all databases, each while its own clients ran.

        Clients of an open loop that end late have that in their latency; the hot one's have done nothing meanwhile.
        """
        return sum(each.per_s for each in self.databases)

    @property
    def drained_per_s(self) -> float | None:
        """Operations per second over run and drain; None without a drain."""
        return None if self.drain_s is None else self.operations / (self.measured_s + self.drain_s)

    def worst(self, percentile: str) -> float:
        """Return the highest of a percentile's values, such as `p99_us`, among the databases, in microseconds."""
        return max(float(getattr(each.latency, percentile)) for each in self.databases)

    @property
    def hot_per_s(self) -> float:
        """Operations per second of the hot database."""
        return sum(each.per_s for each in self.databases if each.name == HOT)

    def share_told(self, words: str) -> float:
        """Return the share, 0 to 1, of all samples in which the arbiter's sentence had these words."""
        seen = [each.shared for database in self.databases for each in database.seen]
        return sum(words in (shared or "") for shared in seen) / max(1, len(seen))

    def decisions(self, rule: str) -> int:
        """Count the decisions of a rule in all databases."""
        return sum(each.rule == rule for database in self.databases for each in database.decided)


@dataclass(frozen=True, slots=True)
class MeasuredNeighbours:
    """All runs, oldest first, and what they had in common.

    Attributes:
        cpus: number of processors.
        profile: the cap on the device.
        seconds: how long clients write.
        rate_per_s: what each modest database's clients want.
        options: the databases' options, except for those of an arm.
        size_gib: the device's size, which bounds what level 0 may hold.
        memory_mib: the budget for the memtables of all; None for the daemon's default.
        drains: whether what is due is settled afterwards.

    """

    cpus: int
    profile: str
    seconds: float
    rate_per_s: float
    options: Mapping[str, int]
    runs: tuple[Run, ...]
    size_gib: int = 24
    memory_mib: int | None = None
    drains: bool = True


FILE = ResultFile(TypeAdapter(MeasuredNeighbours), option="--keep")
