"""The simulator against reality: the same law, options and device, in a real db_bench and in the model.

The model leaves out the processor, seeks and reads (docs/simulator.md). What it is to get right is the order: which law
writes more, and for what writers wait most; the ratios that it gets wrong are what is reported.
"""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from adocd.bench.laws.measure import Flags, Measured, Plan
from adocd.model.policy import Policy
from adocd.simulator.opening import Asked, opened
from adocd.simulator.options import DatabaseOptions, FamilyOptions
from adocd.simulator.run import run
from adocd.simulator.write_controller import CAUSES, Cause

LAWS = ("fixed", "adoc", "stability")
PROFILES = ("cap-210", "cap-100")
_MODELLED = {field.name for kind in (FamilyOptions, DatabaseOptions) for field in fields(kind)}


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of a run; stalls are shares of the time: what writers waited, and how long each cause held them."""

    writes_per_s: float
    waited: float
    stalls: Mapping[Cause, float]
    others_cpu: float = 0.0

    @property
    def order(self) -> tuple[str, ...]:
        """The causes of stalls, the longest first; what was less than a hundredth of the time is none."""
        return tuple(sorted((c for c in CAUSES if self.stalls[c] >= 0.01), key=lambda cause: -self.stalls[cause]))


def plan(law: str, profile: str, seconds: int, flags: Flags, seed: int) -> Plan:
    """Say how the real one is run."""
    return Plan(law, seconds, profile, flags=flags, seed=seed)


def measured_figures(measured: Measured) -> Figures:
    """Read off a real run what the model says, too; stalls are those of RocksDB's LOG."""
    first, last = measured.ticks[0].sample, measured.ticks[-1].sample
    seconds = last.monotonic_s - first.monotonic_s
    waited = ((last.counters.stall_micros or 0) - (first.counters.stall_micros or 0)) / 1e6 / seconds
    stalls = {
        cause: sum(stall.end_s - stall.begin_s for stall in measured.stalls if stall.cause == cause)
        / measured.report.seconds
        for cause in CAUSES
    }
    return Figures(measured.report.writes_per_s, waited, stalls, measured.others_cpu_fraction)


def simulated_figures(measured: Measured) -> Figures:
    """Simulate the same law for as long, with the options that the real database was opened with."""
    options = {**measured.originals.database, **measured.originals.column_families["default"]}
    asked = Asked(
        profile=measured.plan.profile,
        seconds=measured.report.seconds,
        options={name: value for name, value in options.items() if name in _MODELLED},
    )
    found = run(opened(asked), Policy(measured.plan.law, measured.plan.parameters), seconds=asked.seconds)
    seconds = found.simulated_s
    return Figures(
        writes_per_s=found.writes / seconds,
        waited=sum(found.stalled_s.values()) / seconds,
        stalls={cause: found.stalled_s[cause] / seconds for cause in CAUSES},
    )


def table(real: Mapping[tuple[str, str], Sequence[Figures]], model: Mapping[tuple[str, str], Figures]) -> str:
    """Write both beside each other, and whether the orders are the same."""
    lines = [
        "| device | law | writes/s, each run | simulated | of the median | waited | simulated "
        "| memtable, l0, pending: real | simulated |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for key, runs in real.items():
        one, each = model[key], ", ".join(f"{figures.writes_per_s:,.0f}" for figures in runs)
        waited = ", ".join(f"{figures.waited:.0%}" for figures in runs)
        lines.append(
            f"| {key[0]} | `{key[1]}` | {each} | {one.writes_per_s:,.0f} "
            f"| {one.writes_per_s / _median(runs).writes_per_s:.2f} | {waited} | {one.waited:.0%} "
            f"| {_shares(_median(runs))} | {_shares(one)} |"
        )
    return "\n".join([*lines, "", *_orders(real, model), ""])


def _orders(real: Mapping[tuple[str, str], Sequence[Figures]], model: Mapping[tuple[str, str], Figures]) -> list[str]:
    lines = []
    medians = {key: _median(runs) for key, runs in real.items()}
    for profile in dict.fromkeys(device for device, _ in real):
        of_it = [key for key in real if key[0] == profile]
        ranked = [[law for _, law in sorted(of_it, key=lambda key: -by[key].writes_per_s)] for by in (medians, model)]
        lines.append(f"{profile}: writes/s {_same(' > '.join(ranked[0]), ' > '.join(ranked[1]))}")
        for key in of_it:
            orders = [" > ".join(by[key].order) or "none" for by in (medians, model)]
            lines.append(f"{profile}, {key[1]}: causes {_same(orders[0], orders[1])}")
    return lines


def _same(real: str, model: str) -> str:
    return f"{real}, and so in the simulator" if real == model else f"{real}, but in the simulator {model}"


def _median(runs: Sequence[Figures]) -> Figures:
    return Figures(
        statistics.median(each.writes_per_s for each in runs),
        statistics.median(each.waited for each in runs),
        {cause: statistics.median(each.stalls[cause] for each in runs) for cause in CAUSES},
    )


def _shares(figures: Figures) -> str:
    return ", ".join(f"{figures.stalls[cause]:.0%}" for cause in CAUSES)
