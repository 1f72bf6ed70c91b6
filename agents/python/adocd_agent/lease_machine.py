"""The lease of one session and its restore plan, as agents/admin-api.yaml has them, without a clock and without I/O.

The time comes in with each call. What is to be executed comes out of `due`, one step at a time, and goes back in as
`done`. Whoever owns a machine brings clock, lock and database, and looks at it when the lease is due.

This agent runs it, and through a link (adocd/simulator/lease_machine.py) so do adocd's simulator and the fake fleet of
its bench. So it imports nothing but the standard library, and runs on every Python that this agent runs on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

Json = Any
Change = TypeVar("Change")
GRACE_S = 2.0
"""How long the process must have been able to run since a renewal before the lease can expire.

Renewals wait in the socket while it stands still, and are served within this once it runs again. It is much shorter
than a time to live in use, so that standstills cannot keep the lease of a dead holder alive.
"""


class Times(NamedTuple):
    """One moment on two clocks: the monotonic one, and the one that stands still while the process does.

    Where the process never stands still, both say the same.
    """

    wall_s: float
    running_s: float


class StepCondition(NamedTuple):
    """What a restore step waits for: an integer property of a column family is below a value."""

    column_family: str
    property: str
    below: int


@dataclass(frozen=True)
class PlanStep(Generic[Change]):
    """A change that leads back, in its owner's own form, and what it waits for."""

    change: Change
    when: StepCondition | None = None


class LeaseState(NamedTuple):
    """The contract's Lease."""

    holder: str
    epoch: int
    ttl_s: float
    expires_in_s: float


class RestoreState(NamedTuple):
    """The contract's Restore."""

    state: str
    steps_left: int
    waiting_for: str | None
    errors: list[str]


def plan_of(steps: Iterable[Json]) -> list[PlanStep[Json]]:
    """Read a restore plan as the contract's ChangeRequest has it."""
    return [PlanStep(step["change"], StepCondition(**step["when"]) if step.get("when") else None) for step in steps]


