"""The programs that write in a run under an agent: how they are started, and what they report."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

KEY_BYTES = 16
VALUE_BYTES = 1000


@dataclass(frozen=True)
class Fill:
    """One run of random writes.

    Attributes:
        directory: where the database is created; anything there is destroyed.
        seconds: how long it writes.
        seed: of the random keys, so that several runs write the same ones.
        report: the file to which it writes one line per second.

    """

    directory: Path
    seconds: int
    seed: int
    report: Path


@dataclass(frozen=True)
class FillReport:
    """What the program says about its run: writes per second, and over how many seconds and writes."""

    writes_per_s: float
    seconds: float
    writes: int


class FillProgram(Protocol):
    """A program that fills a database for a given time, with an agent in its process."""

    @property
    def name(self) -> str:
        """How `--on` names it."""

    @property
    def title(self) -> str:
        """Say in a few words what writes."""

    @property
    def rocksdb_version(self) -> str:
        """Name the RocksDB it writes with, such as `7.8.3`."""

    def command(self, fill: Fill) -> list[str]:
        """Build the command line that starts it with its agent."""

    def environment(self) -> Mapping[str, str]:
        """Return the environment variables to add."""

    def report(self, text: str, asked_seconds: int) -> FillReport:
        """Read its result from its standard output; raises RunFailed when there is none."""


def operations_by_second(report: Path) -> dict[int, int]:
    """Read the file with a line a second, `secs_elapsed,interval_qps` as db_bench writes it; empty where there is none.

    The last line is left out when it is not whole, as after a kill. db_bench's clock may skip a second.
    """
    if not report.exists():
        return {}
    rows = csv.reader(report.read_text(encoding="utf-8").splitlines())
    return {int(row[0]): int(row[1]) for row in rows if len(row) == 2 and row[0].isdigit() and row[1].isdigit()}


def last_line(text: str) -> str:
    """Return the last non-empty line, for an error message."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "nothing at all")
