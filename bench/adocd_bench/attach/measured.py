"""What was measured of attaching, as it is kept, and the tables of it."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter

from adocd.model.in_words import size
from adocd.model.in_words import time as duration
from adocd_bench.results import ResultFile


@dataclass(frozen=True, slots=True)
class LongestWrites:
    """The program's longest write while something was done to it, and in equal times without, in microseconds."""

    attach_us: int
    detach_us: int
    left_alone_us: int


@dataclass(frozen=True, slots=True)
class AttachAndDetach:
    """One attachment and its end, in seconds; `attach_s` has the second between the two proofs in it."""

    look_s: float
    attach_s: float
    detach_s: float
    #: None of a program that does not measure them.
    longest: LongestWrites | None = None


@dataclass(frozen=True, slots=True)
class Host:
    """A running program, to which it was attached again and again.

    Every time each of its databases was found, was asked for its levels through the agent, and nothing else was found.
    """

    program: str
    databases: int
    rss_bytes: int
    times: tuple[AttachAndDetach, ...]


@dataclass(frozen=True, slots=True)
class MeasuredAttaches:
    """A whole run; `busy` is the machine's load average (1 min) when it began."""

    began_unix_s: float
    cpus: int
    busy: float
    rocksdb_version: str
    hosts: tuple[Host, ...]


FILE = ResultFile(TypeAdapter(MeasuredAttaches))


def tables(found: MeasuredAttaches) -> str:
    """Show what was measured, in Markdown."""
    measuring = [host for host in found.hosts if any(each.longest for each in host.times)]
    return "\n".join([
        "| program | databases | its memory | attached and detached | find, median (longest) | attach | detach |",
        "|---|---|---|---|---|---|---|",
        *(_times(host) for host in found.hosts),
        "",
        "| databases | its memory | longest write: left alone | while it is attached | while it is detached |",
        "|---|---|---|---|---|",
        *(_longest(host) for host in measuring),
    ]) + "\n"  # fmt: skip


def _times(host: Host) -> str:
    columns = ([each.look_s for each in host.times], [each.attach_s for each in host.times],
               [each.detach_s for each in host.times])  # fmt: skip
    shown = " | ".join(f"{duration(statistics.median(each))} ({duration(max(each))})" for each in columns)
    return f"| {host.program} | {host.databases} | {size(host.rss_bytes)} | {len(host.times)} times | {shown} |"


def _longest(host: Host) -> str:
    known = [each.longest for each in host.times if each.longest is not None]
    columns = ([each.left_alone_us for each in known], [each.attach_us for each in known],
               [each.detach_us for each in known])  # fmt: skip
    shown = " | ".join(", ".join(duration(us / 1e6) for us in of_all(each)) for each in columns)
    return f"| {host.databases} | {size(host.rss_bytes)} | {shown} |"


def of_all(values: Sequence[int]) -> tuple[float, int, int]:
    """Give the median, the 99th percentile (nearest rank) and the highest."""
    ordered = sorted(values)
    return statistics.median(ordered), ordered[math.ceil(0.99 * len(ordered)) - 1], ordered[-1]
