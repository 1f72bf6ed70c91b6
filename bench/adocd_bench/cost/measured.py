"""What was measured, as it is kept: every single value. `figures` works out of them what is printed and documented."""

import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Discriminator, TypeAdapter

from adocd_bench.fleet.measured import FleetMeasured
from adocd_bench.results import ResultFile


@dataclass(frozen=True, slots=True)
class Attach:
    """CPU microseconds per write of each run, in the order of the pairs; CPU seconds a second of the agent's threads.

    Of a Python program there are none of the last: its threads have no names of their own in /proc.
    """

    on: str
    writes: int
    without_us_per_write: tuple[float, ...]
    attached_us_per_write: tuple[float, ...]
    agent_threads_cpu_s_per_s: tuple[float, ...]
    kind: Literal["attach"] = "attach"

    def figures(self) -> dict[str, Any]:
        """Work out medians and spreads; the ratio is that of each pair."""
        pairs = zip(self.attached_us_per_write, self.without_us_per_write, strict=True)
        found: dict[str, Any] = {
            "on": self.on,
            "pairs": len(self.without_us_per_write),
            "writes": self.writes,
            "without_us_per_write": _spread(self.without_us_per_write),
            "attached_us_per_write": _spread(self.attached_us_per_write),
            "ratio": _spread([attached / without for attached, without in pairs]),
        }
        threads = self.agent_threads_cpu_s_per_s
        return found | ({"agent_threads_cpu_s_per_s": _spread(threads)} if threads else {})


@dataclass(frozen=True, slots=True)
class TimedSnapshots:
    """Microseconds of every request and of taking every snapshot, and how many saw writes stopped."""

    request_us: tuple[float, ...]
    collect_us: tuple[float, ...]
    stopped: int

    def figures(self) -> dict[str, float]:
        """Work out medians and 99.9th percentiles."""
        return _spread(self.request_us) | {
            "p99.9": round(statistics.quantiles(self.request_us, n=1000)[-1], 1),
            "collect_p50": round(statistics.median(self.collect_us), 1),
            "collect_p99.9": round(statistics.quantiles(self.collect_us, n=1000)[-1], 1),
            "stopped_fraction": round(self.stopped / len(self.request_us), 3),
        }


@dataclass(frozen=True, slots=True)
class Snapshots:
    """The snapshots of one program, by case."""

    on: str
    cases: dict[str, TimedSnapshots]
    kind: Literal["snapshot"] = "snapshot"

    def figures(self) -> dict[str, Any]:
        """Work out each case."""
        count = len(next(iter(self.cases.values())).request_us)
        return {"on": self.on, "count": count} | {name: case.figures() for name, case in self.cases.items()}


@dataclass(frozen=True, slots=True)
class Daemon:
    """CPU time of `adocd serve` on one database in so many seconds, and its memory in the end."""

    seconds: float
    cpu_s: float
    resident_bytes: int
    kind: Literal["daemon"] = "daemon"

    def figures(self) -> dict[str, Any]:
        """Work out its share of a core."""
        return {
            "seconds": round(self.seconds, 1),
            "share_of_a_core": round(self.cpu_s / self.seconds, 5),
            "resident_mib": round(self.resident_bytes / 2**20, 1),
        }


@dataclass(frozen=True, slots=True)
class Fleets:
    """Daemons with many simulated databases."""

    fleets: tuple[FleetMeasured, ...]
    kind: Literal["fleet"] = "fleet"

    def figures(self) -> dict[str, Any]:
        """Work out each."""
        return {"simulated": True, "fleets": [each.figures() for each in self.fleets]}


@dataclass(frozen=True, slots=True)
class ReactedTo:
    """One stall of run `run`, and what followed: seconds from its beginning, or why nothing did."""

    run: int
    cause: str
    condition: str
    begin_unix_s: float
    end_unix_s: float
    sent_s: float | None
    applied_s: float | None
    why_not: str | None


@dataclass(frozen=True, slots=True)
class Reactions:
    """Every stall of all runs; `others_cpu_fraction` is what other programs used of the machine."""

    profile: str
    seconds: int
    runs: int
    stalls: tuple[ReactedTo, ...]
    others_cpu_fraction: float
    kind: Literal["reaction"] = "reaction"

    def figures(self) -> dict[str, Any]:
        """Work out how soon stalls were answered."""
        answered = [one for one in self.stalls if one.why_not is None]
        return {
            "on": "db_bench",
            "profile": self.profile,
            "seconds": self.seconds,
            "runs": self.runs,
            "stalls": len(self.stalls),
            "stalls_by_cause": dict(Counter(f"{one.cause} {one.condition}" for one in self.stalls)),
            "answered": len(answered),
            "sent_s": _upper([one.sent_s for one in answered if one.sent_s is not None]),
            "applied_s": _upper([one.applied_s for one in answered if one.applied_s is not None]),
            "not_answered": dict(Counter(one.why_not for one in self.stalls if one.why_not).most_common()),
            "machine_busy_with_others": round(self.others_cpu_fraction, 3),
        }


@dataclass(frozen=True, slots=True)
class Tools:
    """CPU seconds of every run of each command; `others_cpu_fraction` is what other programs used of the machine."""

    cpu_s: dict[str, tuple[float, ...]]
    others_cpu_fraction: float
    kind: Literal["tools"] = "tools"

    def figures(self) -> dict[str, Any]:
        """Work out medians and spreads."""
        return {
            "runs": len(next(iter(self.cpu_s.values()))),
            "cpu_s": {command: _spread(taken, 3) for command, taken in self.cpu_s.items()},
            "machine_busy_with_others": round(self.others_cpu_fraction, 2),
        }


@dataclass(frozen=True, slots=True)
class MeasuredCost:
    """What one command measured, when, and on how many processors."""

    began_unix_s: float
    cpus: int
    found: Annotated[Attach | Snapshots | Daemon | Fleets | Reactions | Tools, Discriminator("kind")]


FILE = ResultFile(TypeAdapter(MeasuredCost), option="--keep")


def _spread(values: Sequence[float], digits: int = 5) -> dict[str, float]:
    return {
        "min": round(min(values), digits),
        "p50": round(statistics.median(values), digits),
        "max": round(max(values), digits),
    }


def _upper(values: Sequence[float]) -> dict[str, float] | None:
    if not values:
        return None
    ordered = sorted(values)
    at_90 = ordered[-(-9 * len(ordered) // 10) - 1]
    return {"p50": round(statistics.median(ordered), 3), "p90": round(at_90, 3), "max": round(ordered[-1], 3)}
