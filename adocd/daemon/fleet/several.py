"""Policies of several databases at once, by patterns of path and labels: an operator's request about hundreds."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from adocd.controllers import registry
from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.errors import JournalError
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.fleet import Fleet, is_for_unknown_policy
from adocd.daemon.fleet.noted import noted
from adocd.daemon.fleet.operators import CannotDo, Operators, in_words
from adocd.model.labels import labels_of
from adocd.model.nearest import instead
from adocd.model.policy import Policy
from adocd.model.selector import Selector


class NoneMatch(LookupError):
    """No database is meant; the message is one sentence that says what there is."""


@dataclass(frozen=True, slots=True)
class DoneToSeveral:
    """The paths of the databases that it was done to, and of the closed ones that match and were left out, by id.

    `failed`: why it could not be done to others that match, in one sentence, by id.
    """

    done: Mapping[str, str]
    failed: Mapping[str, str]
    closed: Mapping[str, str]


class Several:
    """Carries out requests about all open databases that match; one that opens later is not meant.

    A closed one is left out: a policy set for it would be remembered until somebody forgets it, also that of a window
    segment that is deleted.
    """

    def __init__(self, fleet: Fleet, book: Book, operators: Operators) -> None:
        self._fleet = fleet
        self._book = book
        self._operators = operators

    @property
    def pauses_entered(self) -> int:
        """See Pauses.entered."""
        return self._book.pauses.entered

    async def set_policy(self, selector: Selector, policy: Policy, who: str, asked: int | None = None) -> DoneToSeveral:
        """Set their policy permanently, which also ends their pauses; those that it cannot work on keep their own.

        A pause that was entered after it was asked for stays (see Operators.set_policy).
        Raises registry.PolicyError when it is invalid, NoneMatch, and CannotDo if it cannot be made durable.
        """
        registry.create(policy)
        meant, closed = self._meant(selector)
        failed: dict[str, str] = {}
        for loop in meant:
            try:
                self._operators.check_policy(loop, policy)
            except CannotDo as error:
                failed[loop.id] = str(error)
        accepted = [loop for loop in meant if loop.id not in failed]
        asked = self._book.pauses.entered if asked is None else asked
        try:
            await self._book.set_policies({loop.id: loop.path for loop in accepted}, policy, who)
        except JournalError as error:
            raise CannotDo(f"the policy would be lost in a restart of the daemon: {error}") from None
        # Before anything can hang or be killed: the policy is in the journal, so it will be in force.
        for loop in accepted:
            noted(self._fleet.audit, "set-policy", loop, who, f"{who} set the policy to {in_words(policy)}")
        # At once: one that hangs must not keep the others paused.
        await asyncio.gather(*(self._operators.put_in_force(loop, policy, who, asked) for loop in accepted))
        return DoneToSeveral(_paths(accepted), failed, _paths(closed))

    async def reset_policy(self, selector: Selector, who: str) -> DoneToSeveral:
        """Leave their policies to `adocd serve` and its configuration; raises NoneMatch and CannotDo."""
        meant, closed = self._meant(selector)
        try:
            await self._book.reset_policies(loop.id for loop in meant)
        except JournalError as error:
            raise CannotDo(str(error)) from None
        for loop in meant:
            noted(self._fleet.audit, "reset-policy", loop, who, f"{who} left the policy to the configuration")
        await asyncio.gather(*(loop.set_policy(self._fleet.policy_for(loop.id, loop.path)) for loop in meant))
        for loop in meant:
            if is_for_unknown_policy(self._book.pauses.of(loop.id)):
                self._book.pauses.resume(loop.id, loop.path, who)
        return DoneToSeveral(_paths(meant), {}, _paths(closed))

    def _meant(self, selector: Selector) -> tuple[list[TargetLoop], list[TargetLoop]]:
        """Return the open and the closed databases that match."""
        found = [loop for loop in self._fleet.loops.values() if selector.matches(loop.path)]
        meant = [loop for loop in found if loop.state != "closed"]
        if not found:
            raise NoneMatch(_none_match(selector, (loop.path for loop in self._fleet.loops.values())))
        if not meant:
            are = "the one that matches is" if len(found) == 1 else f"all {len(found)} that match are"
            raise CannotDo(f"{are} closed; set the policy of a closed database by its name")
        return meant, [loop for loop in found if loop.state == "closed"]


def _paths(loops: Iterable[TargetLoop]) -> dict[str, str]:
    return {loop.id: loop.path for loop in loops}


def _none_match(selector: Selector, paths: Iterable[str]) -> str:
    """Say that no database matches, and what there is instead of the first label that none has."""
    paths = tuple(paths)
    for name, pattern in selector.labels.items():
        if not any(Selector(labels={name: pattern}).matches(path) for path in paths):
            values = {labels_of(path).get(name): None for path in paths}
            known = [value for value in values if value is not None]
            there = instead(pattern, known) or f"; no database has the label {name}"
            return f"no database has a label {name} that matches {pattern[:200]!r}{there}"
    if selector.path is not None and not any(Selector(selector.path).matches(path) for path in paths):
        return f"no database has a path that matches {selector.path[:200]!r}{instead(selector.path, paths)}"
    return "no database matches all of these conditions, though each of them matches one"
