"""A target loop on a fake agent, over a real Unix socket, ticked by the test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from adocd.daemon.book.book import Book, Clocks
from adocd.daemon.book.journal.records import Override
from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.control.law import STEP_LIMIT_S
from adocd.daemon.control.loop_settings import LoopSettings
from adocd.daemon.control.neighbours import Neighbours
from adocd.daemon.control.session import Session
from adocd.daemon.control.target_loop import TargetLoop
from adocd.model.policy import Policy
from adocd.targets.agent import Agent
from tests.builders import GIB
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import PATIENCE_S

CLOCKS = Clocks(time.monotonic, time.time)
ADOC = Policy("adoc")
FIXED = Policy("fixed")
#: The agent renews its cached snapshot only when it is older than 50 ms.
FRESH_S = 0.06


def loop_settings(**members: object) -> LoopSettings:
    values: dict[str, object] = {
        "holder": "adocd@test:1",
        "tick_s": 0.1,
        "lease_ttl_s": 10 * PATIENCE_S,  # what waits for a restore must not see a lease lapse
        "history": 100,
        "compaction": CompactionLimits(),
        "clock": time.monotonic,
        "wall_clock": time.time,
        "step_limit_s": STEP_LIMIT_S,
        "neighbours": Neighbours(GIB, reads_memory=False),
    }
    return LoopSettings(**(values | members))  # type: ignore[arg-type]


async def open_book(directory: Path) -> Book:
    """Open a journal as the daemon does."""
    return await Book.open(directory / "state" / "journal.sqlite", run="a test", clocks=CLOCKS)


class Scene:
    """A fake agent with one database, and the loops attached to it, which end with the scene."""

    def __init__(self, run_dir: Path, database: FakeDatabase) -> None:
        self._run_dir = run_dir
        self.agent = FakeAgent(run_dir, [database])
        self._loops: list[TargetLoop] = []

    async def __aenter__(self) -> Scene:
        self.agent.start()
        self.book = await open_book(self._run_dir)
        return self

    async def __aexit__(self, *error: object) -> None:
        for loop in self._loops:
            await loop.stop()
        self.agent.close()
        await self.book.close()

    async def attach(
        self, policy: Policy, settings: LoopSettings | None = None, of: FakeDatabase | None = None
    ) -> TargetLoop:
        """Make a loop for a database, by default the only one, and attach it, as the fleet does."""
        client = Agent(self.agent.socket_path)
        info = await client.info()
        (database,) = (each for each in await client.databases() if of is None or each.path == of.path)
        loop = TargetLoop(database.id, database.path, policy, settings or loop_settings(), self.book)
        loop.attach(client.target(database), info)
        self._loops.append(loop)
        await client.close()
        return loop


def session_of(loop: TargetLoop) -> Session:
    """The session that a loop is in, which nobody but its loop and the loop's tests has a hand in."""
    attached = loop._attached
    assert attached is not None
    assert attached.session is not None
    return attached.session


async def ticks(loop: TargetLoop, count: int, *, in_flight: bool = False) -> list[str]:
    """Tick so that each tick sees a fresh snapshot, again where the agent answers with an old one; the sentences.

    A change is over before the next tick, because the journal's disk and the agent may take long on a busy machine; but
    not with `in_flight`, where a test holds one up.
    """
    return [await _fresh_tick(loop, in_flight=in_flight) for _ in range(count)]


async def landed(loop: TargetLoop) -> None:
    """Wait until no change is in flight."""
    attached = loop._attached
    if attached is not None and attached.session is not None:
        await attached.session.flight.settle(PATIENCE_S)
        assert attached.session.flight.in_flight_s is None, f"a change is still in flight after {PATIENCE_S} s"


async def _fresh_tick(loop: TargetLoop, *, in_flight: bool) -> str:
    if not in_flight:
        await landed(loop)
    deadline_s = time.monotonic() + PATIENCE_S
    while True:
        seen_s = _snapshot_s(loop)
        await asyncio.sleep(FRESH_S)
        sentence = await loop.tick()
        if sentence != "measuring" or seen_s is None or _snapshot_s(loop) != seen_s:
            return sentence
        assert time.monotonic() < deadline_s, f"no fresh snapshot within {PATIENCE_S} s"


def _snapshot_s(loop: TargetLoop) -> float | None:
    """When the agent took the snapshot that a loop saw last."""
    attached = loop._attached
    return None if attached is None or attached.snapshot is None else attached.snapshot.monotonic_s


async def until(condition: Callable[[], bool], what: str) -> None:
    """Wait for a condition; fails naming it."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, f"not within {PATIENCE_S} s: {what}"
        await asyncio.sleep(0.01)


async def ticked_until(loop: TargetLoop, condition: Callable[[], bool], what: str) -> None:
    """Tick until a condition holds, however long a change is in flight; fails naming it."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s, f"not within {PATIENCE_S} s: {what}"
        await ticks(loop, 1, in_flight=True)


def overflowing(path: Path, *, database_options: dict[str, str] | None = None, **options: str) -> FakeDatabase:
    """A database whose memtables overflow for as long as the test runs."""
    database = FakeDatabase(path, options=options, database_options=database_options)
    database.measurements.column_families["default"]["rocksdb.num-immutable-mem-table"] = 2
    return database


def with_agent(database: FakeDatabase, tmp_path: Path, body: Callable[[Scene], Awaitable[None]]) -> None:
    """Run the body on a scene with this database."""

    async def run() -> None:
        async with Scene(tmp_path, database) as scene:
            await body(scene)

    asyncio.run(run())


def write_buffer_size(database: FakeDatabase) -> str:
    return database.options.column_families["default"]["write_buffer_size"]


def outcomes(loop: TargetLoop) -> list[str]:
    return [record.outcome for record in loop.remembered.decisions]


async def pin(
    scene: Scene,
    option: str,
    value: str,
    *,
    family: str | None = None,
    for_s: float | None = None,
    target: TargetLoop | None = None,
) -> None:
    """Pin an option on one target, or on all, as an operator does."""
    now_s = CLOCKS.wall()
    ends_s = None if for_s is None else now_s + for_s
    id_, path = (None, None) if target is None else (target.id, target.path)
    await scene.book.pin(Override(id_, path, option, family, value, ends_s, "a test", "alice", now_s))


def options(database: FakeDatabase) -> dict[str, str]:
    """Return the live options of the default column family."""
    return database.options.column_families["default"]


def rules(loop: object) -> list[str]:
    """Name the rules of all decisions so far, in order."""
    return [record.rule for record in loop.remembered.decisions]  # type: ignore[attr-defined]
