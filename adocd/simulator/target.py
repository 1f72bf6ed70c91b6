"""The simulated database as a target: it does what an agent would do, in virtual time."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine, Set
from typing import Any, TypeVar

from adocd.model.capabilities import Capabilities
from adocd.model.change import Change, RestoreStep, StepResult
from adocd.model.database import AgentKind, DatabaseDetail, Info
from adocd.model.snapshot import Lease, Restore, Snapshot
from adocd.model.values import nested
from adocd.simulator import measure
from adocd.simulator.calls import Calls
from adocd.simulator.clock import Clock
from adocd.simulator.database import FAMILY, SimulatedDatabase
from adocd.simulator.lease_machine import LeaseMachine, PlanStep, RestoreState, StepCondition, Times
from adocd.simulator.options import DatabaseOptions, FamilyOptions
from adocd.targets.errors import Closed, Refused, TargetError

_T = TypeVar("_T")
_Execute = Callable[[Change], Awaitable[StepResult]]
ID = "51d0000000000001"
PATH = "/simulated"
_SESSION = "simulated"
#: A timer may fire too early by a rounding error: the lease is checked again this much later (s).
_SOON_S = 1e-6


class SimulatedTarget:
    """Implements adocd.targets.base.Target on a simulated database."""

    def __init__(self, database: SimulatedDatabase, clock: Clock) -> None:
        self.database = database
        self._clock = clock
        self._machine: LeaseMachine[Change] = LeaseMachine(
            lambda kind, detail: database.emit(kind, detail=detail), Refused
        )
        self._executing = asyncio.Lock()
        self._in_flight = 0
        self._closed = False
        self._sequence = 0
        self._expiry: asyncio.TimerHandle | None = None
        self._restoring: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._calls = Calls(database, clock)

    @property
    def capabilities(self) -> Capabilities:
        """What can be changed and measured here: everything that is modelled."""
        return Capabilities(
            column_family_options=tuple(FamilyOptions().written()),
            database_options=tuple(DatabaseOptions().written()),
            rate_limiter=self.database.limiter is not None,
            lifts_rate_limit=self.database.limiter is not None,
            events=("flush", "compaction", "stall", "database"),
            statistics="tickers" if self.database.setup.statistics else "none",
        )

    def info(self) -> Info:
        """Describe an agent: the host is named, and its process is 0, because the database is in none."""
        return Info(
            protocol="1.8",
            agent=AgentKind("simulated", "1"),
            rocksdb_version="7.8.3",
            host="simulated",
            pid=0,
            program="simulator",
            user="simulated",
            capabilities=self.capabilities,
        )

    # -- adocd.targets.base.Target

    async def detail(self) -> DatabaseDetail:
        """See Target."""
        self._look()
        return DatabaseDetail(
            id=ID,
            path=PATH,
            db_identity="simulated",
            session=_SESSION,
            opened_monotonic_s=0.0,
            column_families=(FAMILY,),
            capabilities=self.capabilities,
            originals=nested(self._calls.originals),
        )

    async def snapshot(self, events_after: int | None) -> Snapshot:
        """See Target; always fresh."""
        now = self._look()
        database, now_s, lease = self.database, now.wall_s, self._machine.lease(now)
        counters = measure.counters(database)
        events, lost = database.events.after(events_after)
        self._sequence += 1
        return Snapshot(
            database=ID,
            session=_SESSION,
            sequence=self._sequence,
            monotonic_s=now_s,
            age_s=0.0,
            collect_s=0.0,
            stall=database.stalls.stall(now_s),
            counters=counters,
            properties=measure.properties(database),
            tickers=measure.tickers(database, counters) if database.setup.statistics else None,
            options=self._calls.options,
            column_families={FAMILY: measure.family(database)},
            lease=None if lease is None else Lease(*lease),
            restore=_shown(self._machine.restore()),
            change_in_flight=self._in_flight > 0,
            events=events,
            last_event=database.events.last,
            lost_events=lost,
            revoked_epoch=self._machine.revoked_epoch,
        )

    async def wait(self, events_after: int, kinds: Set[str], timeout_s: float) -> bool:  # noqa: ARG002
        """Refuse, as an agent without this capability does."""
        raise Refused(422, "unsupported", "the simulated database cannot wait for events; ask for snapshots")

    async def hold_lease(self, holder: str, ttl_s: float, epoch: int | None) -> Lease:
        """See Target."""
        now = self._look()
        held = self._machine.hold(holder, ttl_s, epoch, now)
        self._keep(now)
        return Lease(*held)

    async def release_lease(self, holder: str, epoch: int) -> Restore:
        """See Target."""
        return self._end(holder, epoch, force=False)

    async def revoke_lease(self) -> Restore:
        """See Target."""
        return self._end(None, None, force=True)

    async def change(
        self,
        holder: str,
        epoch: int,
        changes: tuple[Change, ...],
        restore_plan: tuple[RestoreStep, ...],
        *,
        repeat: bool = False,
        lift_rate_limit: bool = False,
    ) -> tuple[StepResult, ...]:
        """See Target."""
        self._machine.require(holder, epoch, self._look())
        # The caller may stop waiting; the change is executed all the same.
        execute = functools.partial(self._calls.execute, repeat=repeat, lift_rate_limit=lift_rate_limit)
        work = self._carry_out((holder, epoch), changes, restore_plan, execute)
        return await asyncio.shield(self._begin(work))

    async def close(self) -> None:
        """See Target: the connection ends, but the lease goes on."""

    def close_database(self) -> None:
        """End the session: the lease and its plan are void, and calls are refused from now on."""
        self._closed = True
        if self._expiry is not None:
            self._expiry.cancel()
        for task in self._tasks:
            task.cancel()

    # -- changes

    async def _carry_out(
        self, lease: tuple[str, int], changes: tuple[Change, ...], plan: tuple[RestoreStep, ...], execute: _Execute
    ) -> tuple[StepResult, ...]:
        self._in_flight += 1
        try:
            async with self._executing:
                self._machine.require(*lease, self._look())
                self._calls.check(changes, plan)
                self._machine.arm(*lease, [_planned(step) for step in plan], self._look())
                return await self._execute_all(lease, changes, execute)
        finally:
            self._in_flight -= 1

    async def _execute_all(
        self, lease: tuple[str, int], changes: tuple[Change, ...], execute: _Execute
    ) -> tuple[StepResult, ...]:
        steps: list[StepResult] = []
        for change in changes:
            try:
                self._machine.require(*lease, self._look())
            except TargetError:
                steps.append(StepResult("error", 0.0, "the lease ended; what was changed is being restored", {}))
                break
            steps.append(await execute(change))
            if steps[-1].outcome != "unchanged":
                self.database.emit("options_changed", detail=_words(change))
        return tuple(steps)

    # -- the end of a lease

    def _look(self) -> Times:
        """Advance the database to now, end a lease that has expired, and return the time."""
        if self._closed:
            raise Closed(409, "database_closed", "the simulated database is closed")
        now_s = self._clock()
        self.database.advance(now_s)
        now = Times(now_s, now_s)
        if self._machine.look(now):
            self._keep(now)
        return now

    def _end(self, holder: str | None, epoch: int | None, *, force: bool) -> Restore:
        now = self._look()
        self._machine.release(holder, epoch, now, restore=True, force=force)
        self._keep(now)
        return _shown(self._machine.restore())

    def _keep(self, now: Times) -> None:
        """Check again when the lease expires, and execute the restore that its end has started."""
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if (left_s := self._machine.left_s(now)) is not None:
            self._expiry = asyncio.get_running_loop().call_later(max(left_s, _SOON_S), self._expire)
        if self._machine.is_restoring and (self._restoring is None or self._restoring.done()):
            self._restoring = self._begin(self._restore())

    def _expire(self) -> None:
        self._keep(self._look())

    async def _restore(self) -> None:
        while self._machine.is_restoring:
            self._look()
            step = self._machine.due(self._calls.property_value)
            if step is None:
                await self._calls.look_again()
                continue
            async with self._executing:
                if not self._machine.is_due(step):
                    continue
                result = await self._calls.execute(step.change)
            self._machine.done(step, _words(step.change), result.error)

    # -- in here

    def _begin(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _planned(step: RestoreStep) -> PlanStep[Change]:
    when = step.when
    if when is None:
        return PlanStep(step.change)
    return PlanStep(step.change, StepCondition(when.column_family, when.property, when.below))


def _shown(restore: RestoreState) -> Restore:
    return Restore(restore.state, restore.steps_left, restore.waiting_for, tuple(restore.errors))


def _words(change: Change) -> str:
    return ", ".join(f"{option}={value}" for option, value in change.sets().items())
