"""A policy on a simulated database: the daemon's own loop, in virtual time."""

import asyncio
import contextlib
import functools
import time
from dataclasses import dataclass
from pathlib import Path

from adocd.controllers import registry
from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.control.loop_settings import LoopSettings
from adocd.daemon.control.neighbours import Neighbours
from adocd.daemon.control.target_loop import TargetLoop
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd.recording.writer import Recorder
from adocd.simulator import clock as virtual
from adocd.simulator.clock import Clock
from adocd.simulator.database import Setup, SimulatedDatabase
from adocd.simulator.memory_book import MemoryBook
from adocd.simulator.recorded import MEMORY_BUDGET_BYTES, RecordedTarget, begin
from adocd.simulator.target import ID, PATH, SimulatedTarget
from adocd.simulator.write_controller import Cause

_LEASE_TTL_S = 10.0


class SimulationFailed(Exception):
    """The law cannot work on this database, or failed on it; the message is one sentence."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """The result of a run.

    Attributes:
        simulated_s: simulated time.
        elapsed_s: real time that the run took.
        writes: number of keys written.
        stalled_s: time that clients waited because writes were delayed or stopped, by cause.
        held_s: time in which writes were delayed or stopped, by cause, whether or not clients waited.
        delayed_s: time in which writes were delayed.
        stopped_s: time in which writes were stopped.
        samples: the daemon's samples, one per tick.
        decisions: the daemon's last decisions, as many as it keeps.
        decision_count: number of all decisions.
        written_bytes: bytes that clients have written.
        device_bytes: bytes written to the device for them.

    """

    simulated_s: float
    elapsed_s: float
    writes: int
    stalled_s: dict[Cause, float]
    held_s: dict[Cause, float]
    delayed_s: float
    stopped_s: float
    samples: tuple[Sample, ...]
    decisions: tuple[DecisionRecord, ...]
    decision_count: int
    written_bytes: int
    device_bytes: float


class Scene:
    """A simulated database under the daemon's loop; use it inside `adocd.simulator.clock.run`."""

    def __init__(
        self,
        clock: Clock,
        setup: Setup,
        policy: Policy,
        *,
        tick_s: float = 1.0,
        history: int = 1000,
        recorder: Recorder | None = None,
    ) -> None:
        """Open the database; raises registry.PolicyError for an invalid policy."""
        self.database = SimulatedDatabase(setup)
        target = SimulatedTarget if recorder is None else functools.partial(RecordedTarget, recorder=recorder)
        self.target = target(self.database, clock)
        self.policy = policy
        self.book = MemoryBook(clock)
        settings = LoopSettings(
            holder="adocd@simulated",
            tick_s=tick_s,
            lease_ttl_s=max(_LEASE_TTL_S, 3 * tick_s),
            history=history,
            compaction=CompactionLimits(),
            clock=clock,
            wall_clock=clock,
            spreads=False,
            neighbours=Neighbours(MEMORY_BUDGET_BYTES, reads_memory=False),
        )
        self.loop = TargetLoop(ID, PATH, policy, settings, self.book)
        self.loop.attach(self.target, self.target.info())


def run(
    setup: Setup, policy: Policy, *, seconds: float, tick_s: float = 1.0, record: Path | None = None
) -> Simulation:  # fmt: skip
    """Run a policy for this many simulated seconds; `record` is a new file for a recording of the run.

    Raises registry.PolicyError for an invalid policy, SimulationFailed if its law cannot work here, and NotReplayable
    if the file cannot be written.
    """
    began_s = time.perf_counter()
    registry.create(policy)  # otherwise an invalid policy would leave a file behind
    recorder = None if record is None else begin(record, policy, tick_s, setup.device)

    async def follow(clock: Clock) -> Simulation:
        history = int(seconds / tick_s) + 2
        scene = Scene(clock, setup, policy, tick_s=tick_s, history=history, recorder=recorder)
        ticking = asyncio.create_task(scene.loop.run())
        if isinstance(scene.target, RecordedTarget):
            await scene.target.fail_within(seconds)
            scene.target.finish(scene.book.all_decisions)
        else:
            await asyncio.sleep(seconds)
        found = _found(scene, seconds, began_s)
        ticking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await ticking
        await scene.loop.stop()
        scene.target.close_database()
        return found

    return virtual.run(follow)


def _found(scene: Scene, seconds: float, began_s: float) -> Simulation:
    loop, database = scene.loop, scene.database
    database.advance(seconds)
    _see_that_it_worked(loop, scene.policy)
    return Simulation(
        simulated_s=seconds,
        elapsed_s=time.perf_counter() - began_s,
        writes=database.written_bytes // database.setup.entry_bytes,
        stalled_s=dict(database.account.waited_s),
        held_s=dict(database.account.held_s),
        delayed_s=database.account.condition_s["delayed"],
        stopped_s=database.account.condition_s["stopped"],
        samples=tuple(loop.remembered.samples),
        decisions=tuple(loop.remembered.decisions),
        decision_count=loop.remembered.decisions.count,
        written_bytes=database.written_bytes,
        device_bytes=database.account.device_bytes,
    )


def _see_that_it_worked(loop: TargetLoop, policy: Policy) -> None:
    if loop.status.policy.controller != policy.controller:
        raise SimulationFailed(f"{policy.controller} failed on a sample, and the policy fell back to fixed")
    why = loop.out_of_reach(registry.create(policy))
    if why is not None:
        raise SimulationFailed(f"{policy.controller} cannot work here: {why}")
