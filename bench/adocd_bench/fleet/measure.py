"""Measures the cost of a daemon with many simulated targets, and whether its cycles are on time."""

import contextlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from adocd.api.client import RestClient
from adocd.model.policy import Policy
from adocd_bench.host.noise import CpuTimes, cpu_times, others_share
from adocd_bench.run.child import Child, child, wait_until
from adocd_bench.run.daemon import serving
from adocd_bench.run.workspace import run_directory

#: Wait after all targets were sampled, so that the cost of attaching is not counted.
_SETTLE_S = 10.0
_WITHIN_S, _POLL_S = 120.0, 0.25
#: Most targets whose samples are read for exact times; for all others the daemon's histogram serves.
_READ_MOST = 100
_SAMPLES_MOST = 1000


@dataclass(frozen=True)
class FleetPlan:
    """What to run: number of simulated targets, policy, duration, and time to settle first."""

    targets: int
    policy: str
    seconds: float
    per_process: int = 10
    settle_s: float = _SETTLE_S


_HEAD = (
    "| targets | law | share of a core | ms per target and s | resident MiB | jitter p50, p99, worst (ms) | missed |\n"
    "|---|---|---|---|---|---|---|\n"
)


def fleets(plans: Iterable[FleetPlan], say: Callable[[str], object]) -> dict[str, Any]:
    """Measure one fleet after the other, and print each table row as soon as it is known."""
    measured = []
    say(f"The targets are SIMULATED: what is measured is the daemon.\n\n{_HEAD}")
    for plan in plans:
        found = fleet(plan)
        measured.append(found)
        late = found["jitter_ms"]
        say(
            f"| {found['targets']:,} | {found['policy']} | {found['share_of_a_core']:.3f} "
            f"| {found['ms_per_target_and_second']:.2f} | {found['resident_mib']:.0f} "
            f"| {late['p50']:.1f}, {late['p99']:.1f}, {late['max']:.1f} | {found['cycles_missed']} |\n"
        )
    return {"simulated": True, "fleets": measured}


def fleet(asked: FleetPlan) -> dict[str, Any]:
    """Measure one fleet: shares of a core, resident memory, and how late its cycles were, in milliseconds."""
    with (
        run_directory() as room,
        tempfile.TemporaryDirectory(prefix="adocd-fleet-") as directory,
        _simulated(asked, room, Path(directory)) as simulated,
        serving(room, Policy(asked.policy)) as daemon,
    ):
        rest, both = daemon.rest, (daemon.child, simulated)
        all_sampled = partial(_all_sampled, rest, asked.targets)
        wait_until(all_sampled, "not all targets were sampled", *both, within_s=_WITHIN_S, poll_s=_POLL_S)
        time.sleep(asked.settle_s)
        process, beside = (psutil.Process(each.pid) for each in both)
        before, machine = _Reading.of(rest, process, beside), cpu_times()
        time.sleep(asked.seconds)
        then, others = _Reading.of(rest, process, beside), cpu_times()
        times = [_times(rest, target, before.monotonic_s, then.monotonic_s) for target in _some(rest)]
    return _figures(asked, before, then, times, (machine, others))


@dataclass(frozen=True)
class _Reading:
    """What was used and done so far."""

    monotonic_s: float
    cpu_s: float
    simulated_cpu_s: float
    resident_bytes: int
    vitals: Mapping[str, Any]

    @classmethod
    def of(cls, rest: RestClient, daemon: psutil.Process, simulated: psutil.Process) -> "_Reading":
        vitals = rest.get("/v1/vitals")
        used = daemon.cpu_times()
        beside = [each.cpu_times() for each in (simulated, *simulated.children())]
        return cls(
            time.monotonic(),
            used.user + used.system,
            sum(each.user + each.system for each in beside),
            daemon.memory_info().rss,
            vitals,
        )


