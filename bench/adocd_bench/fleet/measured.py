"""What is kept of a daemon with many simulated databases, and what its figures come to."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FleetMeasured:
    """One fleet in one window.

    Attributes:
        targets: how many simulated databases.
        policy: the law.
        elapsed_s: length of the window.
        tick_s: the daemon's period.
        cpu_s: CPU time of the daemon in the window; `simulated_cpu_s` that of the databases.
        resident_bytes: the daemon's memory in the end.
        bounds_s: upper bounds of the histograms below; the last count of each is beyond all.
        durations: cycles in the window by how long they took; `lateness` by how late they began; `collections`
            garbage collections by how long they took.
        times_s: of at most 100 databases, when each sample was taken, by the agent's monotonic clock.
        others_cpu_fraction: what others used of the machine, the simulated databases among them.

    """

    targets: int
    policy: str
    elapsed_s: float
    tick_s: float
    cpu_s: float
    simulated_cpu_s: float
    resident_bytes: int
    bounds_s: tuple[float, ...]
    durations: tuple[int, ...]
    lateness: tuple[int, ...]
    collections: tuple[int, ...]
    times_s: tuple[tuple[float, ...], ...]
    others_cpu_fraction: float

    def figures(self) -> dict[str, Any]:
        """Work out shares of a core, memory, and how late cycles were, in milliseconds."""
        done, due = sum(self.durations), self.targets * self.elapsed_s / self.tick_s
        jitters_ms = sorted(1000 * late_s for series in self.times_s for late_s in jitters(series, self.tick_s))
        return {
            "targets": self.targets,
            "policy": self.policy,
            "seconds": round(self.elapsed_s, 1),
            "share_of_a_core": round(self.cpu_s / self.elapsed_s, 4),
            "ms_per_target_and_second": round(1000 * self.cpu_s / self.elapsed_s / self.targets, 3),
            "resident_mib": round(self.resident_bytes / 2**20, 1),
            "cycles": done,
            "cycles_missed": max(0, round(due - done - self.targets)),
            "jitter_ms": {
                "p50": round(statistics.median(jitters_ms), 2),
                "p99": round(jitters_ms[max(0, -(-99 * len(jitters_ms) // 100) - 1)], 2),
                "max": round(jitters_ms[-1], 2),
            },
            "began_within_100_ms": round(_within(self.bounds_s, self.lateness, 0.1), 5),
            "garbage_collections": sum(self.collections),
            "garbage_pause_within_ms": 1000 * _most(self.bounds_s, self.collections),
            "simulated_share_of_a_core": round(self.simulated_cpu_s / self.elapsed_s, 3),
            "machine_busy_with_others": round(self.others_cpu_fraction, 3),
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


def _within(bounds: Sequence[float], counts: Sequence[int], bound: float) -> float:
    return sum(count for limit, count in zip(bounds, counts, strict=False) if limit <= bound) / max(1, sum(counts))


def _most(bounds: Sequence[float], counts: Sequence[int]) -> float:
    """Say which bound all values were within; infinity where some were beyond all."""
    most = max((at for at, count in enumerate(counts) if count), default=0)
    return bounds[most] if most < len(bounds) else float("inf")
