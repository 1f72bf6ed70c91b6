"""Executes a plan: sends its calls, reads the values back and sums the outcome up in one word."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from adocd.daemon.change.planner import ChangePlan
from adocd.model.change import Change, StepResult
from adocd.model.decision_record import Outcome
from adocd.model.snapshot import Lease
from adocd.model.values import OptionName, Values
from adocd.targets.base import Target
from adocd.targets.errors import Closed, Refused, TargetError


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a plan."""

    outcome: Outcome
    detail: str | None = None
    #: Values that were read back as sent.
    there: Values = field(default_factory=dict)
    #: The agent's error code, if it refused.
    code: str | None = None
    #: Options that were not tried because an earlier step failed.
    untried: frozenset[OptionName] = frozenset()
    #: Seconds from announcing the change to its answer.
    elapsed_s: float = 0.0


#: The reason given for a change whose answer was not awaited.
ABANDONED = "the database was closed, or the daemon stopped, before the answer came"


async def send(target: Target, lease: Lease, plan: ChangePlan, *, lift_rate_limit: bool) -> Result:
    """Execute a plan under a lease; any failure is in the result."""
    try:
        steps = await target.change(
            lease.holder,
            lease.epoch,
            plan.changes,
            plan.restore,
            repeat=plan.repeat,
            lift_rate_limit=lift_rate_limit,
        )
    except TargetError as error:
        code = error.code if isinstance(error, Refused) and not isinstance(error, Closed) else None
        # When the lease was gone, or a column family that the change or its restore names, the answer says nothing
        # about the values.
        is_gone = code is not None and (code.startswith("lease_") or code == "no_such_column_family")
        outcome: Outcome = "failed" if code is None or is_gone else "rejected"
        return Result(outcome, str(error), code=code)
    outcome, detail = judge(plan.changes, steps)
    return Result(outcome, detail, _there(plan.changes, steps), untried=_options(plan.changes[len(steps) :]))


def judge(changes: tuple[Change, ...], steps: tuple[StepResult, ...]) -> tuple[Outcome, str | None]:
    """Sum up a change's steps: the outcome, and the reason if it was not applied.

    RocksDB can report an error although the change took effect, when it cannot write its OPTIONS file (db.h,
    SetOptions). So an error means "unknown", and the values read back decide.
    """
    if all(step.outcome == "unchanged" for step in steps) and len(steps) == len(changes):
        return "unchanged", None
    errors = [step.error for step in steps if step.outcome == "error" and step.error]
    there = all(_reads_back(change.wanted(), step.read_back) for change, step in zip(changes, steps, strict=False))
    if errors:
        # A failed step ends the list even if it took effect; the next plan holds the remaining steps.
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
