"""One half of the demo: a program under its agent, a daemon with one policy, everything measured."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd_bench.demo.figures import HalfFigures, disagreement, disturbance, half_figures
from adocd_bench.host.cap import Cap
from adocd_bench.host.noise import cpu_times, others_share
from adocd_bench.programs.fill import Fill, FillProgram, operations_by_second
from adocd_bench.run.observe import AgentProgram, Watched, observe
from adocd_bench.run.workspace import run_directory

#: Polls four times per daemon sample, so that none is missed.
_LOOK_S = 0.25
_OVERRUN_S = 120.0


@dataclass(frozen=True)
class HalfPlan:
    """What to run: `policy` under the daemon, `program` under `cap`."""

    policy: str
    program: FillProgram
    cap: Cap
    database: Path
    seconds: int
    seed: int


@dataclass(frozen=True)
class HalfProgress:
    """What is known of a half while it runs; `samples` are the last session's."""

    policy: str
    seconds: int
    samples: tuple[Sample, ...] = ()
    decisions: tuple[DecisionRecord, ...] = ()
    sentence: str = ""

    @property
    def elapsed_s(self) -> float:
        """Seconds of writing that were measured so far."""
        return self.samples[-1].monotonic_s - self.samples[0].monotonic_s if self.samples else 0.0


@dataclass(frozen=True)
class HalfOutcome:
    """A half's figures, and warnings that make them doubtful."""

    figures: HalfFigures
    warnings: tuple[str, ...]


def run_half(plan: HalfPlan, on_progress: Callable[[HalfProgress], None]) -> HalfOutcome:
    """Run one half to its end; `on_progress` is called about four times a second.

    Raises RunFailed when the program or the daemon ends early, or the agent never shows up.
    """

    def looked(seen: Watched) -> None:
        samples = tuple(tick.sample for tick in seen.ticks)
        on_progress(HalfProgress(plan.policy, plan.seconds, samples, seen.decisions, seen.sentence))

    on_progress(HalfProgress(plan.policy, plan.seconds))
    before, name = cpu_times(), plan.program.name
    with run_directory() as room:
        fill = Fill(plan.database, plan.seconds, plan.seed, room / "seconds.csv")
        command, environment = plan.program.command(fill), plan.program.environment()
        program = AgentProgram(name, command, plan.database, plan.seconds + _OVERRUN_S, environment)
        observed = observe(program, Policy(plan.policy), plan.cap, room, look_s=_LOOK_S, on_look=looked)
        others = others_share(before, cpu_times())
        report = plan.program.report(observed.said, plan.seconds)
        writes_by_second = list(operations_by_second(fill.report).values())
    samples = [tick.sample for tick in observed.ticks]
    figures = half_figures(plan.policy, report, writes_by_second, samples, observed.decisions)
    warnings = (disagreement(report, writes_by_second, samples), disturbance(others))
    return HalfOutcome(
        replace(figures, others_cpu_fraction=others),
        tuple(f"{plan.policy}: {warning}" for warning in warnings if warning),
    )
