"""The interface of load programs: the job they get, and the result they report."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from adocd_bench.evaluation.raw import Operations, SchemeUsed, Second
from adocd_bench.run.observe import ObservedRun


@dataclass(frozen=True, slots=True)
class LoadJob:
    """One run's job.

    Attributes:
        database: where the database is made; anything there is destroyed.
        room: where its other files go.
        seconds: how long the measured phase is to be.
        seed: of the random keys, so that all schemes of a repetition write the same ones.
        scheme: the options and the limiter that the database is opened with.

    """

    database: Path
    room: Path
    seconds: int
    seed: int
    scheme: SchemeUsed


@dataclass(frozen=True, slots=True)
class LoadOutcome:
    """What the program says of its run; `begin_monotonic_s` is when its measured phase began.

    `clients_ended_monotonic_s` is when its clients had stopped and it began to flush; None where it is not drained.
    `rocksdb_version` is that of the library it ran with; `after` is what clients did after the measured phase, and
    `after_span_monotonic_s` from when until when. `program_hash` is of its file, if that is not built of our sources.
    """

    operations: tuple[Operations, ...]
    seconds: tuple[Second, ...]
    begin_monotonic_s: float
    measured_s: float
    clients_ended_monotonic_s: float | None
    rocksdb_version: str
    after: tuple[Operations, ...] = ()
    after_span_monotonic_s: tuple[float, float] | None = None
    program_hash: str | None = None


class LoadProgram(Protocol):
    """A program that can do a job, with an agent in its process."""

    @property
    def name(self) -> str:
        """Name the program."""

    @property
    def version(self) -> str:
        """Say which one it is."""

    @property
    def seconds(self) -> int:
        """Say how long its measured phase is."""

    @property
    def arguments(self) -> Mapping[str, Any]:
        """Say what it is told beside the job, for the record."""

    @property
    def offered_per_s(self) -> float | None:
        """Return the mean arrival rate of operations; None for a closed loop."""

    @property
    def offered_bytes(self) -> int | None:
        """Return how many bytes of records arrive in its measured phase at most; None for a closed loop."""

    def at_most_s(self, job: LoadJob) -> float:
        """Return its time limit, including the time before and after the measured phase."""

    @property
    def loaded_bytes(self) -> int:
        """Say how many bytes of records are there before the measured phase."""

    def command(self, job: LoadJob) -> list[str]:
        """Build the command line that starts it with its agent; writes what files it needs into the job's room."""

    def is_preparing(self, job: LoadJob) -> bool:
        """Return whether it is in unmeasured work such as loading, in which the device need not be capped."""

    @property
    def gathers(self) -> bool:
        """Say whether it waits between its preparation and its measured phase until it is told to begin."""

    def is_gathered(self, job: LoadJob) -> bool:
        """Return whether it has prepared and waits."""

    def begin(self, job: LoadJob) -> None:
        """Let its measured phase begin."""

    def is_to_read(self, job: LoadJob) -> bool:
        """Return whether its clients wait to read what the measured phase has left, with compaction off."""

    def admit_reads(self, job: LoadJob) -> None:
        """Let them read."""

    def is_settling(self, job: LoadJob) -> bool:
        """Return whether its clients have stopped, and it holds the database open to be restored and drained."""

    @property
    def ends_by_itself(self) -> bool:
        """Say whether it ends when nothing is due, and not when it is released; a drain that takes too long ends it."""

    def release(self, job: LoadJob) -> None:
        """Let it close the database, since nothing is due any more."""

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables to add."""

    def outcome(self, job: LoadJob, observed: ObservedRun) -> LoadOutcome:
        """Read its result; raises RunFailed if it reported none."""