def _figures(
    asked: FleetPlan,
    before: _Reading,
    then: _Reading,
    times: Sequence[Sequence[float]],
    machine: tuple[CpuTimes, CpuTimes],
) -> dict[str, Any]:
    elapsed_s = then.monotonic_s - before.monotonic_s
    tick_s = float(then.vitals["tick_s"])
    used_s = then.cpu_s - before.cpu_s
    cycles = _grown(before, then, "tick_duration")
    lateness = _grown(before, then, "tick_lateness")
    bounds = then.vitals["tick_lateness"]["bounds_s"]
    done, due = sum(cycles), asked.targets * elapsed_s / tick_s
    jitters_ms = sorted(1000 * late_s for series in times for late_s in jitters(series, tick_s))
    return {
        "targets": asked.targets,
        "policy": asked.policy,
        "seconds": round(elapsed_s, 1),
        "share_of_a_core": round(used_s / elapsed_s, 4),
        "ms_per_target_and_second": round(1000 * used_s / elapsed_s / asked.targets, 3),
        "resident_mib": round(then.resident_bytes / 2**20, 1),
        "cycles": done,
        "cycles_missed": max(0, round(due - done - asked.targets)),
        "jitter_ms": {
            "p50": round(statistics.median(jitters_ms), 2),
            "p99": round(jitters_ms[max(0, -(-99 * len(jitters_ms) // 100) - 1)], 2),
            "max": round(jitters_ms[-1], 2),
        },
        "began_within_100_ms": round(_within(bounds, lateness, 0.1), 5),
        "garbage_collections": sum(collections := _grown(before, then, "garbage_collection")),
        "garbage_pause_within_ms": 1000 * _most(bounds, collections),
        "simulated_share_of_a_core": round((then.simulated_cpu_s - before.simulated_cpu_s) / elapsed_s, 3),
        "machine_busy_with_others": round(others_share(*machine), 3),
    }


def jitters(times_s: Sequence[float], tick_s: float) -> list[float]:
    """Say how far each time is from its nominal one, in seconds: the grid of `tick_s` that is nearest to all."""
    if not times_s:
        return []
    phases = [time_s % tick_s for time_s in times_s]
    # The median on a circle: as seen from the first, so that a grid near 0 is not torn apart.
    turned = [(phase - phases[0] + tick_s / 2) % tick_s for phase in phases]
    middle = statistics.median(turned)
    return [abs(phase - middle) for phase in turned]


def _grown(before: _Reading, then: _Reading, histogram: str) -> list[int]:
    pairs = zip(then.vitals[histogram]["counts"], before.vitals[histogram]["counts"], strict=True)
    return [now - was for now, was in pairs]


def _within(bounds: Sequence[float], counts: Sequence[int], bound: float) -> float:
    return sum(count for limit, count in zip(bounds, counts, strict=False) if limit <= bound) / max(1, sum(counts))


def _most(bounds: Sequence[float], counts: Sequence[int]) -> float:
    """Say which bound all values were within; infinity where some were beyond all."""
    most = max((at for at, count in enumerate(counts) if count), default=0)
    return bounds[most] if most < len(bounds) else float("inf")


def _all_sampled(rest: RestClient, targets: int) -> bool:
    return sum(target["writes_per_s"] is not None for target in rest.get("/v1/targets")["targets"]) == targets


def _some(rest: RestClient) -> list[str]:
    targets = [target["id"] for target in rest.get("/v1/targets")["targets"]]
    return targets[:: max(1, len(targets) // _READ_MOST)][:_READ_MOST]


def _times(rest: RestClient, target: str, from_s: float, until_s: float) -> list[float]:
    samples = rest.get(f"/v1/targets/{target}/samples", limit=_SAMPLES_MOST)["samples"]
    return [sample["monotonic_s"] for sample in samples if from_s <= sample["monotonic_s"] <= until_s]


@contextlib.contextmanager
def _simulated(asked: FleetPlan, room: Path, directory: Path) -> Iterator[Child]:
    command = [sys.executable, "-m", "adocd_bench.fleet", str(directory), "--targets", str(asked.targets)]
    command += ["--per-process", str(asked.per_process)]
    with child("simulated", command, room) as program:
        came = "the simulated databases did not come up"
        wait_until(lambda: "ready" in program.said(), came, program, within_s=_WITHIN_S)
        yield program
