"""The lease of one session and its restore plan, as defined in agents/admin-api.yaml, without clock or I/O.

Each call passes the time. `due` returns one step to execute at a time, and the caller reports it by `done`. The owner
of a machine provides clock, lock and database, and calls it when the lease expires.

This agent uses it, and through a link (adocd/simulator/lease_machine.py) so do adocd's simulator and the bench's fake
fleet. So it imports only the standard library, and runs on every Python that this agent supports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

Json = Any
Change = TypeVar("Change")
GRACE_S = 2.0
"""Time that the process must have been able to run since a renewal before the lease can expire (s).

Renewals wait in the socket while the process stands still, and are served within this time once it runs again. It is
much shorter than any real time to live, so that standstills cannot keep the lease of a dead holder alive.
"""


class Times(NamedTuple):
    """One moment on two clocks: the monotonic one, and one that stops while the process stands still.

    If the process never stands still, both are equal.
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
    """A change that restores values, in its owner's own form, and the condition that it waits for."""

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
    """Who may change one database, and what is restored when nobody may any more.

    While somebody holds the lease, no step is due. However a lease ends, the rest of its armed plan is then executed,
    unless a release says that the changed values stay.

    `tell` is called for each event with its kind and detail. `refusal` makes the exception for a refusal from the HTTP
    status, the contract's code, a sentence, and the holder of the lease if that is the reason.
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
        """The epoch of the newest lease at the last revocation, even if it had expired a moment before."""

    # --- the lease ------------------------------------------------------------------------------------------

    def look(self, now: Times) -> bool:
        """End an expired lease; true if it expired just now. Every call that takes the time does this first."""
        left_s = self.left_s(now)
        if left_s is None or left_s > 0:
            return False
        self._tell("lease_expired", str(self._holder))
        self.end()
        return True

    def left_s(self, now: Times) -> float | None:
        """Return the seconds until the lease expires, 0 or less if it has; None if nobody holds it."""
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
            if self._steps:  # a restore was running: its remaining steps now belong to the new lease
                self._state, self._waiting_for = "armed", None
            self._tell("lease_acquired", holder)
        self._ttl_s = ttl_s
        self._expires = Times(now.wall_s + ttl_s, now.running_s + min(ttl_s, GRACE_S))
        return LeaseState(holder, self._epoch, ttl_s, ttl_s)

    def require(self, holder: str, epoch: int, now: Times) -> None:
        """Refuse if this is not the current lease."""
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
        """Replace the restore plan; refuse if this is not the current lease, whose end may start the plan."""
        self.require(holder, epoch, now)
        self._steps, self._state = list(plan), "armed" if plan else "none"
        self._waiting_for, self._errors = None, []

    def release(self, holder: str | None, epoch: int | None, now: Times, *, restore: bool, force: bool) -> bool:
        """Release, or revoke with `force`; false if there was nothing to end.

        Without `restore` the plan is dropped, and the changed values stay.
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
        """Note that nobody holds the lease any more, and start the rest of the plan."""
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
        """Whether a restore is running, even if it waits for a condition."""
        return self._state in ("running", "waiting")

    def due(
        self, value_of: Callable[[str, str], int | None], lack: Callable[[Change], str | None] = lambda _: None
    ) -> PlanStep[Change] | None:
        """Return the step to execute now; None if there is none, or its condition does not hold yet.

        `value_of` reads a property of a column family. If it cannot be read, the column family was dropped since the
        plan was accepted, so the step does not wait: a dropped column family has no level-0 files.

        `lack` says in words what else a change needs that is not there, such as space on the file system; None if
        nothing.
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
        if (missing := lack(step.change)) is not None:
            self._state, self._waiting_for = "waiting", missing
            return None
        self._state, self._waiting_for = "running", None
        return step

    def put_off(self, why: str) -> None:
        """Note why the step from `due` cannot be tried yet, where its owner finds that out."""
        if self.is_restoring:
            self._state, self._waiting_for = "waiting", why

    def is_due(self, step: PlanStep[Change]) -> bool:
        """Whether this step from `due` is still the one to execute: there may be a new lease or another plan."""
        return self._state == "running" and self._steps[0] is step

    def done(self, step: PlanStep[Change], words: str, error: str | None) -> None:
        """Note that a step was executed, with its description `words` and its error."""
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
        """Return the progress of the restore."""
        return RestoreState(self._state, len(self._steps), self._waiting_for, list(self._errors))

    # --- refusals -------------------------------------------------------------------------------------------

    def _require_for_release(self, holder: str | None, epoch: int | None) -> None:
        """Refuse a release by somebody else, or without a holder."""
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
