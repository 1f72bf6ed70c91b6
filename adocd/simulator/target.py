"""The simulated database as a target: what its agent would report and do, in virtual time."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from adocd.model.capabilities import Capabilities
from adocd.model.change import Change, RestoreStep, StepResult
from adocd.model.database import AgentKind, DatabaseDetail, Info
from adocd.model.snapshot import Lease, Restore, Snapshot
from adocd.model.values import nested
from adocd.simulator import measure
from adocd.simulator.calls import LOOK_S, Calls
from adocd.simulator.clock import Clock
from adocd.simulator.database import FAMILY, SimulatedDatabase
from adocd.simulator.lease import LeaseBook, RestorePlan
from adocd.simulator.options import DatabaseOptions, FamilyOptions
from adocd.targets.errors import Closed, TargetError

_T = TypeVar("_T")
ID = "51d0000000000001"
PATH = "/simulated"
_SESSION = "simulated"


class SimulatedTarget:
    """Implements adocd.targets.base.Target on a simulated database."""

    def __init__(self, database: SimulatedDatabase, clock: Clock) -> None:
        self.database = database
        self._clock = clock
        self._lease = LeaseBook()
        self._plan = RestorePlan()
        self._executing = asyncio.Lock()
        self._in_flight = 0
        self._closed = False
        self._sequence = 0
        self._expiry: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._calls = Calls(database, clock)

    @property
    def capabilities(self) -> Capabilities:
        """What can be changed and seen here: everything that is modelled."""
        return Capabilities(
            column_family_options=tuple(FamilyOptions().written()),
            database_options=tuple(DatabaseOptions().written()),
            rate_limiter=self.database.limiter is not None,
            events=("flush", "compaction", "stall", "database"),
            statistics="tickers" if self.database.setup.statistics else "none",
        )

    def info(self) -> Info:
        """Describe the process that this is in: none."""
        return Info(
            protocol="1.1",
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
        self._catch_up()
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
        self._catch_up()
        database, now_s = self.database, self._clock()
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
            lease=self._lease.lease(now_s),
            restore=self._plan.restore(),
            change_in_flight=self._in_flight > 0,
            events=events,
            last_event=database.events.last,
            lost_events=lost,
        )

    async def hold_lease(self, holder: str, ttl_s: float, epoch: int | None) -> Lease:
        """See Target."""
        self._catch_up()
        if self._lease.hold(holder, ttl_s, epoch, self._clock()):
            self._plan.interrupt()
            self.database.emit("lease_acquired", detail=holder)
        if self._expiry is not None:
            self._expiry.cancel()
        self._expiry = asyncio.get_running_loop().call_at(self._lease.expires_s, self._end, "lease_expired")
        return Lease(holder, self._lease.epoch, ttl_s, ttl_s)

    async def release_lease(self, holder: str, epoch: int) -> Restore:
        """See Target."""
        self._catch_up()
        self._lease.require(holder, epoch)
        self._end("lease_released")
        return self._plan.restore()

    async def revoke_lease(self) -> Restore:
        """See Target."""
        self._catch_up()
        self._end("lease_revoked")
        return self._plan.restore()

    async def change(
        self,
        holder: str,
        epoch: int,
        changes: tuple[Change, ...],
        restore_plan: tuple[RestoreStep, ...],
        *,
        repeat: bool = False,
    ) -> tuple[StepResult, ...]:
        """See Target."""
        self._catch_up()
        self._lease.require(holder, epoch)
        # Who asked may stop waiting for it; it is carried out all the same.
        work = self._carry_out((holder, epoch), changes, restore_plan, repeat=repeat)
        return await asyncio.shield(self._begin(work))

    async def close(self) -> None:
        """See Target: the connection ends, the lease goes on."""

    def close_database(self) -> None:
        """End the session: the lease and its plan are void, and calls are refused from now on."""
        self._closed = True
        if self._expiry is not None:
            self._expiry.cancel()
        for task in self._tasks:
            task.cancel()

    # -- changes

    async def _carry_out(
        self, lease: tuple[str, int], changes: tuple[Change, ...], plan: tuple[RestoreStep, ...], *, repeat: bool
    ) -> tuple[StepResult, ...]:
        self._in_flight += 1
        try:
            async with self._executing:
                self._lease.require(*lease)
                self._calls.check(changes, plan)
                self._plan.arm(plan)
                return await self._execute_all(lease, changes, repeat=repeat)
        finally:
            self._in_flight -= 1

    async def _execute_all(
        self, lease: tuple[str, int], changes: tuple[Change, ...], *, repeat: bool
    ) -> tuple[StepResult, ...]:
        steps: list[StepResult] = []
        for change in changes:
            try:
                self._lease.require(*lease)
            except TargetError:
                steps.append(StepResult("error", 0.0, "the lease ended; what was changed is being restored", {}))
                break
            steps.append(await self._calls.execute(change, repeat=repeat))
            if steps[-1].outcome != "unchanged":
                self.database.emit("options_changed", detail=_words(change))
        return tuple(steps)

    # -- the end of a lease

    def _end(self, kind: str) -> None:
        self._catch_up()
        if self._expiry is not None:
            self._expiry.cancel()
        if self._lease.holder is not None:
            self.database.emit(kind, detail=self._lease.holder)
        self._lease.end()
        if self._plan.begin():
            self.database.emit("restore_begin", detail=f"{len(self._plan.steps)} steps")
            self._begin(self._restore())

    async def _restore(self) -> None:
        while self._plan.is_executing:
            step = self._plan.steps[0]
            if (waits_for := self._waits_for(step)) is not None:
                self._plan.wait_for(waits_for)
                await asyncio.sleep(LOOK_S)
                continue
            self._plan.state, self._plan.waiting_for = "running", None
            async with self._executing:
                if not self._plan.is_executing or self._plan.steps[0] is not step:
                    return
                result = await self._calls.execute(step.change)
            self.database.emit("restore_step", detail=_words(step.change))
            if self._plan.done(step, result.error):
                self.database.emit("restore_end", detail=f"{len(self._plan.errors)} errors")

    def _waits_for(self, step: RestoreStep) -> str | None:
        if step.when is None:
            return None
        self._catch_up()
        value = self._calls.property_value(step.when.column_family, step.when.property)
        if value is None or value < step.when.below:
            return None
        return f"{step.when.property} of {step.when.column_family} below {step.when.below} (it is {value})"

    # -- in here

    def _catch_up(self) -> None:
        """Let the database live until now."""
        if self._closed:
            raise Closed(409, "database_closed", "the simulated database is closed")
        self.database.advance(self._clock())

    def _begin(self, work: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _words(change: Change) -> str:
    return ", ".join(f"{option}={value}" for option, value in change.sets().items())
