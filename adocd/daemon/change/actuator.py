"""Carries plans out: one call in flight a target, read back, and the outcome in one word."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from adocd.daemon.book.journal.errors import JournalError
from adocd.daemon.change.planner import Plan
from adocd.model.change import Change, StepResult
from adocd.model.decision_record import Outcome
from adocd.model.snapshot import Lease
from adocd.model.values import OptionName, Values
from adocd.targets.base import Target
from adocd.targets.errors import Closed, Refused, TargetError


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a plan."""

    outcome: Outcome
    elapsed_s: float
    detail: str | None
    #: What was sent and read back as it was sent.
    there: Values = field(default_factory=dict)
    #: The agent's word for why it refused.
    code: str | None = None
    #: What was not tried, because a step before it failed.
    untried: frozenset[OptionName] = frozenset()


class Actuator:
    """Sends one plan at a time and never blocks its caller: under a stall SetOptions can take many seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._task: asyncio.Task[None] | None = None
        self._since_s = 0.0
        self._ended_s: float | None = None

    @property
    def in_flight_s(self) -> float | None:
        """How long the change in flight has been there; None when there is none."""
        if self._task is None or self._task.done():
            return None
        return self._clock() - self._since_s

    def start(
        self,
        target: Target,
        lease: Lease,
        plan: Plan,
        announce: Callable[[], Awaitable[None]],
        done: Callable[[Result], None],
    ) -> None:
        """Announce the plan, which raises JournalError when it must not be sent, and send it.

        `done` is called on the loop with its result.
        """
        if self.in_flight_s is not None:
            raise RuntimeError("a change is in flight already")  # a mistake of the loop's, not of a user's
        self._since_s = self._clock()
        self._task = asyncio.create_task(self._send(target, lease, plan, announce, done), name="actuator")

    def is_seen_by(self, looked_s: float) -> bool:
        """Whether a look at the database at that time, by the clock, came after the last change."""
        return self._ended_s is None or looked_s >= self._ended_s

    async def settle(self, timeout_s: float) -> None:
        """Wait until nothing is in flight, at most `timeout_s` seconds."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=timeout_s)

    async def abandon(self) -> None:
        """Stop waiting for the change in flight; the agent still finishes it."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({self._task})

    async def _send(
        self,
        target: Target,
        lease: Lease,
        plan: Plan,
        announce: Callable[[], Awaitable[None]],
        done: Callable[[Result], None],
    ) -> None:
        outcome: Outcome = "failed"
        detail: str | None = "the database was closed, or the daemon stopped, before the answer came"
        there: Values = {}
        untried: frozenset[OptionName] = frozenset()
        code: str | None = None
        try:
            await announce()
            steps = await target.change(lease.holder, lease.epoch, plan.changes, plan.restore, repeat=plan.repeat)
            outcome, detail = judge(plan.changes, steps)
            there, untried = _there(plan.changes, steps), _options(plan.changes[len(steps) :])
        except JournalError as error:
            outcome, detail = "refused", f"nothing was sent: {error}"
        except TargetError as error:
            code = error.code if isinstance(error, Refused) and not isinstance(error, Closed) else None
            # Of the values nothing is said where the lease was gone.
            outcome = "failed" if code is None or code.startswith("lease_") else "rejected"
            detail = str(error)
        finally:
            self._ended_s = self._clock()
            done(Result(outcome, self._clock() - self._since_s, detail, there, code, untried))


def judge(changes: tuple[Change, ...], steps: tuple[StepResult, ...]) -> tuple[Outcome, str | None]:
    """Say what a change's steps amount to.

    RocksDB can report an error though the change took effect, when it cannot write its OPTIONS file (db.h,
    SetOptions); so an error means "unknown", and what was read back decides.
    """
    if all(step.outcome == "unchanged" for step in steps) and len(steps) == len(changes):
        return "unchanged", None
    errors = [step.error for step in steps if step.outcome == "error" and step.error]
    there = all(_reads_back(change.wanted(), step.read_back) for change, step in zip(changes, steps, strict=False))
    if errors:
        # A step that fails stops the list, also when it took effect; the ones after it come with the next plan.
        return ("applied-unpersisted" if there else "rejected"), "; ".join(errors)
    if not there or len(steps) < len(changes):
        return "rejected", "the values read back are not the ones that were sent"
    return "applied", None


def _reads_back(wanted: Mapping[str, str], read: Mapping[str, str]) -> bool:
    return all(read.get(name) == value for name, value in wanted.items())


def _there(changes: tuple[Change, ...], steps: tuple[StepResult, ...]) -> dict[OptionName, str]:
    return {
        option: value
        for change, step in zip(changes, steps, strict=False)
        for (option, value), read in zip(change.sets().items(), _read(change, step), strict=True)
        if read == value
    }


def _read(change: Change, step: StepResult) -> list[str | None]:
    return [step.read_back.get(word) for word in change.wanted()]


def _options(changes: tuple[Change, ...]) -> frozenset[OptionName]:
    return frozenset(option for change in changes for option in change.sets())
