"""Operators' requests that change something: policies, overrides, pauses and restores."""

import asyncio
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Literal

from adocd.controllers import registry
from adocd.daemon.book import overrides
from adocd.daemon.book.book import Book, Pinned
from adocd.daemon.book.journal.errors import JournalError
from adocd.daemon.book.journal.records import Override, Pause, What
from adocd.daemon.book.kept import KeptTarget
from adocd.daemon.change.back import RestoreResult
from adocd.daemon.change.guards.bounds import out_of_bounds
from adocd.daemon.change.way_back import restorable
from adocd.daemon.control.status import Status
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.fleet import Fleet, is_for_unknown_policy
from adocd.daemon.fleet.noted import noted
from adocd.model import units
from adocd.model.capabilities import ONLY_OBSERVED
from adocd.model.in_words import duration, named, pinned
from adocd.model.policy import Policy
from adocd.model.values import OptionName, Values
from adocd.targets.errors import OnlyObserved, TargetError


class CannotDo(Exception):
    """The request cannot be carried out now; the message is one sentence with the reason."""


class NotUnderstood(ValueError):
    """The request is invalid; the message is one sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class PinState:
    """An override on one target, and whether it is in force there."""

    override: Override
    remaining_s: float | None
    #: Why it has no effect now, in one sentence; None if it has.
    ineffective: str | None


@dataclass(frozen=True, slots=True)
class OverrideRequest:
    """An override as requested; with `for_s` None it stays until it is removed."""

    option: str
    column_family: str | None
    value: str
    for_s: float | None
    reason: str
    who: str


class Operators:
    """Carries out operators' requests; `loop` None means all targets, including those that open later."""

    def __init__(self, fleet: Fleet, book: Book) -> None:
        self._fleet = fleet
        self._book = book

    @property
    def book(self) -> Book:
        """The state that outlives the daemon, for its REST and command line to read."""
        return self._book

    async def not_durable(self) -> str | None:
        """Why the last request would not survive a restart yet, in one sentence; None if it would."""
        why = await self._book.not_durable()
        return None if why is None else f"it is in force, but would be lost in a restart of the daemon: {why}"

    # -- policies

    async def set_policy(self, loop: TargetLoop, policy: Policy, who: str, asked: int | None = None) -> None:
        """Set a target's policy permanently, which also ends a pause, but none that was entered after it was asked for.

        `asked`: `Pauses.entered` of that moment; None: now.
        Raises registry.PolicyError when it is invalid, CannotDo when it cannot work on this target.
        """
        self.check_policy(loop, policy)
        asked = self._book.pauses.entered if asked is None else asked
        try:
            await self._book.set_policy(loop.id, loop.path, policy, who)
        except JournalError as error:
            raise CannotDo(f"the policy would be lost in a restart of the daemon: {error}") from None
        self._note("set-policy", loop, who, f"{who} set the policy to {in_words(policy)}")
        await self.put_in_force(loop, policy, who, asked)

    async def put_in_force(self, loop: TargetLoop, policy: Policy, who: str, asked: int) -> None:
        """Let a loop follow a policy of the journal; a pause since it was asked for stays (see `set_policy`)."""
        await loop.set_policy(policy)
        if not self._book.pauses.entered_since(loop.id, asked):
            self._book.pauses.resume(loop.id, loop.path, who)

    def check_policy(self, loop: TargetLoop, policy: Policy) -> None:
        """Check whether a policy could be set; raises the errors of `set_policy` that can be known beforehand."""
        controller = registry.create(policy)
        if (why := loop.out_of_reach(controller)) is not None:
            raise CannotDo(f"{policy.controller} cannot work on {loop.path}: {why}")
        acts = bool(controller.knobs) and not policy.dry_run
        if acts and (why := self._held_elsewhere(loop.status)) is not None:
            raise CannotDo(f"{why}; stop that one first, or use dry_run")

    async def reset_policy(self, loop: TargetLoop, who: str) -> bool:
        """Return to the configuration's policy; returns whether an operator's was set. Raises CannotDo."""
        try:
            was_set = await self._book.reset_policy(loop.id)
        except JournalError as error:
            raise CannotDo(str(error)) from None
        policy = self._fleet.policy_for(loop.id, loop.path)
        self._note("reset-policy", loop, who, f"{who} left the policy to the configuration: {in_words(policy)}")
        await loop.set_policy(policy)
        if is_for_unknown_policy(self._book.pauses.of(loop.id)):
            self._book.pauses.resume(loop.id, loop.path, who)
        return was_set

    # -- overrides

    def overrides_of(self, loop: TargetLoop | None) -> tuple[PinState, ...]:
        """Return the overrides that apply to a target; with None, those for all targets."""
        pins = self._book.overrides_of(None if loop is None else loop.id)
        return tuple(self._state(loop, pin) for pin in pins)

    async def pin(self, loop: TargetLoop | None, asked: OverrideRequest) -> PinState:
        """Pin an option; a pin overrides the law and its shaping.

        Raises NotUnderstood when the option, value or column family does not exist; CannotDo when a safety guard
        refuses the value now, with its reason, or when another daemon holds the target.
        """
        try:
            asked = replace(asked, value=overrides.as_rocksdb_writes(asked.option, asked.value))
        except units.NoQuantity as error:
            raise NotUnderstood(f"{asked.option} {error}") from None
        self._check_words(asked)
        if loop is not None:
            self._check(loop, asked)
        now_s = self._fleet.wall_clock()
        override = Override(
            target=None if loop is None else loop.id,
            path=None if loop is None else loop.path,
            option=asked.option,
            column_family=asked.column_family,
            value=asked.value,
            expires_unix_s=None if asked.for_s is None else now_s + asked.for_s,
            reason=asked.reason,
            who=asked.who,
            unix_s=now_s,
        )
        try:
            pin = await self._book.pin(override)
        except JournalError as error:
            raise CannotDo(f"nothing is pinned: {error}") from None
        self._note("pin", loop, asked.who, _pinned_in_words(asked))
        return self._state(loop, pin, was_checked=True)

    def unpin(self, place: TargetLoop | KeptTarget | None, option: str, column_family: str | None, who: str) -> bool:
        """Remove an override, also of a closed database; returns whether there was one."""
        was_pinned = self._book.unpin(None if place is None else place.id, option, column_family)
        if was_pinned:
            self._note("unpin", place, who, f"{who} removed the pin of {option}{family_in_words(column_family)}")
        return was_pinned

    # -- pauses and restores

    def pause(self, loop: TargetLoop | None, reason: str, who: str) -> None:
        """Pause the law until it is resumed; its values and the overrides stay in force."""
        self._pause(loop, "paused", reason, who)
        self._note("pause", loop, who, reason)

    def resume(self, loop: TargetLoop | None, who: str) -> bool:
        """Resume the law; returns whether it was paused."""
        was_paused = self._book.pauses.resume(
            None if loop is None else loop.id, None if loop is None else loop.path, who
        )
        self._note("resume", loop, who, f"{who} let {'all laws' if loop is None else 'its law'} go on")
        return was_paused

    async def restore(self, loop: TargetLoop | None, who: str) -> tuple[Mapping[str, RestoreResult], Mapping[str, str]]:
        """Restore the originals now, whoever holds the lease, and keep them until the law is resumed.

        Returns each restore's progress and the options not restored, by target id, and by id or socket why a restore
        could not be requested. Raises CannotDo for a single read-only target; with all targets, read-only ones are
        skipped, because adocd cannot have changed them.
        """
        if loop is not None and loop.status.is_only_observed:
            raise CannotDo(f"{loop.path} has nothing to restore: {ONLY_OBSERVED}")
        self._pause(loop, "restored", f"{who} restored the originals; resume or set a policy to go on", who)
        self._note("restore", loop, who, f"{who} restored the originals{' of all targets' if loop is None else ''}")
        restored: dict[str, RestoreResult] = {}
        failed = dict(self._fleet.problems) if loop is None else {}

        async def revoke(one: TargetLoop) -> None:
            try:
                restored[one.id] = await one.revoke()
            except OnlyObserved:
                pass
            except TargetError as error:
                if loop is not None or one.state != "closed":
                    failed[one.id] = str(error)

        await asyncio.gather(*(revoke(one) for one in self._meant(loop)))
        return restored, failed

    # -- in here

    def _note(self, what: What, place: TargetLoop | KeptTarget | None, who: str, sentence: str) -> None:
        noted(self._fleet.audit, what, place, who, sentence)

    def _meant(self, loop: TargetLoop | None) -> list[TargetLoop]:
        return list(self._fleet.loops.values()) if loop is None else [loop]

    def _pause(self, loop: TargetLoop | None, state: Literal["paused", "restored"], reason: str, who: str) -> None:
        target, path = (None, None) if loop is None else (loop.id, loop.path)
        now_s = self._fleet.wall_clock()
        self._book.pauses.enter(Pause(target, path, state, reason, who, now_s))

    def _check_words(self, asked: OverrideRequest) -> None:
        """Check what needs no database, because a pin for all targets also applies to those that open later."""
        family = asked.column_family or "default"
        try:
            (option,) = overrides.options_meant(asked.option, asked.column_family, [family])
        except overrides.NoSuchOption as error:
            raise NotUnderstood(str(error)) from None
        if (why := out_of_bounds(option, asked.value)) is not None:
            raise NotUnderstood(f"bounds: {why}")

    def _held_elsewhere(self, status: Status) -> str | None:
        """Return which other daemon holds a target, because nothing of ours is applied there; None if none does."""
        lease = status.lease
        if lease is None or lease.holder == self._fleet.holder:
            return None
        return f"{status.path} is held by {lease.holder}"

    def _check(self, loop: TargetLoop, asked: OverrideRequest) -> None:
        status = loop.status
        if (why := self._held_elsewhere(status)) is not None:
            raise CannotDo(f"{why}; pin it there, or stop that one first")
        if status.detail is None or status.sample is None:
            return
        if status.policy.dry_run:
            raise CannotDo(f"the policy of {loop.path} is a dry run, so nothing is applied there: set one that is not")
        meant = self._options(status, asked.option, asked.column_family)
        if (why := self._refused(loop, status, dict.fromkeys(meant, asked.value))) is not None:
            raise CannotDo(why)

    def _refused(self, loop: TargetLoop, status: Status, wanted: Values) -> str | None:
        """Return why these values cannot be set there now, all together; None when they can."""
        if status.detail is None or status.sample is None:
            return None
        for option in wanted:
            if (why := overrides.unreachable(option, status.sample.values, status.detail.capabilities)) is not None:
                return why
        note = loop.refusal_of(wanted)
        return None if note is None else str(note)

    def _options(self, status: Status, option: str, column_family: str | None) -> tuple[OptionName, ...]:
        families = () if status.sample is None else tuple(cf.name for cf in status.sample.column_families)
        try:
            return overrides.options_meant(option, column_family, families)
        except overrides.NoSuchOption as error:
            raise NotUnderstood(str(error)) from None

    def _state(self, loop: TargetLoop | None, pinned: Pinned, *, was_checked: bool = False) -> PinState:
        """Return an override's state; one that `was_checked` just now has passed the guards."""
        why = None if loop is None else self._why_ineffective(loop, pinned.override, was_checked)
        return PinState(pinned.override, self._book.remaining_s(pinned), why)

    def _why_ineffective(self, loop: TargetLoop, override: Override, was_checked: bool) -> str | None:
        status, pause = loop.status, self._book.pauses.of(loop.id)
        if pause is not None and pause.state == "restored":
            return pause.reason
        if status.policy.dry_run:
            return "the policy is a dry run"
        try:
            return self._held_elsewhere(status) or self._why_not_there(loop, status, override, was_checked)
        except NotUnderstood as error:
            return str(error)

    def _why_not_there(self, loop: TargetLoop, status: Status, override: Override, was_checked: bool) -> str | None:
        if status.detail is None or status.sample is None:
            return "the database is closed, or not measured yet"
        current = status.sample.values
        for option in self._options(status, override.option, override.column_family):
            is_there = current.get(option) in (override.value, restorable(option, override.value))
            if is_there and overrides.unreachable(option, current, status.detail.capabilities) is None:
                continue  # a value already in force needs no guard
            refused = None if was_checked else self._refused(loop, status, {option: override.value})
            return refused or f"not there yet: {option} is {current.get(option)}"
        return None


def in_words(policy: Policy) -> str:
    """Format a policy: `adoc with threads_max 8, as a dry run`."""
    parameters = ", ".join(f"{name} {named(name, value)}" for name, value in policy.parameters.items())
    shaped = ", ".join(f"{name} {value:g}" for name, value in asdict(policy.shaping).items() if value)
    with_ = ", ".join(words for words in (parameters, shaped) if words)
    return policy.controller + (f" with {with_}" if with_ else "") + (", as a dry run" if policy.dry_run else "")


def _pinned_in_words(asked: OverrideRequest) -> str:
    how_long = "until it is removed" if asked.for_s is None else f"for {duration(asked.for_s)}"
    why = f": {asked.reason}" if asked.reason else ""
    value = pinned(asked.option, asked.value)
    return f"{asked.who} pinned {asked.option}{family_in_words(asked.column_family)} to {value} {how_long}{why}"


def family_in_words(column_family: str | None) -> str:
    """Name the column family of a pin, if it is of one alone."""
    return "" if column_family is None else f" of column family {column_family}"