class LeaseMachine(Generic[Change]):
    """Who may change one database, and what is undone when nobody may any more.

    While somebody holds the lease, no step is due; when a lease ends, the plan that it armed is executed from where
    it stands, by whatever way the lease ended, unless a release says that what was changed is to stay.

    `tell` is told of each event: its kind and its detail. `refusal` makes the exception that a refusal is raised as,
    of the HTTP status, the contract's code, a sentence, and who holds the lease where that is the reason.
    """

    def __init__(
        self, tell: Callable[[str, str], None], refusal: Callable[[int, str, str, str | None], Exception]
    ) -> None:
        self._tell = tell
        self._refusal = refusal
        self._holder: str | None = None
        self._epoch = 0
        self._ttl_s = 0.0
        self._expires = Times(0.0, 0.0)
        self._steps: list[PlanStep[Change]] = []
        self._state = "none"
        self._waiting_for: str | None = None
        self._errors: list[str] = []
        self.revoked_epoch: int | None = None
        """The epoch of the newest lease when somebody last revoked, also where it had expired a moment before."""

    # --- the lease ------------------------------------------------------------------------------------------

    def look(self, now: Times) -> bool:
        """End a lease that has expired; true when that was now. Every call that is given the time does so first."""
        left_s = self.left_s(now)
        if left_s is None or left_s > 0:
            return False
        self._tell("lease_expired", str(self._holder))
        self.end()
        return True

    def left_s(self, now: Times) -> float | None:
        """Return the seconds until it expires, 0 or less when that is due; None when nobody holds it."""
        if self._holder is None:
            return None
        return max(self._expires.wall_s - now.wall_s, self._expires.running_s - now.running_s)

    def hold(self, holder: str, ttl_s: float, epoch: int | None, now: Times) -> LeaseState:
        """Acquire or renew.

        An epoch that is not the current one always means "lost", so that a former holder learns what happened even
        when somebody else holds the lease by now.
        """
        self.look(now)
        if epoch is not None and (self._holder is None or epoch != self._epoch):
            raise self._lost(epoch)
        if self._holder not in (None, holder):
            raise self._held()
        if self._holder is None:
            self._holder = holder
            self._epoch += 1
            if self._steps:  # a restore that was under way: the rest of it is the new lease's now
                self._state, self._waiting_for = "armed", None
            self._tell("lease_acquired", holder)
        self._ttl_s = ttl_s
        self._expires = Times(now.wall_s + ttl_s, now.running_s + min(ttl_s, GRACE_S))
        return LeaseState(holder, self._epoch, ttl_s, ttl_s)

    def require(self, holder: str, epoch: int, now: Times) -> None:
        """Refuse unless this is the current lease."""
        self.look(now)
        if self._holder is None:
            if 1 <= epoch <= self._epoch:
                raise self._lost(epoch)
            raise self._refusal(409, "lease_required", "Nobody holds the lease; acquire it with PUT .../lease.", None)
        if epoch != self._epoch and (self._holder == holder or epoch < self._epoch):
            raise self._lost(epoch)
        if self._holder != holder:
            raise self._held()

    def arm(self, holder: str, epoch: int, plan: Sequence[PlanStep[Change]], now: Times) -> None:
        """Replace the restore plan; refuse unless this is the current lease, whose end may begin the plan."""
        self.require(holder, epoch, now)
        self._steps, self._state = list(plan), "armed" if plan else "none"
        self._waiting_for, self._errors = None, []

    def release(self, holder: str | None, epoch: int | None, now: Times, *, restore: bool, force: bool) -> bool:
        """Release, or revoke by `force`; false when there was nothing to end.

        Without `restore` the plan is dropped: what was changed stays.
        """
        self.look(now)
        if self._holder is not None:
            if not force:
                self._require_for_release(holder, epoch)
            self._tell("lease_revoked" if force else "lease_released", self._holder)
        elif not force:
            return False
        if force:
            self.revoked_epoch = self._epoch or None
        if not restore:
            self._steps, self._state, self._waiting_for = [], "none", None
        self.end()
        return True

    def end(self) -> None:
        """Nobody holds it any more: begin to execute what the plan has left."""
        self._holder = None
        if self._steps and not self.is_restoring:
            self._state, self._errors = "running", []
            self._tell("restore_begin", f"{len(self._steps)} steps")

    def lease(self, now: Times) -> LeaseState | None:
        """Return the lease; None when nobody holds it."""
        self.look(now)
        left_s = self.left_s(now)
        if self._holder is None or left_s is None:
            return None
        return LeaseState(self._holder, self._epoch, self._ttl_s, left_s)

    # --- the restore plan -----------------------------------------------------------------------------------

    @property
    def is_restoring(self) -> bool:
        """Whether an execution is under way, waiting or not."""
        return self._state in ("running", "waiting")

    def due(self, value_of: Callable[[str, str], int | None]) -> PlanStep[Change] | None:
        """Return the step to execute now; None when there is none, or its condition does not hold yet.

        `value_of` reads a property of a column family. What cannot be read is gone since the plan was accepted, and
        is not waited for: a dropped column family has no level-0 files.
        """
        if not self.is_restoring:
            return None
        step = self._steps[0]
        if step.when is not None:
            column_family, name, below = step.when
            value = value_of(column_family, name)
            if value is not None and value >= below:
                wish = f"{name} of {column_family} below {below}"
                self._state, self._waiting_for = "waiting", f"{wish} (it is {value})"
                return None
        self._state, self._waiting_for = "running", None
        return step

    def is_due(self, step: PlanStep[Change]) -> bool:
        """Tell whether this step of `due` is still the one to execute: a lease may have come, or another plan."""
        return self._state == "running" and self._steps[0] is step

    def done(self, step: PlanStep[Change], words: str, error: str | None) -> None:
        """Note that a step was executed, which `words` describe, and with which error."""
        self._tell("restore_step", words + (f" (error: {error})" if error else ""))
        if not self._steps or self._steps[0] is not step:  # the plan was dropped or replaced meanwhile
            return
        del self._steps[0]
        if error is not None:
            self._errors.append(f"{words}: {error}")
        if self._steps:
            return
        if self._state == "armed":  # a new lease came during the last step: nothing is left for it
            self._state = "none"
            return
        self._state = "done"
        self._tell("restore_end", f"{len(self._errors)} errors")

    def restore(self) -> RestoreState:
        """Tell how far the restore is."""
        return RestoreState(self._state, len(self._steps), self._waiting_for, list(self._errors))

    # --- refusals -------------------------------------------------------------------------------------------

    def _require_for_release(self, holder: str | None, epoch: int | None) -> None:
        """Refuse a release by somebody else, or by nobody in particular."""
        if holder is None:
            raise self._refusal(400, "bad_request", "Name the holder and the epoch, or use force=true.", None)
        if holder != self._holder:
            raise self._held()
        if epoch is not None and epoch != self._epoch:
            raise self._lost(epoch)

    def _held(self) -> Exception:
        detail = f"{self._holder} holds the lease; wait until it ends, or revoke it with force=true."
        return self._refusal(409, "lease_held", detail, self._holder)

    def _lost(self, epoch: int) -> Exception:
        return self._refusal(409, "lease_lost", f"Epoch {epoch} is not the current lease; acquire a new one.", None)
