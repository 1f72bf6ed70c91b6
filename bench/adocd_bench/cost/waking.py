"""Measures what waking is worth, and what a change of the delayed write rate alone takes.

An event is one at which tide wants to be asked: writes are now delayed or stopped, or a memtable waits while the next
one is full. Its time is the agent's, by the monotonic clock that the bench has, too.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter

from adocd.controllers.tide.law import Tide
from adocd.daemon.book.book import Book
from adocd.daemon.fleet.run import CLOCKS
from adocd.model.change import Change, DatabaseChange, RestoreStep
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.model.snapshot import Event
from adocd.model.values import of_database
from adocd.targets.agent import Agent, AgentTarget
from adocd.targets.errors import TargetError
from adocd.targets.run_dir import agent_sockets
from adocd_bench.cost.measured import EventAnswered, RateCost, Waking, WakingRun
from adocd_bench.cost.reaction import SENT, SMALL
from adocd_bench.errors import RunFailed
from adocd_bench.host.cap import capped
from adocd_bench.host.device import parse_profile
from adocd_bench.host.noise import cpu_times, others_share
from adocd_bench.host.usage import usage_of
from adocd_bench.programs.db_bench import DbBench, find_db_bench
from adocd_bench.programs.fill import Fill
from adocd_bench.run.child import Child, child
from adocd_bench.run.daemon import RunDaemon, serving
from adocd_bench.run.interrupt import interruptible
from adocd_bench.run.workspace import choose_parent, run_directory, workspace

_MIB = 1 << 20
IN_FLIGHT, NOTHING_TO_CHANGE = "an earlier change was still in flight", "the law had nothing to change"
#: Budgets as small as the memtables, so that stalls go on coming.
_TIDE = Policy("tide", {"memory_max_bytes": 16 * _MIB, "debt_max_bytes": 256 * _MIB})
_ROOM_BYTES_PER_S, _ROOM_BYTES = 60_000_000, 1_000_000_000
_OVERRUN_S = 60.0
_LOOK_S = 1.0
_MOST = 1000
_RATE = of_database("delayed_write_rate")
_RATE_BYTES_PER_S = 64 * _MIB
_BETWEEN_RATES_S = 0.1
_SAMPLES, _DECISIONS = TypeAdapter(tuple[Sample, ...]), TypeAdapter(tuple[DecisionRecord, ...])


def waking(seconds: float, pairs: int, profile: str, directory: Path | None) -> Waking:
    """Run stock db_bench under a cap and tide, in interleaved pairs without and with waking."""
    before = cpu_times()
    found = []
    for number in range(pairs):
        order = (False, True) if number % 2 == 0 else (True, False)
        runs = {wakes: _run(round(seconds), number + 1, profile, directory, wakes=wakes) for wakes in order}
        found.append((runs[False], runs[True]))
    return Waking(profile, tuple(found), others_share(before, cpu_times()))


def rates(seconds: float, profile: str, directory: Path | None) -> RateCost:
    """Change the delayed write rate of a db_bench that writes, ten times a second; no law is at work."""
    before = cpu_times()
    with _filling(round(seconds), 1, profile, directory) as (program, _, room, _bench):
        taken = asyncio.run(_change_rates(program, room))
    journal, request, rocksdb = zip(*taken, strict=True)
    return RateCost(journal, request, rocksdb, others_share(before, cpu_times()))


def _run(seconds: int, seed: int, profile: str, directory: Path | None, *, wakes: bool) -> WakingRun:
    with _filling(seconds, seed, profile, directory) as (program, database, room, bench):
        with serving(room, _TIDE, module="adocd" if wakes else "adocd_bench.cost.asleep") as daemon:
            seen = _Seen(daemon, room, database)
            while program.is_running(seconds + _OVERRUN_S):
                began_s = time.monotonic()
                with contextlib.suppress(TargetError):
                    seen.look()
                time.sleep(max(0.0, began_s + _LOOK_S - time.monotonic()))
            seen.look_at_decisions()
        return seen.run(bench.report(program.said(), seconds).writes_per_s, wakes=wakes)


@contextlib.contextmanager
def _filling(
    seconds: int, seed: int, profile: str, directory: Path | None
) -> Iterator[tuple[Child, Path, Path, DbBench]]:
    bench, wanted, size_bytes = find_db_bench(), parse_profile(profile), _ROOM_BYTES + seconds * _ROOM_BYTES_PER_S
    with (
        interruptible(),
        run_directory() as room,
        workspace(choose_parent(directory, size_bytes)) as place,
        capped(wanted, place, size_bytes) as cap,
    ):
        fill = Fill(cap.directory / "db", seconds, seed, room / "seconds.csv")
        command = [*bench.command(fill), *(f"--{name}={value}" for name, value in SMALL.items())]
        with child(bench.name, cap.command(command), room) as program:
            yield program, fill.directory, room, bench


class _Seen:
    """What agent and daemon say of one run; only of its last open, because db_bench opens its database twice."""

    def __init__(self, daemon: RunDaemon, room: Path, database: Path) -> None:
        self._daemon, self._room, self._database = daemon, room, database
        self._session = ""
        self._path: str | None = None
        self._events: list[Event] = []
        self._last_event = 0
        self._samples: dict[int, float] = {}
        self._decisions: dict[int, DecisionRecord] = {}
        #: Monotonic seconds and the daemon's CPU seconds, at the first look with a sample and at the last one.
        self._cpu_s: list[tuple[float, float]] = []

    def look(self) -> None:
        """Take in what is new."""
        asyncio.run(self._look_at_agent())
        if self._path is None:
            listed = (self._daemon.ask("/v1/targets") or {}).get("targets") or []
            self._path = next((f"/v1/targets/{each['id']}" for each in listed if each["state"] == "attached"), None)
            return
        path = f"{self._path}/samples?after={max(self._samples, default=0)}&limit={_MOST}"
        answer = self._daemon.ask(path)
        for sample in () if answer is None else self._daemon.take(path, answer, "samples", _SAMPLES):
            if sample.session == self._session:
                self._samples[sample.sequence] = sample.monotonic_s
        if self._samples and (used := usage_of(self._daemon.child.pid)) is not None:
            self._cpu_s = [*self._cpu_s[:1], (time.monotonic(), used.cpu_s)]
        self.look_at_decisions()

    def look_at_decisions(self) -> None:
        """Take in decisions and their outcomes."""
        path = f"{self._path}/decisions?limit={_MOST}"
        answer = None if self._path is None else self._daemon.ask(path)
        for each in () if answer is None else self._daemon.take(path, answer, "decisions", _DECISIONS):
            self._decisions[each.sequence] = each

    async def _look_at_agent(self) -> None:
        async with _agent_target(self._room) as target:
            snapshot = await target.snapshot(self._last_event)
            if snapshot.session != self._session:
                self._session, self._events, self._samples = snapshot.session, [], {}
                snapshot = await target.snapshot(0)
            if snapshot.lost_events:
                raise RunFailed("the agent no longer has all events: look more often")
            self._events += [event for event in snapshot.events if _counts(event)]
            self._last_event = snapshot.last_event

    def run(self, writes_per_s: float, *, wakes: bool) -> WakingRun:
        """Work out the run. Raises RunFailed if the daemon has seen nothing of it."""
        if len(self._cpu_s) < 2:
            raise RunFailed("the daemon has not sampled db_bench for long enough")
        (from_s, then_s), (to_s, now_s) = self._cpu_s
        to_unix_s = time.time() - time.monotonic()
        decided = [
            LawLooked(each.monotonic_s, each.unix_s - to_unix_s, each.elapsed_s)
            for each in self._decisions.values()
            if each.outcome in SENT
        ]
        looked = sorted(self._samples.values())
        return WakingRun(
            wakes=wakes,
            seconds=round(to_s - from_s, 2),
            writes_per_s=round(writes_per_s, 1),
            daemon_cpu_s_per_s=round((now_s - then_s) / (to_s - from_s), 5),
            samples=len([at_s for at_s in looked if at_s >= from_s]),
            changes=len([one for one in decided if one.sent_s >= from_s]),
            events=tuple(answered(self._events, looked, decided)),
        )


@dataclass(frozen=True, slots=True)
class LawLooked:
    """A sent decision of the law, in monotonic seconds: when what it saw was measured, and when it was sent."""

    looked_s: float
    sent_s: float
    elapsed_s: float | None


def answered(
    events: Sequence[Event], looked_s: Sequence[float], decided: Sequence[LawLooked]
) -> Iterator[EventAnswered]:
    """Say for each event that came while the daemon was looking what the first look after it has led to."""
    by_look = {one.looked_s: one for one in decided}
    for event in events:
        at_s = event.monotonic_s
        first_s = next((look_s for look_s in looked_s if look_s >= at_s), None)
        if first_s is None or not looked_s or at_s < looked_s[0]:
            continue
        look, one = round(first_s - at_s, 6), by_look.get(first_s)
        if one is not None:
            applied_s = None if one.elapsed_s is None else round(one.sent_s + one.elapsed_s - at_s, 6)
            yield EventAnswered(event.kind, at_s, look, round(one.sent_s - at_s, 6), applied_s, None)
        elif any(each.sent_s <= first_s <= each.sent_s + (each.elapsed_s or 0.0) for each in decided):
            yield EventAnswered(event.kind, at_s, look, None, None, IN_FLIGHT)
        else:
            yield EventAnswered(event.kind, at_s, look, None, None, NOTHING_TO_CHANGE)


def _counts(event: Event) -> bool:
    return event.kind in Tide.wakes and event.condition != "normal"


@contextlib.asynccontextmanager
async def _agent_target(room: Path):  # type: ignore[no-untyped-def]
    """Reach the one database. Raises TargetError if it is not open."""
    socket = next(iter(agent_sockets(room)), None)
    if socket is None:
        raise TargetError("no agent listens yet")
    agent = Agent(socket)
    try:
        for database in await agent.databases():
            target = agent.target(database)
            try:
                yield target
            finally:
                await target.close()
            return
        raise TargetError("the database is not open")
    finally:
        await agent.close()


async def _change_rates(program: Child, room: Path) -> list[tuple[float, float, float]]:
    taken: list[tuple[float, float, float]] = []
    book = await Book.open(room / "state" / "journal.sqlite", run="the bench", clocks=CLOCKS)
    try:
        while program.is_running(_OVERRUN_S * 10):
            with contextlib.suppress(TargetError):
                async with _agent_target(room) as target:
                    await _change_while_open(program, book, target, taken)
            await asyncio.sleep(_BETWEEN_RATES_S)
    finally:
        await book.close()
    if not taken:
        raise RunFailed("db_bench ended before its rate was changed")
    return taken


async def _change_while_open(
    program: Child, book: Book, target: AgentTarget, taken: list[tuple[float, float, float]]
) -> None:
    detail = await target.detail()
    lease = await target.hold_lease("the bench", 30.0, None)
    original = detail.originals.database[_RATE.option]
    restore = (RestoreStep(_to(original)),)
    while program.is_running(_OVERRUN_S * 10):
        value = str(_RATE_BYTES_PER_S + len(taken) % 2)
        began_s = time.monotonic()
        await book.intend(detail.id, detail.path, detail.session, [(_RATE, value)], {_RATE: original})
        asked_s = time.monotonic()
        (step,) = await target.change("the bench", lease.epoch, (_to(value),), restore)
        ended_s = time.monotonic()
        if step.outcome == "applied":
            taken.append((round(asked_s - began_s, 6), round(ended_s - asked_s, 6), round(step.elapsed_s, 6)))
        await target.hold_lease("the bench", 30.0, lease.epoch)
        await asyncio.sleep(_BETWEEN_RATES_S)


def _to(value: str) -> Change:
    return DatabaseChange({_RATE.option: value})
