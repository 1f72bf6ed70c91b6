"""The simulator against reality: the same law, options and device, in a real db_bench and in the model.

The model gets this machine's measured figures (calibration.py), taken separately from the compared runs. It leaves out
other CPU costs, seeks and clients' reads (docs/simulator.md). It must get the order right: which law writes more, and
which cause holds writers longest (agreement.py). Ratios that it gets wrong are reported.
"""

import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path

from pydantic import TypeAdapter

from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.simulator.opening import SimulationRequest, opened
from adocd.simulator.options import DatabaseOptions, FamilyOptions
from adocd.simulator.run import run
from adocd.simulator.write_controller import CAUSES
from adocd_bench.laws import agreement
from adocd_bench.laws.agreement import LawFigures
from adocd_bench.laws.calibration import ReadBandwidth, Speeds, middle
from adocd_bench.laws.measure import Flags, LawPlan, MeasuredLaw
from adocd_bench.programs.db_bench import KEYS
from adocd_bench.results import ResultFile

LAWS = ("fixed", "adoc", "stability")
#: A quarter of all sizes and rates that db_bench opens with, on a quarter of the device: what a database with its own
#: sizes does on cap-200 and cap-100, on a machine with four times the processors. With its own sizes it is processors
#: that hold clients up on two shared cores, and that is what the simulator leaves out.
PROFILES = ("cap-50", "cap-25")
QUARTER: Flags = {
    "write_buffer_size": 16 << 20,
    "target_file_size_base": 16 << 20,
    "max_bytes_for_level_base": 64 << 20,
    "soft_pending_compaction_bytes_limit": 16 << 30,
    "hard_pending_compaction_bytes_limit": 32 << 30,
    "delayed_write_rate": 2 << 20,
}
WHOLE_PROFILES = ("cap-210", "cap-100")
_MODELLED = {field.name for kind in (FamilyOptions, DatabaseOptions) for field in fields(kind)}
#: Names of the series' columns.
COLUMNS = ("s", "writes_per_s", "l0_files", "immutable_memtables", "pending_mib", "memtable_mib", "jobs")
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class RealRun:
    """One real run: what was run, with which options the database was opened, what came of it, and second by second."""

    law: str
    profile: str
    seed: int
    seconds: float
    options: Mapping[str, str]
    figures: LawFigures
    #: COLUMNS, a row a sample of the daemon's.
    series: tuple[tuple[float, ...], ...] = ()
    #: (base level, output level, MiB read, seconds) of each compaction that ended.
    compactions: tuple[tuple[float, ...], ...] = ()
    #: (MiB written, seconds) of each flush.
    flushes: tuple[tuple[float, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class RealRuns:
    """All of a comparison, as it is kept in a file: what the machine was measured at, and the runs."""

    speeds: tuple[Speeds, ...] = ()
    wal_outside_share: Mapping[str, float] = field(default_factory=dict)
    bandwidth: Mapping[str, ReadBandwidth] = field(default_factory=dict)
    runs: tuple[RealRun, ...] = ()

    def of(self, profile: str) -> dict[str, list[LawFigures]]:
        """Give the runs on a device, by law."""
        found: dict[str, list[LawFigures]] = {}
        for each in self.runs:
            if each.profile == profile:
                found.setdefault(each.law, []).append(each.figures)
        return found

    def unmeasured(self) -> "RealRuns":
        """Return the same runs without the machine's measurements, so that the model uses its own figures."""
        return replace(self, speeds=(), wal_outside_share={}, bandwidth={})

    @property
    def profiles(self) -> tuple[str, ...]:
        """Name the devices, in the order in which they came."""
        return tuple(dict.fromkeys(each.profile for each in self.runs))


_FILE = ResultFile(
    TypeAdapter(RealRuns),
    "{file} has no runs ({why}): name a file that --keep wrote",
    unreadable="{file} cannot be read ({why}): name a file that --keep wrote",
    option="--keep",
)


def read(file: Path) -> RealRuns:
    """Read what `write` wrote; raises BadArgument."""
    return _FILE.read(file)


def write(file: Path, runs: RealRuns) -> None:
    """Keep runs in a file; raises BadArgument."""
    _FILE.write(file, runs, indent=None)


def plan(law: str, profile: str, seconds: int, flags: Flags, seed: int) -> LawPlan:
    """Return the plan of the real run."""
    return LawPlan(law, seconds, profile, flags=flags, seed=seed)


def kept(measured: MeasuredLaw) -> RealRun:
    """Compute for a real run the figures that the model gives; stalls are those in RocksDB's LOG."""
    first, last = measured.ticks[0].sample, measured.ticks[-1].sample
    seconds = last.monotonic_s - first.monotonic_s
    waited = ((last.counters.stall_micros or 0) - (first.counters.stall_micros or 0)) / 1e6 / seconds
    held = {
        cause: sum(stall.end_s - stall.begin_s for stall in measured.stalls if stall.cause == cause)
        / measured.report.seconds
        for cause in CAUSES
    }
    options = {**measured.originals.database, **measured.originals.column_families["default"]}
    samples = [tick.sample for tick in measured.ticks]
    return RealRun(
        law=measured.plan.law,
        profile=measured.plan.profile,
        seed=measured.plan.seed,
        seconds=measured.report.seconds,
        options={name: value for name, value in options.items() if name in _MODELLED},
        figures=LawFigures(measured.report.writes_per_s, waited, held, measured.others_cpu_fraction),
        series=tuple(series(samples)),
        compactions=tuple(_compactions(samples)),
        flushes=tuple(_flushes(samples)),
    )


def series(samples: Sequence[Sample]) -> Iterator[tuple[float, ...]]:
    """Make COLUMNS of samples, the real ones and the simulated alike; time from the first one's beginning."""
    begin_s = samples[0].monotonic_s - samples[0].interval_s
    for sample in samples:
        family = sample.column_families[0]
        yield (
            round(sample.monotonic_s - begin_s, 1),
            round(sample.writes_per_s or 0),
            family.l0_files,
            family.immutable_memtables,
            round(family.pending_compaction_bytes / _MIB),
            round(family.options.write_buffer_size_bytes / _MIB),
            sample.background_jobs or 0,
        )


def _compactions(samples: Sequence[Sample]) -> Iterator[tuple[float, ...]]:
    for event in (event for sample in samples for event in sample.events if event.kind == "compaction_end"):
        mib, seconds = round((event.read_bytes or 0) / _MIB), round(event.elapsed_s or 0, 2)
        yield (event.base_level or 0, event.output_level or 0, mib, seconds)


def _flushes(samples: Sequence[Sample]) -> Iterator[tuple[float, ...]]:
    for event in (event for sample in samples for event in sample.events if event.kind == "flush_end"):
        yield (round((event.bytes or 0) / _MIB), round(event.elapsed_s or 0, 2))


def asked(one: RealRun, runs: RealRuns) -> SimulationRequest:
    """Say what is to be simulated for a real run: its device and options, and what the machine was measured at.

    A cap is by way: reads do not take from writes (adocd_bench.host.device), unless the disk below was measured to be
    slower than both caps together.
    """
    device = runs.bandwidth.get(one.profile)
    plain = SimulationRequest(
        read_bytes_per_s=None if device is None else device.read_bytes_per_s,
        mixed_bytes_per_s=math.inf if device is None else device.mixed_bytes_per_s,
        profile=one.profile,
        seconds=one.seconds,
        options=one.options,
        wal_outside_share=runs.wal_outside_share.get(one.profile, 0.0),
    )
    if not runs.speeds:
        return plain
    speeds = middle(runs.speeds)
    return replace(
        plain,
        rate_bytes_per_s=speeds.client_bytes_per_s,
        flush_bytes_per_s=speeds.flush_bytes_per_s,
        compaction_bytes_per_s=speeds.compaction_bytes_per_s,
    )


def simulated(one: RealRun, runs: RealRuns) -> LawFigures:
    """Simulate the same law for the same time."""
    setup = replace(opened(asked(one, runs)), distinct_keys=KEYS)
    found = run(setup, Policy(one.law), seconds=one.seconds)
    seconds = found.simulated_s
    return LawFigures(
        writes_per_s=found.writes / seconds,
        waited_share=sum(found.stalled_s.values()) / seconds,
        held_share={cause: found.held_s[cause] / seconds for cause in CAUSES},
    )


def models(runs: RealRuns) -> dict[tuple[str, str], LawFigures]:
    """Simulate each law on each device once, as its first run was."""
    found: dict[tuple[str, str], LawFigures] = {}
    for one in runs.runs:
        if (one.profile, one.law) not in found:
            found[one.profile, one.law] = simulated(one, runs)
    return found


def verdicts(runs: RealRuns, model: Mapping[tuple[str, str], LawFigures]) -> dict[str, list[agreement.Agreement]]:
    """Judge all of it, by device: laws in pairs, then each law's causes."""
    judged = {}
    for profile in runs.profiles:
        real, its = runs.of(profile), {law: figures for (device, law), figures in model.items() if device == profile}
        of_causes = [agreement.causes(law, real[law], its[law]) for law in real]
        judged[profile] = [*agreement.laws(real, its), *of_causes]
    return judged


def table(runs: RealRuns, model: Mapping[tuple[str, str], LawFigures]) -> str:
    """Write both beside each other, and where they agree."""
    lines = [
        "| device | law | writes/s, each run | simulated | of the median | waited | simulated "
        "| memtable, l0, pending: real | simulated |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (profile, law), one in model.items():
        real = runs.of(profile)[law]
        each = ", ".join(f"{figures.writes_per_s:,.0f}" for figures in real)
        waited = ", ".join(f"{figures.waited_share:.0%}" for figures in real)
        ratio = one.writes_per_s / statistics.median(figures.writes_per_s for figures in real)
        lines.append(
            f"| {profile} | `{law}` | {each} | {one.writes_per_s:,.0f} | {ratio:.2f} "
            f"| {waited} | {one.waited_share:.0%} | {_held(real)} | {_held([one])} |"
        )
    lines.append("")
    for profile, judged in verdicts(runs, model).items():
        lines += [f"{profile}: {verdict.words()}" for verdict in judged]
    return "\n".join([*lines, *_machine(runs), ""])


def _machine(runs: RealRuns) -> Iterator[str]:
    others = [each.figures.others_cpu_share for each in runs.runs]
    if others:
        yield f"Other programs took {min(others):.0%} to {max(others):.0%} of the processors meanwhile."
    for each in runs.speeds:
        yield f"measured before: {each.words()}"
    for profile, device in runs.bandwidth.items():
        yield f"{profile}: {device.words()}"
    for profile, share in runs.wal_outside_share.items():
        yield f"{profile}: {share:.1%} of the WAL is outside the cap"


def _held(several: Sequence[LawFigures]) -> str:
    return ", ".join(f"{statistics.median(each.held_share[cause] for each in several):.0%}" for cause in CAUSES)
