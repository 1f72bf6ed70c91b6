"""Records what a daemon would receive from a database, with arrival times, for replay.

Every detector gets the same run: the replay leaves out what that detector does not have (adocd_bench.detection.score).
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from adocd.model.capabilities import Capabilities
from adocd.model.snapshot import Snapshot
from adocd.probes.log import LogFollower
from adocd.probes.log.events import LogEvent
from adocd.targets.agent import Agent, AgentTarget
from adocd.targets.errors import Closed, Silent, TargetError
from adocd.targets.run_dir import agent_sockets


@dataclass(frozen=True, slots=True)
class SnapshotTaken:
    """The agent's answer."""

    at_s: float
    snapshot: Snapshot


@dataclass(frozen=True, slots=True)
class AgentQuiet:
    """The agent has not answered for this long."""

    at_s: float
    silent_s: float


@dataclass(frozen=True, slots=True)
class LogRead:
    """What was new in the LOG."""

    at_s: float
    events: tuple[LogEvent, ...]


@dataclass(frozen=True, slots=True)
class DatabaseEnded:
    """The database was closed."""

    at_s: float


RecordEntry = SnapshotTaken | AgentQuiet | LogRead | DatabaseEnded


@dataclass(slots=True)
class Record:
    """One run, sampled every `period_s` seconds; times are unix seconds."""

    period_s: float
    capabilities: Capabilities = field(default_factory=Capabilities)
    entries: list[RecordEntry] = field(default_factory=list)


async def record(room: Path, database: Path, periods_s: tuple[float, ...], ended: Callable[[], bool]) -> list[Record]:
    """Sample a database at each of the periods, from its open until `ended`."""
    records = [Record(period_s) for period_s in periods_s]
    loops = [_ask(room, each, ended) for each in records] + [_follow(database, each, ended) for each in records]
    await asyncio.gather(*loops)
    await asyncio.sleep(0)  # closed connections are gone by the loop's next turn
    for each in records:
        each.entries.append(DatabaseEnded(time.time()))
    return records


async def _follow(database: Path, into: Record, ended: Callable[[], bool]) -> None:
    follower = LogFollower(database / "LOG")
    while not ended():
        began_s = time.monotonic()
        events = follower.poll()
        into.entries.append(LogRead(time.time(), tuple(events)))
        await _rest(began_s, into.period_s)


async def _ask(room: Path, into: Record, ended: Callable[[], bool]) -> None:
    """Ask as the daemon's loop does: one snapshot per period, and no second request while one is unanswered."""
    target: AgentTarget | None = None
    cursor, answered_s, session = 0, time.monotonic(), ""
    while not ended():
        began_s = time.monotonic()
        try:
            if target is None:
                target = await _find(room, into)
            if target is not None:
                snapshot = await target.snapshot(cursor)
                if snapshot.session != session:  # a cursor counts within one session
                    session, snapshot = snapshot.session, await target.snapshot(0)
                cursor, answered_s = snapshot.last_event, time.monotonic()
                into.entries.append(SnapshotTaken(time.time(), snapshot))
        except Silent:
            into.entries.append(AgentQuiet(time.time(), time.monotonic() - answered_s))
        except TargetError as error:
            if isinstance(error, Closed):
                into.entries.append(DatabaseEnded(time.time()))
            if target is not None:
                await target.close()
            target = None
        await _rest(began_s, into.period_s)
    if target is not None:
        await target.close()


async def _find(room: Path, into: Record) -> AgentTarget | None:
    for socket in agent_sockets(room):
        agent = Agent(socket)
        try:
            for database in await agent.databases():
                into.capabilities = database.capabilities
                return agent.target(database)
        finally:
            await agent.close()
    return None


async def _rest(began_s: float, period_s: float) -> None:
    await asyncio.sleep(max(0.0, began_s + period_s - time.monotonic()))
