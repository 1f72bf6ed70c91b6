"""Stock db_bench under the native agent and a daemon with a law: all that the law saw, and all that it decided."""

import math
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from adocd.api.client import NoDaemon, RestClient, RestError
from adocd.bench.cap import capped
from adocd.bench.daemon_client import DaemonClient
from adocd.bench.db_bench import find_db_bench
from adocd.bench.device import parse_profile
from adocd.bench.errors import RunFailed
from adocd.bench.half import await_daemon
from adocd.bench.noise import cpu_times, others_share
from adocd.bench.process import Child, child
from adocd.bench.workload import Fill, FillReport, parse_seconds
from adocd.bench.workspace import choose_parent, needed_bytes, run_directory, workspace
from adocd.daemon.records import DecisionRecord
from adocd.diagnosis.stalls import StallFound
from adocd.diagnosis.watch.log import StallLog
from adocd.model.policy import ParameterValue
from adocd.model.sample import Sample
from adocd.model.snapshot import OptionValues
from adocd.probes.log import read_log

#: A daemon's cycle is a second: each of its samples is seen several times, the last with that cycle's sentence.
_POLL_S = 0.1
_OVERRUN_S = 180.0
_SAMPLE, _OPTIONS, _DECISIONS = TypeAdapter(Sample), TypeAdapter(OptionValues), TypeAdapter(list[DecisionRecord])
_DECISIONS_LIMIT = 1000

Flags = Mapping[str, int | float | str]


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run: a law with its parameters, on a device profile, with db_bench's own flags beside the demo's.

    `tail` keeps what was seen after the last write, where db_bench goes on with something else.
    """

    law: str
    seconds: int
    profile: str
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    flags: Flags = field(default_factory=dict)
    seed: int = 1
    tail: bool = False


@dataclass(frozen=True, slots=True)
class Tick:
    """A sample of the daemon's, and the sentence with which its cycle ended."""

    sample: Sample
    sentence: str


@dataclass(frozen=True, slots=True)
class Measured:
    """One run.

    Attributes:
        plan: what was run.
        report: db_bench's own result.
        writes_by_second: its own, too.
        ticks: what the daemon saw, oldest first, of the session in which db_bench wrote.
        decisions: what the daemon decided in it, oldest first.
        originals: the options before any of it.
        stalls: every stall in RocksDB's LOG.
        others_cpu_fraction: what other programs took of the machine meanwhile.

    """

    plan: Plan
    report: FillReport
    writes_by_second: list[int]
    ticks: tuple[Tick, ...]
    decisions: tuple[DecisionRecord, ...]
    originals: OptionValues
    stalls: tuple[StallFound, ...]
    others_cpu_fraction: float


def measure(plan: Plan) -> Measured:
    """Run it, on a fresh database and a quiet disk; raises BenchError."""
    profile = parse_profile(plan.profile)
    parent = choose_parent(None, needed_bytes(plan.seconds, profile))
    sys.stderr.write(f"{plan.law} on {plan.profile}, {plan.seconds} s\n")
    with workspace(parent) as place, capped(profile, parent) as cap, run_directory() as room:
        os.sync()
        before, database = cpu_times(), place / "database"
        environment = os.environ | {"ADOCD_RUN_DIR": str(room)}
        configuration = room / "adocd.toml"
        configuration.write_text(_configuration(plan), encoding="utf-8")
        serve = [sys.executable, "-m", "adocd", "serve", "--config", str(configuration)]
        bench, fill = find_db_bench(), Fill(database, plan.seconds, plan.seed, room / "seconds.csv")
        flags = [f"--{name}={value}" for name, value in plan.flags.items()]
        with child("serve", serve, environment, room) as daemon:
            await_daemon(daemon, DaemonClient(room / "daemon.sock"))
            log = _Collector(RestClient(room / "daemon.sock"), database)
            with child(bench.name, cap.command([*bench.command(fill), *flags]), environment, room) as program:
                _follow(plan, program, daemon, log)
            log.decisions()
        report = bench.report(program.said(), plan.seconds)
        seconds = parse_seconds(fill.report.read_text(encoding="utf-8")) if fill.report.exists() else []
        ticks = log.session(math.inf if plan.tail else report.seconds)
        since_s = ticks[0].sample.monotonic_s if ticks else 0.0
        stalls = StallLog()
        return Measured(
            plan=plan,
            report=report,
            writes_by_second=seconds,
            ticks=ticks,
            decisions=tuple(each for each in log.decided if each.monotonic_s >= since_s),
            originals=log.originals,
            stalls=tuple(stalls.take(read_log(database / "LOG", rotated=False)) + stalls.close()),
            others_cpu_fraction=others_share(before, cpu_times()),
        )


