"""Runs a program with its agent and a daemon with a policy; collects the daemon's samples and decisions."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from pydantic import TypeAdapter

from adocd.api.client import NoDaemon, RestError
from adocd.diagnosis.stalls.log import StallLog
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import OptionValues
from adocd.model.values import OptionName
from adocd.probes.log import read_log
from adocd.probes.log.events import LogEvent
from adocd.probes.log.stalls import StallFound
from adocd_bench.errors import RunFailed
from adocd_bench.host.cap import Cap
from adocd_bench.host.usage import Usage, usage_of
from adocd_bench.run.child import Child, child
from adocd_bench.run.daemon import RunDaemon, serving

#: Seconds between two requests. The daemon's cycle takes 1 s, so each sample is read several times, and the last time
#: with the sentence of its own cycle.
POLL_S = 0.1
_FOUND_WITHIN_S = 30.0
_DECISIONS_EVERY_S = 5.0
_DECISIONS_LIMIT = 1000
_SAMPLE, _OPTIONS = TypeAdapter(Sample | None), TypeAdapter(OptionValues | None)
_DECISION, _DECISIONS = TypeAdapter(DecisionRecord | None), TypeAdapter(tuple[DecisionRecord, ...])


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """The program to run.

    Attributes:
        name: for messages and file names.
        command: its command line, which must load the agent.
        database: the directory of its database.
        at_most_s: how long it may run, in seconds.
        environment: variables to add to the current environment.

    """

    name: str
    command: Sequence[str]
    database: Path
    at_most_s: float
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tick:
    """One of the daemon's samples, and the sentence that its cycle ended with."""

    sample: Sample
    sentence: str


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """The results of one run.

    Attributes:
        said: the program's standard output.
        ticks: the daemon's samples of the program's last session, oldest first.
        decisions: the daemon's decisions in that session, oldest first.
        originals: the option values before the first decision.
        log: all events in RocksDB's LOG of that session.
        usage: what the database's process had used so far, by monotonic seconds; one reading per look.
        daemon: what the daemon's process had used at the end.
        unix_minus_monotonic_s: add it to monotonic seconds to get unix seconds.

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
    """Collects what a daemon says about one database.

    It reads the newest sample again and again, because only that one has options, events and tickers: the daemon's
    history leaves them out. A look at a daemon that does not answer is skipped.

    Attributes:
        database: its directory.
        newest: the newest sample; None before the first.
        sentence: the sentence of the daemon's last cycle.
        originals: the option values before the first change.
        usage: what the database's process had used so far, by monotonic seconds.
        daemon_usage: what the daemon's process had used so far.

    """

    def __init__(self, daemon: RunDaemon, database: Path) -> None:
        self.newest: Sample | None = None
        self.sentence = ""
        self.originals = OptionValues()
        self.usage: dict[float, Usage] = {}
        self.daemon_usage = Usage(0.0, 0, 0)
        self._daemon, self.database = daemon, database
        self._id: str | None = None
        self._ticks: dict[tuple[str, int], Tick] = {}
        self._decisions: dict[int, DecisionRecord] = {}
        self._decisions_read_s = time.monotonic()

    def is_found(self) -> bool:
        """Say whether the daemon has the database as a target."""
        return self._id is not None

    @property
    def ticks(self) -> tuple[Tick, ...]:
        """The samples of the last session, oldest first.

        Earlier sessions do not count: db_bench, for example, opens its database, destroys it and opens it again before
        it writes.
        """
        if self.newest is None:
            return ()
        mine = [tick for (session, _), tick in self._ticks.items() if session == self.newest.session]
        return tuple(sorted(mine, key=lambda tick: tick.sample.monotonic_s))

    @property
    def decisions(self) -> tuple[DecisionRecord, ...]:
        """The decisions in the last session, oldest first.

        Where only one session was seen, those before its first sample that was seen belong to it.
        """
        ticks, sessions = self.ticks, {session for session, _ in self._ticks}
        since_s = ticks[0].sample.monotonic_s if ticks and len(sessions) > 1 else 0.0
        found = (self._decisions[sequence] for sequence in sorted(self._decisions))
        return tuple(each for each in found if each.monotonic_s >= since_s)

    def look(self) -> None:
        """Ask the daemon for what is new. Raises RunFailed if its answer is malformed."""
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
        """Ask for the newest decisions: several can be made between two looks, and outcomes follow later."""
        self._decisions_read_s = time.monotonic()
        path = f"/v1/targets/{self._id}/decisions?limit={_DECISIONS_LIMIT}"
        answer = None if self._id is None else self._daemon.ask(path)
        for each in () if answer is None else self._daemon.take(path, answer, "decisions", _DECISIONS):
            self._keep(each)

    def set_policy(self, policy: Policy) -> None:
        """Have another law from the daemon's next cycle on. Raises RunFailed if that is refused."""
        body = {"controller": policy.controller, "parameters": dict(policy.parameters)}
        try:
            self._daemon.rest.put(f"/v1/targets/{self._id}/policy", body)
        except (NoDaemon, RestError) as error:
            raise RunFailed(f"the daemon did not take the policy {policy.controller}: {error}") from None

    def pin(self, option: str, value: str) -> None:
        """Pin an option, as an operator does; restoring the originals ends that. Raises RunFailed.

        A safety guard may hold the value back, now or later: `newest` shows whether it is there.
        """
        try:
            self._daemon.rest.put(f"/v1/targets/{self._id}/overrides/{option}", {"value": value, "for_s": None})
        except (NoDaemon, RestError) as error:
            if isinstance(error, RestError) and error.status == HTTPStatus.CONFLICT:
                return
            raise RunFailed(f"the daemon did not pin {option}: {error}") from None

    def restore(self) -> None:
        """Have the originals restored and the law paused, as an operator does. Raises RunFailed if that is refused."""
        try:
            answer = self._daemon.rest.post(f"/v1/targets/{self._id}/restore")
        except (NoDaemon, RestError) as error:
            raise RunFailed(f"the daemon did not restore the originals: {error}") from None
        for sentence in (answer.get("failed") or {}).values():
            raise RunFailed(f"the daemon did not restore the originals: {sentence}")

    def _find(self) -> str | None:
        listed = self._daemon.ask("/v1/targets")
        if listed is None:
            return None
        targets = self._daemon.take("/v1/targets", listed, "targets", _TARGETS)
        mine = (target for target in targets if Path(target.path).resolve() == self.database.resolve())
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
    safety: Mapping[str, int] | None = None,
    look_s: float = POLL_S,
    on_look: Callable[[Watched], None] = lambda _: None,
    on_poll: Callable[[Watched], None] = lambda _: None,
    stop: Callable[[], bool] = lambda: False,
) -> ObservedRun:
    """Run the program to its end, or until `stop`, under `cap`, with sockets and output in `room`.

    It asks the daemon every `look_s` seconds, and then calls `on_look` with what it has collected so far. Each look
    costs a few milliseconds of CPU time. `on_poll` is called at least every `POLL_S` seconds, `stop` before each look.

    `safety` are the daemon's limits that are not its defaults.

    Raises RunFailed if the program or the daemon fails, or if the agent never appears.
    """
    with serving(room, policy, tick_s, safety=safety) as daemon:
        watched = Watched(daemon, program.database)
        on_look(watched)
        with child(program.name, cap.command(program.command), room, program.environment) as started:
            while started.is_running(program.at_most_s) and not stop():
                watched.look()
                on_look(watched)
                _check(daemon, watched, started)
                look_again_s = time.monotonic() + look_s
                while not started.ended() and (left_s := look_again_s - time.monotonic()) > 0:
                    on_poll(watched)
                    time.sleep(min(POLL_S, left_s))
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
    """Return every stall in a session's LOG, including one still in progress at its end."""
    stalls = StallLog()
    return tuple(stalls.take(log) + stalls.close())


def changes_of(decision: DecisionRecord) -> dict[str, tuple[str, str]]:
    """Return what was sent for a decision, option -> its values before and after; names are as in `settings_of`."""
    return {_option(each.option): (each.before, each.value) for each in decision.changes}


def _option(name: OptionName) -> str:
    is_other = name.scope == "column_family" and name.name != "default"
    return f"{name.name}.{name.option}" if is_other else name.option if name.scope == "column_family" else str(name)


def settings_of(decision: DecisionRecord) -> dict[str, int]:
    """Return a decision's knobs and values; a column family other than `default` is in the name: `FAMILY.knob`."""
    return {
        str(one.knob) if one.column_family in {None, "default"} else f"{one.column_family}.{one.knob}": one.value
        for one in decision.settings
    }
