"""A program under its agent and a daemon with a policy: all that the daemon saw of its database, and all it decided."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter

from adocd.diagnosis.stalls.log import StallLog
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import OptionValues
from adocd.probes.log import read_log
from adocd.probes.log.events import LogEvent
from adocd.probes.log.stalls import StallFound
from adocd_bench.errors import RunFailed
from adocd_bench.host.cap import Cap
from adocd_bench.host.usage import Usage, usage_of
from adocd_bench.run.child import Child, child
from adocd_bench.run.daemon import RunDaemon, serving

#: A daemon's cycle is a second: each of its samples is seen several times, the last with that cycle's sentence.
POLL_S = 0.1
_FOUND_WITHIN_S = 30.0
_DECISIONS_EVERY_S = 5.0
_DECISIONS_LIMIT = 1000
_SAMPLE, _OPTIONS = TypeAdapter(Sample | None), TypeAdapter(OptionValues | None)
_DECISION, _DECISIONS = TypeAdapter(DecisionRecord | None), TypeAdapter(tuple[DecisionRecord, ...])


@dataclass(frozen=True, slots=True)
class AgentProgram:
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
class ObservedRun:
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
        return stalls_in(self.log)


class Watched:
    """One database as a daemon sees it, so far.

    It reads the newest sample, with options, events and tickers, which the daemon's history leaves out. A daemon that
    does not answer now does later.

    Attributes:
        newest: the newest sample; None before the first.
        sentence: what the daemon's last cycle came to, in its words.
        originals: the options before anything was changed.
        usage: what the database's process had used, by monotonic seconds.
        daemon_usage: what the daemon's had.

    """

    def __init__(self, daemon: RunDaemon, database: Path) -> None:
        self.newest: Sample | None = None
        self.sentence = ""
        self.originals = OptionValues()
        self.usage: dict[float, Usage] = {}
        self.daemon_usage = Usage(0.0, 0, 0)
        self._daemon, self._database = daemon, database
        self._id: str | None = None
        self._ticks: dict[tuple[str, int], Tick] = {}
        self._decisions: dict[int, DecisionRecord] = {}
        self._decisions_read_s = time.monotonic()

    def is_found(self) -> bool:
        """Say whether the daemon has the database as a target."""
        return self._id is not None

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """The last session's, oldest first.

        db_bench, for one, opens its database, destroys it and opens it again before it writes: what was measured before
        belongs to another session and does not count.
        """
        if self.newest is None:
            return ()
        mine = [tick for (session, _), tick in self._ticks.items() if session == self.newest.session]
        return tuple(sorted(mine, key=lambda tick: tick.sample.monotonic_s))

    @property
    def decisions(self) -> tuple[DecisionRecord, ...]:
        """What was decided in the last session, oldest first."""
        ticks = self.ticks
        since_s = ticks[0].sample.monotonic_s if ticks else 0.0
        found = (self._decisions[sequence] for sequence in sorted(self._decisions))
        return tuple(each for each in found if each.monotonic_s >= since_s)

    def look(self) -> None:
        """Ask for what is new. Raises RunFailed where the daemon's answer is not what it should be."""
        self._id = self._id or self._find()
        if self._id is None:
            return
        path = f"/v1/targets/{self._id}"
        detail = self._daemon.ask(path)
        if detail is None:
            return
        self._use((detail.get("process") or {}).get("pid"))
        self.sentence = detail.get("sentence") or ""
        self._keep(self._daemon.take(path, detail, "last_decision", _DECISION))
        if time.monotonic() - self._decisions_read_s > _DECISIONS_EVERY_S:
            self.look_at_decisions()
        sample = self._daemon.take(path, detail, "sample", _SAMPLE)
        if sample is None:
            return
        self._ticks[sample.session, sample.sequence] = Tick(sample, self.sentence)
        self.originals = self._daemon.take(path, detail, "originals", _OPTIONS) or self.originals
        if self.newest is None or sample.monotonic_s >= self.newest.monotonic_s:
            self.newest = sample

    def look_at_decisions(self) -> None:
        """Take the newest decisions: several may come between two looks, and outcomes come later."""
        self._decisions_read_s = time.monotonic()
        path = f"/v1/targets/{self._id}/decisions?limit={_DECISIONS_LIMIT}"
        answer = None if self._id is None else self._daemon.ask(path)
        for each in () if answer is None else self._daemon.take(path, answer, "decisions", _DECISIONS):
            self._keep(each)

    def _find(self) -> str | None:
        listed = self._daemon.ask("/v1/targets")
        if listed is None:
            return None
        targets = self._daemon.take("/v1/targets", listed, "targets", _TARGETS)
        mine = (target for target in targets if Path(target.path).resolve() == self._database.resolve())
        return next((target.id for target in mine), None)

    def _use(self, pid: int | None) -> None:
        if pid is not None and (used := usage_of(pid)) is not None:
            self.usage[time.monotonic()] = used
        self.daemon_usage = usage_of(self._daemon.child.pid) or self.daemon_usage

    def _keep(self, decision: DecisionRecord | None) -> None:
        if decision is not None:
            self._decisions[decision.sequence] = decision


