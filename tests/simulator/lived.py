"""A law's life in the simulator: what was true of the database each second, beside what the daemon knew."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import ParameterValue, Policy
from adocd.model.snapshot import Condition
from adocd.simulator.clock import Clock
from adocd.simulator.database import Setup, SimulatedDatabase
from adocd.simulator.device import MB
from adocd.simulator.options import DatabaseOptions, FamilyOptions
from adocd.simulator.run import Scene
from adocd.simulator.write_controller import Cause

from .scenes import MIB, with_scene

#: What a law must be given on a device of so many bytes/s.
PARAMETERS: Mapping[str, Callable[[int], Mapping[str, ParameterValue]]] = {
    "manual": lambda _: {"batch_size": 128 * MIB, "background_jobs": 4},
    "mimd": lambda device: {"max_bytes_per_s": device},
    "toggle": lambda device: {"cap_bytes_per_s": device * 9 // 10},
    "silk": lambda device: {"bandwidth_bytes_per_s": device},
}
#: These turn the rate limiter, so the database must be opened with one.
LIMITED = ("mimd", "silk")
#: An agent may take an hour to put everything back, under a load that is more than the database can take.
_LOOKS, _LOOK_S = 360, 10.0


@dataclass(frozen=True, slots=True)
class Second:
    """The database at one moment; waits are cumulative seconds."""

    at_s: float
    family: FamilyOptions
    database: DatabaseOptions
    limiter_bytes_per_s: int | None
    l0_files: int
    pending_bytes: int
    memtables_bytes: float
    backlog_bytes: float
    condition: Condition
    waited_s: Mapping[Cause, float]
    written_bytes: int


@dataclass(slots=True)
class Life:
    """All seconds of a run, its decisions, and what was left of it `after`, once the daemon had gone."""

    seconds: list[Second] = field(default_factory=list)
    decisions: Sequence[DecisionRecord] = ()
    after: tuple[FamilyOptions, DatabaseOptions, int | None] | None = None
    fell_back: bool = False

    @property
    def waited_s(self) -> float:
        """How long clients waited, for whatever cause."""
        return sum(self.seconds[-1].waited_s.values())

    def most(self, of: Callable[[Second], float]) -> float:
        """The largest figure of all seconds."""
        return max(of(each) for each in self.seconds)

    def mean(self, of: Callable[[Second], float]) -> float:
        """The mean figure of all seconds."""
        return sum(of(each) for each in self.seconds) / len(self.seconds)

    def knobs(self, since_s: float = 0.0) -> dict[str, list[int]]:
        """Every option that moved since then, with its values second by second."""
        rows = [_knobs(each) for each in self.seconds if each.at_s >= since_s]
        return {name: [row[name] for row in rows] for name in rows[0] if len({row[name] for row in rows}) > 1}


@functools.cache
def live(law: str, setup: Setup, seconds: float, **parameters: ParameterValue) -> Life:
    """Live once through so many simulated seconds with the daemon, and some more after it has stopped."""
    device = int(setup.device.bytes_per_s or 490 * MB)
    given = PARAMETERS[law](device) if law in PARAMETERS else {}
    life = Life()

    async def body(scene: Scene, clock: Clock) -> None:
        ticking = asyncio.create_task(scene.loop.run())
        while clock() < seconds:
            await asyncio.sleep(1.0)
            scene.database.advance(clock())
            life.seconds.append(_second(scene.database, clock()))
        ticking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ticking
        life.decisions, life.fell_back = (
            tuple(scene.loop.remembered.decisions),
            scene.loop.status.policy.controller != law,
        )
        await scene.loop.stop()
        # An agent lowers level 0's limits only as level 0 drains, and the load goes on.
        for _ in range(_LOOKS):
            if (await scene.target.snapshot(0)).restore.state in ("none", "done"):
                break
            await asyncio.sleep(_LOOK_S)
        limiter = scene.database.limiter
        life.after = scene.database.shown, scene.database.options, None if limiter is None else limiter.bytes_per_s

    with_scene(setup, Policy(law, {**given, **parameters}), body)
    return life


def turns(values: Sequence[int]) -> int:
    """Count how often a series turns round."""
    steps = [after - before for before, after in itertools.pairwise(values) if after != before]
    return sum((one > 0) != (other > 0) for one, other in itertools.pairwise(steps))


def _second(database: SimulatedDatabase, at_s: float) -> Second:
    memtables = database.memtables
    return Second(
        at_s=at_s,
        family=database.shown,
        database=database.options,
        limiter_bytes_per_s=None if database.limiter is None else database.limiter.bytes_per_s,
        l0_files=len(database.levels.l0),
        pending_bytes=database.pending_bytes,
        memtables_bytes=memtables.active_bytes + memtables.immutable_bytes,
        backlog_bytes=database.writers.backlog_bytes,
        condition=database.controller.condition,
        waited_s=dict(database.account.waited_s),
        written_bytes=database.written_bytes,
    )


def _knobs(second: Second) -> dict[str, int]:
    written = {**second.family.written(), **second.database.written()}
    values = {name: int(float(value)) for name, value in written.items() if value not in ("true", "false")}
    values["disable_auto_compactions"] = int(second.family.disable_auto_compactions)
    return values | {"rate_limiter": second.limiter_bytes_per_s or 0}
