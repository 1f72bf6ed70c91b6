"""Lease, options and way back of one simulated database, as the admin protocol has them (agents/admin-api.yaml)."""

import re
from collections.abc import Callable
from typing import Any

from adocd_bench.fleet.options import COLUMN_FAMILY, DATABASE, THREAD_POOLS
from adocd_bench.fleet.problems import Problem

Json = Any
#: Scope and name: there is one column family, and its name is not said again.
Key = tuple[str, str]

_KINDS = ((re.compile(r"-?[0-9]{1,19}"), "a whole number"), (re.compile("true|false"), "true or false"))


class Control:
    """Who may change one database, what its options are, and what leads back. `tell` is told what happens."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.values: dict[Key, str] = {("database", name): value for name, value in DATABASE.items()}
        self.values |= {("column_family", name): value for name, value in COLUMN_FAMILY.items()}
        self.values |= {("thread_pool", name): str(value) for name, value in THREAD_POOLS.items()}
        self.originals = dict(self.values)
        self.restore_state = "none"
        #: Grows with each change of an option.
        self.version = 0
        self._tell = tell
        self._holder: str | None = None
        self._epoch = 0
        self._ttl_s = self._expires_s = 0.0
        self._plan: list[Json] = []

    def lease(self, now_s: float) -> Json:
        """Show the lease; None when nobody holds it. One that has expired is taken back first."""
        if self._holder is not None and now_s > self._expires_s:
            self._end("lease_expired")
        if self._holder is None:
            return None
        left_s = round(self._expires_s - now_s, 3)
        return {"holder": self._holder, "epoch": self._epoch, "ttl_s": self._ttl_s, "expires_in_s": left_s}

    def hold(self, body: Json, now_s: float) -> Json:
        """Acquire or renew. Raises Problem."""
        holder, ttl_s, epoch = body.get("holder"), body.get("ttl_s"), body.get("epoch")
        if not (isinstance(holder, str) and 0 < len(holder) <= 200 and isinstance(ttl_s, int | float)):
            raise Problem(422, "bad_request", "A lease needs a holder and a ttl_s.")
        self.lease(now_s)
        if self._holder not in (None, holder):
            raise Problem(409, "lease_held", f"The lease is held by {self._holder}.", holder=str(self._holder))
        if epoch is not None and (self._holder is None or epoch != self._epoch):
            raise Problem(409, "lease_lost", f"The lease of epoch {epoch} is gone.")
        if self._holder is None:
            self._epoch += 1
            self._tell("lease_acquired")
        self._holder, self._ttl_s, self._expires_s = holder, float(ttl_s), now_s + ttl_s
        return self.lease(now_s)

    def release(self, query: dict[str, str], now_s: float) -> Json:
        """Release or revoke. Raises Problem."""
        held = self.lease(now_s)
        if held is not None and query.get("force") != "true":
            if query.get("holder") != self._holder:
                raise Problem(409, "lease_held", f"The lease is held by {self._holder}.", holder=str(self._holder))
            if query.get("epoch") != str(self._epoch):
                raise Problem(409, "lease_lost", "The lease of that epoch is gone.")
        if held is not None:
            if query.get("restore") == "false":
                self._plan, self.originals = [], dict(self.values)
            self._end("lease_revoked" if query.get("force") == "true" else "lease_released")
        return self.restore()

    def restore(self) -> Json:
        """Show how far the restore is: it takes no time here."""
        return {"state": self.restore_state, "steps_left": len(self._plan), "waiting_for": None, "errors": []}

    def change(self, body: Json, now_s: float) -> Json:
        """Execute changes in order. Raises Problem, and then nothing was executed."""
        held = self.lease(now_s)
        if held is None:
            code = "lease_lost" if body.get("epoch", 0) <= self._epoch > 0 else "lease_required"
            raise Problem(409, code, "Nobody holds the lease.")
        if body.get("holder") != self._holder:
            raise Problem(409, "lease_held", f"The lease is held by {self._holder}.", holder=str(self._holder))
        if body.get("epoch") != self._epoch:
            raise Problem(409, "lease_lost", "The lease of that epoch is gone.")
        changes, plan = body.get("changes"), body.get("restore_plan")
        if not (isinstance(changes, list) and changes and isinstance(plan, list)):
            raise Problem(422, "bad_request", "A change needs changes and a restore_plan.")
        sets = [self._checked(change) for change in changes]
        named = {key for step in plan for key in self._checked(step["change"])}
        differing = {key for key, value in self.values.items() if value != self.originals[key]}
        if lacking := ({key for each in sets for key in each} | differing) - named:
            raise Problem(422, "plan_incomplete", f"The restore plan does not name {sorted(lacking)[0][1]}.")
        self._plan, self.restore_state = plan, "armed"
        steps = [self._execute(each, repeat=body.get("repeat") is True) for each in sets]
        self._tell("options_changed")
        return {"steps": steps}

    def _checked(self, change: Json) -> dict[Key, str]:
        """Read what a change sets. Raises Problem."""
        scope = change.get("scope")
        if scope == "rate_limiter":
            raise Problem(422, "no_rate_limiter", "This database has no rate limiter.")
        if scope == "thread_pool":
            found = {("thread_pool", str(change.get("pool"))): str(change.get("threads"))}
        elif scope in ("database", "column_family"):
            if scope == "column_family" and change.get("column_family") != "default":
                raise Problem(422, "no_such_column_family", "There is no such column family.")
            found = {(scope, name): value for name, value in change.get("options", {}).items()}
        else:
            raise Problem(422, "unsupported", f"There is no scope {scope}.")
        for key, value in found.items():
            if key not in self.originals:
                raise Problem(422, "no_such_option", f"There is no option {key[1]}.", option=key[1])
            for pattern, words in _KINDS:
                if pattern.fullmatch(self.originals[key]) and not pattern.fullmatch(value):
                    raise Problem(422, "bad_value", f"{key[1]} takes {words}.", option=key[1])
        return found

    def _execute(self, values: dict[Key, str], *, repeat: bool) -> Json:
        is_there = all(self.values[key] == value for key, value in values.items())
        self.values |= values
        self.version += not is_there
        pool = next(iter(values))[0] == "thread_pool"
        read_back = {"threads" if pool else name: self.values[scope, name] for scope, name in values}
        outcome = "unchanged" if is_there and not repeat else "applied"
        return {"outcome": outcome, "elapsed_s": 0.0, "error": None, "read_back": read_back}

    def _end(self, kind: str) -> None:
        """End the lease and execute the way back, whose conditions all hold."""
        self._holder = None
        self._tell(kind)
        if self._plan:
            self._tell("restore_begin")
            for step in self._plan:
                self._execute(self._checked(step["change"]), repeat=False)
                self._tell("restore_step")
            self._tell("restore_end")
            self._plan, self.restore_state = [], "done"
