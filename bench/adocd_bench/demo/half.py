"""One half of a comparison: a program under its agent, a daemon with one policy, everything measured."""

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from adocd_bench.demo.daemon_client import DaemonClient, Decision, Sample
from adocd_bench.demo.figures import HalfFigures, disagreement, disturbance, half_figures
from adocd_bench.demo.watch import Watch
from adocd_bench.errors import RunFailed
from adocd_bench.host.cap import Cap
from adocd_bench.host.noise import cpu_times, others_share
from adocd_bench.programs.fill import Fill, Workload, parse_seconds
from adocd_bench.run.child import Child, child
from adocd_bench.run.workspace import run_directory

_POLL_S = 0.5
_DAEMON_WITHIN_S = 30.0
_TARGET_WITHIN_S = 20.0
_OVERRUN_S = 120.0


@dataclass(frozen=True)
class HalfPlan:
    """What to run: `policy` under the daemon, `workload` under `cap`."""

    policy: str
    workload: Workload
    cap: Cap
    database: Path
    seconds: int
    seed: int


@dataclass(frozen=True)
class Progress:
    """What is known of a half while it runs; `samples` are the last session's."""

    policy: str
    seconds: int
    samples: tuple[Sample, ...] = ()
    decisions: tuple[Decision, ...] = ()
    sentence: str = ""

    @property
    def elapsed_s(self) -> float:
        """Seconds of writing that were measured so far."""
        return self.samples[-1].monotonic_s - self.samples[0].monotonic_s if self.samples else 0.0


@dataclass(frozen=True)
class HalfOutcome:
    """A half's figures, and what made them doubtful if anything did."""

    figures: HalfFigures
    warnings: tuple[str, ...]


def run_half(plan: HalfPlan, on_progress: Callable[[Progress], None]) -> HalfOutcome:
    """Run one half to its end; `on_progress` is called about twice a second.

    Raises RunFailed when the program or the daemon ends early, or the agent never shows up.
    """
    before = cpu_times()
    with run_directory() as room:
        environment = os.environ | {"ADOCD_RUN_DIR": str(room)}
        configuration = room / "adocd.toml"
        configuration.touch()  # this machine's own configuration must not take part
        serve = [sys.executable, "-m", "adocd", "serve", "--policy", plan.policy, "--config", str(configuration)]
        fill = Fill(plan.database, plan.seconds, plan.seed, room / "seconds.csv")
        command = plan.cap.command(plan.workload.command(fill))
        watch = Watch(DaemonClient(room / "daemon.sock"), plan.database)
        with child("serve", serve, environment, room) as daemon:
            on_progress(Progress(plan.policy, plan.seconds))
            await_daemon(daemon, watch.client)
            with child(plan.workload.name, command, {**environment, **plan.workload.environment()}, room) as bench:
                _follow(plan, bench, daemon, watch, on_progress)
            watch.poll()
            on_progress(_progress(plan, watch))
        return _outcome(plan, bench, fill, watch, others_share(before, cpu_times()))


def await_daemon(daemon: Child, client: DaemonClient) -> None:
    """Wait until `adocd serve` answers; raises RunFailed when it ends or takes too long."""
    deadline_s = time.monotonic() + _DAEMON_WITHIN_S
    while not client.is_healthy():
        if daemon.ended():
            raise RunFailed(f"adocd serve ended before it was ready: {daemon.last_words()}")
        if time.monotonic() > deadline_s:
            raise RunFailed(f"adocd serve was not ready within {_DAEMON_WITHIN_S:.0f} s: {daemon.last_words()}")
        time.sleep(0.05)


def _follow(plan: HalfPlan, bench: Child, daemon: Child, watch: Watch, on_progress: Callable[[Progress], None]) -> None:
    """Watch the program until it ends by itself."""
    name = plan.workload.name
    start_s = time.monotonic()
    while not bench.ended():
        time.sleep(_POLL_S)
        if daemon.ended():
            raise RunFailed(f"adocd serve ended during the run: {daemon.last_words()}")
        watch.poll()
        on_progress(_progress(plan, watch))
        running_s = time.monotonic() - start_s
        if not watch.is_found() and not bench.ended() and running_s > _TARGET_WITHIN_S:
            raise RunFailed(
                f"{name} runs, but its agent did not show up within {_TARGET_WITHIN_S:.0f} s: {bench.last_words()}"
            )
        if running_s > plan.seconds + _OVERRUN_S:
            raise RunFailed(f"{name} did not end within {_OVERRUN_S:.0f} s after its time was up")
    if bench.process.returncode != 0:
        raise RunFailed(f"{name} failed with status {bench.process.returncode}: {bench.last_words()}")


def _progress(plan: HalfPlan, watch: Watch) -> Progress:
    return Progress(plan.policy, plan.seconds, tuple(watch.samples), tuple(watch.decisions), watch.sentence)


def _outcome(plan: HalfPlan, bench: Child, fill: Fill, watch: Watch, others: float) -> HalfOutcome:
    report = plan.workload.report(bench.said(), plan.seconds)
    writes_by_second = parse_seconds(fill.report.read_text(encoding="utf-8")) if fill.report.exists() else []
    samples = watch.samples
    figures = half_figures(plan.policy, report, writes_by_second, samples, watch.decisions)
    warnings = (disagreement(report, writes_by_second, samples), disturbance(others))
    return HalfOutcome(
        replace(figures, others_cpu_fraction=others),
        tuple(f"{plan.policy}: {warning}" for warning in warnings if warning),
    )
