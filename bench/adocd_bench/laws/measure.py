"""Runs stock db_bench under the native agent and a daemon with a law; records what the law saw and decided."""

import math
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import ParameterValue, Policy
from adocd.model.snapshot import OptionValues
from adocd.probes.log.stalls import StallFound
from adocd_bench.host.cap import capped
from adocd_bench.host.device import parse_profile
from adocd_bench.host.noise import cpu_times, others_share
from adocd_bench.programs.db_bench import find_db_bench
from adocd_bench.programs.fill import Fill, FillReport, operations_by_second
from adocd_bench.run.observe import AgentProgram, Tick, observe
from adocd_bench.run.workspace import choose_parent, needed_bytes, run_directory, workspace

_OVERRUN_S = 180.0

Flags = Mapping[str, int | float | str]


@dataclass(frozen=True, slots=True)
class LawPlan:
    """What to run: a law with its parameters, on a device profile, with db_bench's own flags beside the demo's.

    `tail` keeps the samples after the last write, if db_bench continues with something else.
    """

    law: str
    seconds: int
    profile: str
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    flags: Flags = field(default_factory=dict)
    seed: int = 1
    tail: bool = False


@dataclass(frozen=True, slots=True)
class MeasuredLaw:
    """One run.

    Attributes:
        plan: what was run.
        report: db_bench's own result.
        writes_by_second: its own, too.
        ticks: what the daemon saw, oldest first, of the session in which db_bench wrote.
        decisions: what the daemon decided in it, oldest first.
        originals: the options before any of it.
        stalls: every stall in RocksDB's LOG.
        others_cpu_fraction: share of the machine's CPU that other programs used meanwhile.

    """

    plan: LawPlan
    report: FillReport
    writes_by_second: list[int]
    ticks: tuple[Tick, ...]
    decisions: tuple[DecisionRecord, ...]
    originals: OptionValues
    stalls: tuple[StallFound, ...]
    others_cpu_fraction: float


def measure(plan: LawPlan) -> MeasuredLaw:
    """Run the plan on a fresh database and an idle disk; raises BenchError."""
    profile = parse_profile(plan.profile)
    size_bytes = needed_bytes(plan.seconds, profile)
    parent = choose_parent(None, size_bytes)
    sys.stderr.write(f"{plan.law} on {plan.profile}, {plan.seconds} s\n")
    with workspace(parent) as place, capped(profile, place, size_bytes) as cap, run_directory() as room:
        os.sync()
        before = cpu_times()
        bench, fill = find_db_bench(), Fill(cap.directory / "database", plan.seconds, plan.seed, room / "seconds.csv")
        command = [*bench.command(fill), *(f"--{name}={value}" for name, value in plan.flags.items())]
        program = AgentProgram(bench.name, command, fill.directory, plan.seconds + _OVERRUN_S)
        observed = observe(program, Policy(plan.law, plan.parameters), cap, room)
        report = bench.report(observed.said, plan.seconds)
        seconds = list(operations_by_second(fill.report).values())
        return MeasuredLaw(
            plan=plan,
            report=report,
            writes_by_second=seconds,
            ticks=_while_writing(observed.ticks, math.inf if plan.tail else report.seconds),
            decisions=observed.decisions,
            originals=observed.originals,
            stalls=observed.stalls,
            others_cpu_fraction=others_share(before, cpu_times()),
        )


def _while_writing(ticks: tuple[Tick, ...], seconds: float) -> tuple[Tick, ...]:
    """Drop the last sample: the database may have closed before the law was asked about it."""
    return tuple(tick for tick in ticks[:-1] if tick.sample.monotonic_s <= ticks[0].sample.monotonic_s + seconds)
