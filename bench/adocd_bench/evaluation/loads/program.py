"""What makes load in a run: a program, what it is to do, and what it says it did."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from adocd_bench.evaluation.raw import Operations, SchemeUsed, Second
from adocd_bench.run.observe import ObservedRun


@dataclass(frozen=True, slots=True)
class LoadJob:
    """One run's order.

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

    `drain_s` is from the phase's end until nothing was left to flush or compact; None where that was not reached.
    `rocksdb_version` is that of the library it ran with; `after` is what clients did after the measured phase.
    """

    operations: tuple[Operations, ...]
    seconds: tuple[Second, ...]
    begin_monotonic_s: float
    measured_s: float
    drain_s: float | None
    rocksdb_version: str
    after: tuple[Operations, ...] = ()


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
        """Say at which mean rate operations arrive; None where the loop is closed."""

    def at_most_s(self, job: LoadJob) -> float:
        """Say how long it may take at most, before and after the measured phase included."""

    @property
    def loaded_bytes(self) -> int:
        """Say how many bytes of records are there before the measured phase."""

    def command(self, job: LoadJob) -> list[str]:
        """Build the command line that starts it with its agent; writes what files it needs into the job's room."""

    def is_preparing(self, job: LoadJob) -> bool:
        """Say whether it is at work that no figure is of, such as loading: the device need not be capped then."""

    def environment(self) -> Mapping[str, str]:
        """Name the variables it needs beside those there are."""

    def outcome(self, job: LoadJob, observed: ObservedRun) -> LoadOutcome:
        """Read what it did; raises RunFailed where it does not say."""
