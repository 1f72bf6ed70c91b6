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
class EventAnswered:
    """One event at which tide wants to be asked, and what followed: seconds from the event, or why nothing did.

    `sent_s` is when the daemon announced the change to its journal, `applied_s` when it had its values read back.
    """

    kind: str
    monotonic_s: float
    looked_s: float | None
    sent_s: float | None
    applied_s: float | None
    why_not: str | None


@dataclass(frozen=True, slots=True)
class WakingRun:
    """One run; CPU of the daemon's process in seconds a second, and how many samples and changes it made."""

    wakes: bool
    seconds: float
    writes_per_s: float
    daemon_cpu_s_per_s: float
    samples: int
    changes: int
    events: tuple[EventAnswered, ...]


@dataclass(frozen=True, slots=True)
class Waking:
    """Pairs of runs, one without and one with events that wake the daemon, interleaved."""

    profile: str
    pairs: tuple[tuple[WakingRun, WakingRun], ...]
    others_cpu_fraction: float
    kind: Literal["waking"] = "waking"

    def figures(self) -> dict[str, Any]:
        """Work out how soon events were answered, of all runs together, and what it cost."""
        by = {"asleep": [pair[0] for pair in self.pairs], "woken": [pair[1] for pair in self.pairs]}
        return {
            "on": "db_bench",
            "profile": self.profile,
            "pairs": len(self.pairs),
            "seconds": round(statistics.median(run.seconds for pair in self.pairs for run in pair), 1),
            **{name: _woken(runs) for name, runs in by.items()},
            "machine_busy_with_others": round(self.others_cpu_fraction, 3),
        }


def _woken(runs: Sequence[WakingRun]) -> dict[str, Any]:
    events = [event for run in runs for event in run.events]
    answered = [event for event in events if event.why_not is None]
    medians = [statistics.median(one.sent_s for one in run.events if one.sent_s is not None) for run in runs]
    return {
        "events": dict(Counter(event.kind for event in events)),
        "answered": len(answered),
        "not_answered": dict(Counter(event.why_not for event in events if event.why_not).most_common()),
        "looked_s": _upper([event.looked_s for event in events if event.looked_s is not None]),
        "sent_s": _upper([event.sent_s for event in answered if event.sent_s is not None]),
        "sent_s_median_by_run": _spread(medians, 4),
        "applied_s": _upper([event.applied_s for event in answered if event.applied_s is not None]),
        "daemon_cpu_s_per_s": _spread([run.daemon_cpu_s_per_s for run in runs]),
        "samples_per_s": _spread([run.samples / run.seconds for run in runs], 2),
        "changes_per_s": _spread([run.changes / run.seconds for run in runs], 2),
        "writes_per_s": _spread([run.writes_per_s for run in runs], 0),
    }


@dataclass(frozen=True, slots=True)
class RateCost:
    """Seconds that each change of the delayed write rate alone took: its journal entry, its request, RocksDB's call."""

    journal_s: tuple[float, ...]
    request_s: tuple[float, ...]
    rocksdb_s: tuple[float, ...]
    others_cpu_fraction: float
    kind: Literal["rate"] = "rate"

    def figures(self) -> dict[str, Any]:
        """Work out what RocksDB's call takes, and what everything beside it does."""
        whole = [journal + request for journal, request in zip(self.journal_s, self.request_s, strict=True)]
        beside = [each - rocksdb for each, rocksdb in zip(whole, self.rocksdb_s, strict=True)]
        milliseconds = {"whole": whole, "rocksdb": self.rocksdb_s, "beside": beside, "journal": self.journal_s}
        return {
            "changes": len(self.rocksdb_s),
            **{f"{name}_ms": _upper([each * 1000 for each in taken]) for name, taken in milliseconds.items()},
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
    found: Annotated[
        Attach | Snapshots | Daemon | Fleets | Reactions | Waking | RateCost | Tools, Discriminator("kind")
    ]


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
