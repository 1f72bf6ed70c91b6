"""Lease, options and restore plan of one simulated database, as in the admin protocol (agents/admin-api.yaml)."""

import re
from collections.abc import Callable
from typing import Any

from adocd.simulator.lease_machine import LeaseMachine, Times, plan_of
from adocd_bench.fleet.options import COLUMN_FAMILY, DATABASE, THREAD_POOLS
from adocd_bench.fleet.problems import SimulatedRefusal

Json = Any
#: Scope and name: there is one column family, and its name is not said again.
Key = tuple[str, str]

_KINDS = ((re.compile(r"-?[0-9]{1,19}"), "a whole number"), (re.compile("true|false"), "true or false"))


class FleetControl:
    """Lease holder, options and restore plan of one database. Calls `tell` with each event."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.values: dict[Key, str] = {("database", name): value for name, value in DATABASE.items()}
        self.values |= {("column_family", name): value for name, value in COLUMN_FAMILY.items()}
        self.values |= {("thread_pool", name): str(value) for name, value in THREAD_POOLS.items()}
        self.originals = dict(self.values)
        #: Grows with each change of an option.
        self.version = 0
        self._tell = tell
        self._machine: LeaseMachine[Json] = LeaseMachine(lambda kind, _detail: tell(kind), _refusal)

    def lease(self, now_s: float) -> Json:
        """Show the lease; None when nobody holds it. One that has expired is taken back first."""
        held = self._machine.lease(self._look(now_s))
        return None if held is None else held._asdict()

    def hold(self, body: Json, now_s: float) -> Json:
        """Acquire or renew. Raises SimulatedRefusal."""
        holder, ttl_s, epoch = body.get("holder"), body.get("ttl_s"), body.get("epoch")
        if not (isinstance(holder, str) and 0 < len(holder) <= 200 and isinstance(ttl_s, int | float)):
            raise SimulatedRefusal(422, "bad_request", "A lease needs a holder and a ttl_s.")
        return self._machine.hold(holder, float(ttl_s), epoch, self._look(now_s))._asdict()

    def release(self, query: dict[str, str], now_s: float) -> Json:
        """Release or revoke. Raises SimulatedRefusal."""
        epoch, restore = query.get("epoch"), query.get("restore") != "false"
        if epoch is not None and not epoch.isdecimal():
            raise SimulatedRefusal(400, "bad_request", "epoch is a whole number.")
        now, number = self._look(now_s), None if epoch is None else int(epoch)
        force = query.get("force") == "true"
        if self._machine.release(query.get("holder"), number, now, restore=restore, force=force) and not restore:
            self.originals = dict(self.values)
        self._restore()
        return self.restore()

    def restore(self) -> Json:
        """Show how far the restore is: it takes no time here."""
        return self._machine.restore()._asdict()

    @property
    def revoked_epoch(self) -> int | None:
        """The epoch of the newest lease when somebody last revoked."""
        return self._machine.revoked_epoch

    def change(self, body: Json, now_s: float) -> Json:
        """Execute changes in order. Raises SimulatedRefusal, and then nothing was executed."""
        holder, epoch, now = str(body.get("holder")), int(body.get("epoch", 0)), self._look(now_s)
        self._machine.require(holder, epoch, now)
        changes, plan = body.get("changes"), body.get("restore_plan")
        if not (isinstance(changes, list) and changes and isinstance(plan, list)):
            raise SimulatedRefusal(422, "bad_request", "A change needs changes and a restore_plan.")
        sets = [self._checked(change) for change in changes]
        named = {key for step in plan for key in self._checked(step["change"])}
        differing = {key for key, value in self.values.items() if value != self.originals[key]}
        if lacking := ({key for each in sets for key in each} | differing) - named:
            raise SimulatedRefusal(422, "plan_incomplete", f"The restore plan does not name {sorted(lacking)[0][1]}.")
        self._machine.arm(holder, epoch, plan_of(plan), now)
        steps = [self._execute(each, repeat=body.get("repeat") is True) for each in sets]
        self._tell("options_changed")
        return {"steps": steps}

    def _checked(self, change: Json) -> dict[Key, str]:
        """Read what a change sets. Raises SimulatedRefusal."""
        scope = change.get("scope")
        if scope == "rate_limiter":
            raise SimulatedRefusal(422, "no_rate_limiter", "This database has no rate limiter.")
        if scope == "thread_pool":
            found = {("thread_pool", str(change.get("pool"))): str(change.get("threads"))}
        elif scope in ("database", "column_family"):
            if scope == "column_family" and change.get("column_family") != "default":
                raise SimulatedRefusal(422, "no_such_column_family", "There is no such column family.")
            found = {(scope, name): value for name, value in change.get("options", {}).items()}
        else:
            raise SimulatedRefusal(422, "unsupported", f"There is no scope {scope}.")
        for key, value in found.items():
            if key not in self.originals:
                raise SimulatedRefusal(422, "no_such_option", f"There is no option {key[1]}.", option=key[1])
            for pattern, words in _KINDS:
                if pattern.fullmatch(self.originals[key]) and not pattern.fullmatch(value):
                    raise SimulatedRefusal(422, "bad_value", f"{key[1]} takes {words}.", option=key[1])
        return found

    def _execute(self, values: dict[Key, str], *, repeat: bool) -> Json:
        is_there = all(self.values[key] == value for key, value in values.items())
        self.values |= values
        self.version += not is_there
        pool = next(iter(values))[0] == "thread_pool"
        read_back = {"threads" if pool else name: self.values[scope, name] for scope, name in values}
        outcome = "unchanged" if is_there and not repeat else "applied"
        return {"outcome": outcome, "elapsed_s": 0.0, "error": None, "read_back": read_back}

    def _look(self, now_s: float) -> Times:
        now = Times(now_s, now_s)
        if self._machine.look(now):
            self._restore()
        return now

    def _restore(self) -> None:
        """Execute the restore plan, assuming that all its conditions hold."""
        while (step := self._machine.due(lambda _column_family, _name: None)) is not None:
            self._execute(self._checked(step.change), repeat=False)
            self._machine.done(step, "", None)


def _refusal(status: int, code: str, detail: str, holder: str | None) -> SimulatedRefusal:
    return SimulatedRefusal(status, code, detail, **({} if holder is None else {"holder": holder}))
