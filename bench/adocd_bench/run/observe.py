"""A program under its agent and a daemon with a policy: all that the daemon saw of its database, and all it decided."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from adocd.api.client import NoDaemon, RestClient, RestError
from adocd.diagnosis.watch.log import StallLog
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import OptionValues
from adocd.probes.log import read_log
from adocd.probes.log.events import LogEvent
from adocd.probes.log.stalls import StallFound
from adocd_bench.demo.daemon_client import DaemonClient
from adocd_bench.demo.half import await_daemon
from adocd_bench.errors import RunFailed
from adocd_bench.host.cap import Cap
from adocd_bench.host.usage import Usage, usage_of
from adocd_bench.run.child import Child, child

#: A daemon's cycle is a second: each of its samples is seen several times, the last with that cycle's sentence.
POLL_S = 0.1
_DECISIONS_EVERY_S = 5.0
_SAMPLE, _OPTIONS, _DECISIONS = TypeAdapter(Sample), TypeAdapter(OptionValues), TypeAdapter(list[DecisionRecord])
_DECISIONS_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Program:
    """What is started: a command line that brings its agent, and the variables it needs beside those there are.

    It is given `at_most_s` seconds.
    """

    name: str
    command: Sequence[str]
    database: Path
    at_most_s: float
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tick:
    """A sample of the daemon's, and the sentence with which its cycle ended."""

    sample: Sample
    sentence: str


@dataclass(frozen=True, slots=True)
class Observed:
    """One run.

    Attributes:
        said: the program's standard output.
        ticks: what the daemon saw in the program's last session, oldest first.
        decisions: what the daemon decided in it, oldest first.
        originals: the options before any of it.
        log: all of RocksDB's LOG of that session.
        usage: what the database's process had used so far, by monotonic seconds; one reading each look.
        daemon: what the daemon's process had used in the end.
        unix_minus_monotonic_s: from one clock to the other.

    """

    said: str
    ticks: tuple[Tick, ...]
    decisions: tuple[DecisionRecord, ...]
    originals: OptionValues
    log: tuple[LogEvent, ...]
    usage: Mapping[float, Usage]
    daemon: Usage
    unix_minus_monotonic_s: float

    @property
    def stalls(self) -> tuple[StallFound, ...]:
        """Every stall in the LOG; times are unix seconds."""
        stalls = StallLog()
        return tuple(stalls.take(self.log) + stalls.close())


def observe(
    program: Program,
    policy: Policy,
    cap: Cap,
    room: Path,
    *,
    tick_s: float = 1.0,
    look_s: float = POLL_S,
    on_look: Callable[[Sample | None], None] = lambda _: None,
) -> Observed:
    """Run the program to its end under `cap`, sockets and output in `room`; `on_look` is told the newest sample.

    The daemon is asked every `look_s` seconds; each look costs some milliseconds of a processor.

    Raises RunFailed where the program or the daemon ends badly, or the agent never shows up.
    """
    environment = os.environ | {"ADOCD_RUN_DIR": str(room)}
    configuration = room / "adocd.toml"
    configuration.write_text(_configuration(policy, tick_s), encoding="utf-8")
    serve = [sys.executable, "-m", "adocd", "serve", "--config", str(configuration)]
    with child("serve", serve, environment, room) as daemon:
        await_daemon(daemon, DaemonClient(room / "daemon.sock"))
        collector = _Collector(RestClient(room / "daemon.sock"), program, daemon)
        with child(program.name, cap.command(program.command), {**environment, **program.environment}, room) as started:
            _follow(program, started, collector, look_s, on_look)
        collector.decisions()
    if not collector.is_found():
        raise RunFailed(f"{program.name} ran, but its agent did not show up")
    return collector.observed(started.said())


def _configuration(policy: Policy, tick_s: float) -> str:
    # A JSON string, number or boolean is the same in TOML.
    given = {name: value for name, value in policy.parameters.items() if value is not None}
    parameters = "".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items())
    return (
        f"[daemon]\ntick_s = {tick_s:g}\n\n[policy]\ncontroller = {json.dumps(policy.controller)}\n\n"
        f"[policy.parameters]\n{parameters}"
    )


