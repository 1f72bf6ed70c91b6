"""Measures the cost of a daemon with many simulated targets, and whether its cycles are on time."""

import contextlib
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
from adocd_bench.fleet.measured import FleetMeasured
from adocd_bench.host.noise import cpu_times, others_share
from adocd_bench.host.process_cpu import process_cpu_s
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


def fleets(plans: Iterable[FleetPlan], say: Callable[[str], object]) -> tuple[FleetMeasured, ...]:
    """Measure one fleet after the other, and print each table row as soon as it is known."""
    measured = []
    say(f"The targets are SIMULATED: what is measured is the daemon.\n\n{_HEAD}")
    for plan in plans:
        measured.append(fleet(plan))
        found = measured[-1].figures()
        late = found["jitter_ms"]
        say(
            f"| {found['targets']:,} | {found['policy']} | {found['share_of_a_core']:.3f} "
            f"| {found['ms_per_target_and_second']:.2f} | {found['resident_mib']:.0f} "
            f"| {late['p50']:.1f}, {late['p99']:.1f}, {late['max']:.1f} | {found['cycles_missed']} |\n"
        )
    return tuple(measured)


def fleet(asked: FleetPlan) -> FleetMeasured:
    """Measure one fleet."""
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
    return _measured(asked, before, then, times, others_share(machine, others))


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
        return cls(
            time.monotonic(),
            process_cpu_s(daemon.pid),
            sum(process_cpu_s(each.pid) for each in (simulated, *simulated.children())),
            daemon.memory_info().rss,
            vitals,
        )


def _measured(
    asked: FleetPlan,
    before: _Reading,
    then: _Reading,
    times: Sequence[Sequence[float]],
    others_cpu_fraction: float,
) -> FleetMeasured:
    return FleetMeasured(
        targets=asked.targets,
        policy=asked.policy,
        elapsed_s=then.monotonic_s - before.monotonic_s,
        tick_s=float(then.vitals["tick_s"]),
        cpu_s=then.cpu_s - before.cpu_s,
        simulated_cpu_s=then.simulated_cpu_s - before.simulated_cpu_s,
        resident_bytes=then.resident_bytes,
        bounds_s=tuple(then.vitals["tick_lateness"]["bounds_s"]),
        durations=_grown(before, then, "tick_duration"),
        lateness=_grown(before, then, "tick_lateness"),
        collections=_grown(before, then, "garbage_collection"),
        times_s=tuple(tuple(round(each, 6) for each in series) for series in times),
        others_cpu_fraction=others_cpu_fraction,
    )


def _grown(before: _Reading, then: _Reading, histogram: str) -> tuple[int, ...]:
    pairs = zip(then.vitals[histogram]["counts"], before.vitals[histogram]["counts"], strict=True)
    return tuple(now - was for now, was in pairs)


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