def _configuration(plan: Plan) -> str:
    values = {name: str(value).lower() for name, value in plan.parameters.items() if value is not None}
    parameters = "".join(f"{name} = {value}\n" for name, value in values.items())
    return f'[policy]\ncontroller = "{plan.law}"\n\n[policy.parameters]\n{parameters}'


def _follow(plan: Plan, program: Child, daemon: Child, log: "_Collector") -> None:
    deadline_s = time.monotonic() + plan.seconds + _OVERRUN_S
    while not program.ended():
        log.look()
        if daemon.ended():
            raise RunFailed(f"adocd serve ended during the run: {daemon.last_words()}")
        if time.monotonic() > deadline_s:
            raise RunFailed(f"db_bench did not end within {_OVERRUN_S:.0f} s after its time was up")
        time.sleep(_POLL_S)
    if program.process.returncode != 0:
        raise RunFailed(f"db_bench failed with status {program.process.returncode}: {program.last_words()}")


class _Collector:
    """Reads one database's newest sample, with options, events and tickers, which its history leaves out."""

    def __init__(self, rest: RestClient, database: Path) -> None:
        self.originals = OptionValues()
        self.decided: list[DecisionRecord] = []
        self._rest = rest
        self._database = database
        self._id: str | None = None
        self._ticks: dict[tuple[str, int], Tick] = {}

    def look(self) -> None:
        """Take the newest sample; what does not answer now does later."""
        try:
            if self._id is None:
                found = [t for t in self._rest.get("/v1/targets")["targets"] if Path(t["path"]) == self._database]
                if not found:
                    return
                self._id = found[0]["id"]
            detail = self._rest.get(f"/v1/targets/{self._id}")
        except (NoDaemon, RestError):
            return
        if detail["sample"] is None:
            return
        sample = _SAMPLE.validate_python(detail["sample"])
        self.originals = _OPTIONS.validate_python(detail["originals"])
        self._ticks[sample.session, sample.sequence] = Tick(sample, detail["sentence"] or "")

    def decisions(self) -> None:
        """Take all decisions, once the run is over; raises RunFailed when nothing was ever seen."""
        if self._id is None:
            raise RunFailed("db_bench ran, but its agent did not show up")
        answer = self._rest.get(f"/v1/targets/{self._id}/decisions?limit={_DECISIONS_LIMIT}")
        self.decided = _DECISIONS.validate_python(answer["decisions"])

    def session(self, seconds: float) -> tuple[Tick, ...]:
        """Give the last session's ticks while db_bench wrote; it opens its database twice.

        The very last is left out: the database may have been closed before the law was asked about it.
        """
        last = max(self._ticks.values(), key=lambda tick: tick.sample.monotonic_s).sample.session if self._ticks else ""
        ticks = [tick for (session, _), tick in self._ticks.items() if session == last]
        ticks.sort(key=lambda tick: tick.sample.monotonic_s)
        return tuple(tick for tick in ticks[:-1] if tick.sample.monotonic_s <= ticks[0].sample.monotonic_s + seconds)