@dataclass(frozen=True, slots=True)
class _Listed:
    id: str
    path: str


_TARGETS = TypeAdapter(tuple[_Listed, ...])


def observe(
    program: AgentProgram,
    policy: Policy,
    cap: Cap,
    room: Path,
    *,
    tick_s: float = 1.0,
    look_s: float = POLL_S,
    on_look: Callable[[Watched], None] = lambda _: None,
) -> ObservedRun:
    """Run the program to its end under `cap`, sockets and output in `room`; `on_look` is told what was seen so far.

    The daemon is asked every `look_s` seconds; each look costs some milliseconds of a processor.

    Raises RunFailed where the program or the daemon ends badly, or the agent never shows up.
    """
    with serving(room, policy, tick_s) as daemon:
        watched = Watched(daemon, program.database)
        on_look(watched)
        with child(program.name, cap.command(program.command), room, program.environment) as started:
            while started.is_running(program.at_most_s):
                watched.look()
                on_look(watched)
                _check(daemon, watched, started)
                time.sleep(look_s)
        watched.look()
        watched.look_at_decisions()
        on_look(watched)
    if watched.newest is None:
        raise RunFailed(f"{program.name} ran, but its agent did not show up")
    return ObservedRun(
        said=started.said(),
        ticks=watched.ticks,
        decisions=watched.decisions,
        originals=watched.originals,
        log=tuple(read_log(program.database / "LOG", rotated=False)),
        usage=watched.usage,
        daemon=watched.daemon_usage,
        unix_minus_monotonic_s=time.time() - time.monotonic(),
    )


def _check(daemon: RunDaemon, watched: Watched, started: Child) -> None:
    if daemon.child.ended():
        raise RunFailed(f"adocd serve ended during the run: {daemon.child.last_words()}")
    running_s = time.monotonic() - started.started_s
    if not watched.is_found() and not started.ended() and running_s > _FOUND_WITHIN_S:
        raise RunFailed(
            f"{started.name} runs, but its agent did not show up within {_FOUND_WITHIN_S:.0f} s: {started.last_words()}"
        )


def stalls_in(log: Iterable[LogEvent]) -> tuple[StallFound, ...]:
    """Find every stall in a session's LOG."""
    stalls = StallLog()
    return tuple(stalls.take(log) + stalls.close())


def settings_of(decision: DecisionRecord) -> dict[str, int]:
    """Name what a decision sets: a column family's knob is `FAMILY.knob` unless it is `default`."""
    return {
        str(one.knob) if one.column_family in {None, "default"} else f"{one.column_family}.{one.knob}": one.value
        for one in decision.settings
    }