def _follow(
    program: Program, started: Child, collector: "_Collector", poll_s: float, on_look: Callable[[Sample | None], None]
) -> None:
    deadline_s = time.monotonic() + program.at_most_s
    while not started.ended():
        collector.look()
        on_look(collector.newest)
        if collector.process.ended():
            raise RunFailed(f"adocd serve ended during the run: {collector.process.last_words()}")
        if time.monotonic() > deadline_s:
            raise RunFailed(f"{program.name} did not end within {program.at_most_s:.0f} s")
        time.sleep(poll_s)
    status = started.process.returncode
    if status != 0:
        raise RunFailed(f"{program.name} failed with status {status}: {started.last_words()}")


class _Collector:
    """Reads one database's newest sample, with options, events and tickers, which its history leaves out."""

    def __init__(self, rest: RestClient, program: Program, daemon: Child) -> None:
        self.process = daemon
        self.newest: Sample | None = None
        self._rest, self._program = rest, program
        self._originals = OptionValues()
        self._id: str | None = None
        self._ticks: dict[tuple[str, int], Tick] = {}
        self._decisions: dict[int, DecisionRecord] = {}
        self._decisions_read_s = time.monotonic()
        self._usage: dict[float, Usage] = {}
        self._daemon = Usage(0.0, 0, 0)

    def is_found(self) -> bool:
        """Say whether anything was seen."""
        return bool(self._ticks)

    def look(self) -> None:
        """Take the newest sample; what does not answer now does later."""
        try:
            if self._id is None:
                database = self._program.database
                found = [t for t in self._rest.get("/v1/targets")["targets"] if Path(t["path"]) == database]
                if not found:
                    return
                self._id = found[0]["id"]
            detail = self._rest.get(f"/v1/targets/{self._id}")
        except (NoDaemon, RestError):
            return
        pid = (detail["process"] or {}).get("pid")
        if pid is not None and (used := usage_of(pid)) is not None:
            self._usage[time.monotonic()] = used
        self._daemon = usage_of(self.process.process.pid) or self._daemon
        if time.monotonic() - self._decisions_read_s > _DECISIONS_EVERY_S:
            self.decisions()
        if detail["sample"] is None:
            return
        self.newest = _SAMPLE.validate_python(detail["sample"])
        self._originals = _OPTIONS.validate_python(detail["originals"])
        self._ticks[self.newest.session, self.newest.sequence] = Tick(self.newest, detail["sentence"] or "")

    def decisions(self) -> None:
        """Take the newest decisions: a law may take more in a run than the daemon gives at once."""
        self._decisions_read_s = time.monotonic()
        if self._id is None:
            return
        try:
            answer = self._rest.get(f"/v1/targets/{self._id}/decisions?limit={_DECISIONS_LIMIT}")
        except (NoDaemon, RestError):
            return
        for each in _DECISIONS.validate_python(answer["decisions"]):
            self._decisions[each.sequence] = each

    def observed(self, said: str) -> Observed:
        """Put together what belongs to the last session; db_bench, for one, opens its database twice."""
        last = max(self._ticks.values(), key=lambda tick: tick.sample.monotonic_s).sample.session
        ticks = [tick for (session, _), tick in self._ticks.items() if session == last]
        ticks.sort(key=lambda tick: tick.sample.monotonic_s)
        since_s = ticks[0].sample.monotonic_s
        decisions = [self._decisions[sequence] for sequence in sorted(self._decisions)]
        return Observed(
            said=said,
            ticks=tuple(ticks),
            decisions=tuple(each for each in decisions if each.monotonic_s >= since_s),
            originals=self._originals,
            log=tuple(_log(self._program.database)),
            usage=self._usage,
            daemon=self._daemon,
            unix_minus_monotonic_s=time.time() - time.monotonic(),
        )


def _log(database: Path) -> Iterable[LogEvent]:
    return read_log(database / "LOG", rotated=False)
