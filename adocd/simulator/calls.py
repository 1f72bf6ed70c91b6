"""Calls into the simulated database: how long they take, what they refuse, and what they read back."""

import asyncio
import math
from collections.abc import Sequence

from adocd.model.change import Change, ColumnFamilyChange, DatabaseChange, RateLimiterChange, RestoreStep, StepResult
from adocd.model.snapshot import OptionValues
from adocd.model.values import RATE_LIMITER, OptionName, flat
from adocd.simulator import measure
from adocd.simulator.clock import Clock
from adocd.simulator.database import FAMILY, SimulatedDatabase
from adocd.simulator.options import DatabaseOptions, FamilyOptions, RefusedOption
from adocd.targets.errors import Refused

#: How often an agent checks a condition that it waits for (s).
LOOK_S = 0.05
#: It looks at least this often, because others may change something, too (s).
_LOOKS_WITHIN_S = 1.0
#: SetOptions and SetDBOptions took 17 to 43 ms under load (HAZARDS 1), a new rate 0.3 ms.
_CALL_S = {"column_family": 0.030, "database": 0.030, "rate_limiter": 0.0003}
#: An agent takes a call that lasts longer for one that waits (agents/native/src/limiter_lift.h).
_PATIENCE_S = 0.5
_UNKNOWN = {"column_family": "no_such_column_family", "rate_limiter": "no_rate_limiter"}


class Calls:
    """One database's options, and the only place that changes them.

    A call takes effect at once and returns when RocksDB has written its OPTIONS file. For that it waits in the writers'
    queue: during a stop, until the stop is over (db_impl.cc, DBImpl::SetOptions, WriteThread::EnterUnbatched).
    """

    def __init__(self, database: SimulatedDatabase, clock: Clock) -> None:
        self.options: OptionValues = measure.options(database)
        self.originals = flat(self.options)
        self._database = database
        self._clock = clock
        #: Options that leases have changed.
        self._touched: set[OptionName] = set()

    async def execute(self, change: Change, *, repeat: bool = False, lift_rate_limit: bool = False) -> StepResult:
        """Make one call, unless every value is already in force; with `repeat`, even then.

        With `lift_rate_limit`, a rate limit below its original is the original while the call waits.
        """
        self._database.advance(self._clock())
        began_s, current = self._clock(), flat(self.options)
        is_there = not repeat and all(current.get(option) == value for option, value in change.sets().items())
        if not is_there:
            self._touched |= change.sets().keys()
            self._call(change)
            self.options = measure.options(self._database)
            await asyncio.sleep(_CALL_S[change.scope])
            if change.scope != "rate_limiter":
                await self._wait_out_stop(began_s, lift_rate_limit=lift_rate_limit)
        now = flat(self.options)
        read = {name: now[option] for name, option in zip(change.wanted(), change.sets(), strict=True)}
        return StepResult("unchanged" if is_there else "applied", self._clock() - began_s, None, read)

    async def _wait_out_stop(self, began_s: float, *, lift_rate_limit: bool) -> None:
        owners = int(self.originals.get(RATE_LIMITER, 0))
        lowered_to: int | None = None
        # Nothing signals the end of a stop, and polling costs nothing in virtual time.
        while self._is_stopped():
            waited_s, limit = self._clock() - began_s, self.options.rate_limiter_bytes_per_s
            if lift_rate_limit and waited_s >= _PATIENCE_S and limit is not None and limit < owners:
                lowered_to = limit
                self._limit(owners)
                self._database.emit("rate_limit_lifted", elapsed_s=waited_s)
            await asyncio.sleep(LOOK_S)
        if lowered_to is not None:
            self._limit(lowered_to)

    def _limit(self, bytes_per_s: int) -> None:
        self._database.set_limiter(bytes_per_s)
        self.options = measure.options(self._database)

    async def look_again(self) -> None:
        """Wait until an agent looks again: at the first of its looks that can see anything new.

        Those before the database's next event would see what this one has seen, and each costs real time.
        """
        next_s = self._database.next_s() - self._clock()
        await asyncio.sleep(LOOK_S * max(1, math.ceil(min(next_s, _LOOKS_WITHIN_S) / LOOK_S)))

    def check(self, changes: Sequence[Change], plan: Sequence[RestoreStep]) -> None:
        """Refuse what cannot be executed, and a restore plan that does not restore everything changed."""
        current = flat(self.options)
        for change in (*changes, *(step.change for step in plan)):
            _check_values(change)
            for option in change.sets():
                if option not in current:
                    code = _UNKNOWN.get(option.scope, "no_such_option")
                    raise Refused(422, code, f"the simulated database has no {option}")
        for step in plan:
            if step.when is not None and self.property_value(step.when.column_family, step.when.property) is None:
                raise Refused(422, "bad_value", f"there is no {step.when.property} to wait for")
        changed = {option for change in changes for option in change.sets()}
        changed |= {option for option in self._touched if current[option] != self.originals[option]}
        if forgotten := changed - {option for step in plan for option in step.change.sets()}:
            names = ", ".join(sorted(map(str, forgotten)))
            raise Refused(422, "plan_incomplete", f"the restore plan does not name {names}")

    def property_value(self, column_family: str, name: str) -> int | None:
        """Read a property of a column family; None if there is no such property."""
        return measure.family(self._database).properties.get(name) if column_family == FAMILY else None

    def _call(self, change: Change) -> None:
        match change:
            case ColumnFamilyChange():
                self._database.set_family(change.options)
            case DatabaseChange():
                self._database.set_database(change.options)
            case RateLimiterChange():
                self._database.set_limiter(change.bytes_per_s)

    def _is_stopped(self) -> bool:
        self._database.advance(self._clock())
        return self._database.controller.condition == "stopped"


def _check_values(change: Change) -> None:
    try:
        match change:
            case ColumnFamilyChange():
                FamilyOptions.parse(change.options)
            case DatabaseChange():
                DatabaseOptions.parse(change.options)
    except RefusedOption as error:
        raise Refused(422, error.code, str(error)) from None
