"""What must outlive the daemon: in memory for the loops to read, in the journal for good.

The journal has one writer, this process, so the memory is always what the file says, and where somebody else has been
at the file, the memory is what it has to say. Loops never wait for the file: it may lie on the very disk whose stalls
they are there for.
"""

import functools
import logging
import os
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from adocd.daemon.book.journal.content import OPERATIONS_KEPT
from adocd.daemon.book.journal.errors import JournalUnopenable
from adocd.daemon.book.journal.journal import Journal, read_only
from adocd.daemon.book.journal.late import LateWrites, Write
from adocd.daemon.book.journal.records import (
    Intent,
    JournaledDecision,
    JournaledPolicy,
    Operation,
    Override,
    Pause,
    Tuned,
    What,
)
from adocd.daemon.book.journal.rescue import Contents
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.values import OptionName, Values

_log = logging.getLogger(__name__)
#: So many entries of the audit trail wait for a journal that cannot be written; the oldest beyond them are lost.
_OPERATIONS_WAITING = 1000
_Key = tuple[str | None, str, str | None]


@dataclass(frozen=True, slots=True)
class Clocks:
    """`monotonic` in seconds, `wall` in seconds since the epoch."""

    monotonic: Callable[[], float]
    wall: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Pinned:
    """An override and how long it has to go, by a clock that nobody sets; None: until it is removed."""

    override: Override
    ends_monotonic_s: float | None


class Book:
    """Originals, policies, overrides, pauses and decisions of all targets."""

    def __init__(self, path: Path, journal: Journal | None, contents: Contents, clocks: Clocks) -> None:
        """For `open`; one without a journal is for a simulation."""
        self._path = path
        self._journal = journal
        self._clocks = clocks
        self._late = None if journal is None else LateWrites(journal)
        self._tuned: dict[str, dict[OptionName, Tuned]] = {}
        for tuned in contents.tuned:
            self._tuned.setdefault(tuned.target, {})[tuned.option_name] = tuned
        self._policies = {policy.target: policy for policy in contents.policies}
        self._pauses = {pause.target: pause for pause in contents.pauses}
        self._overrides: dict[_Key, Pinned] = {}
        for override in contents.overrides:
            self._overrides[_key(override)] = Pinned(override, self._ends(override))
        self._operations = deque(contents.operations, OPERATIONS_KEPT)
        self._operations_waiting: deque[Operation] = deque(maxlen=_OPERATIONS_WAITING)

    @classmethod
    async def open(cls, path: Path, *, run: str, clocks: Clocks) -> "Book":
        """Open the journal at `path`; one that cannot be opened or made now is read as far as that goes.

        Then nothing new is changed until `save` succeeds in opening it: at once when there is room again. One that
        cannot even be read waits for a restart, for nobody knows what must be in it. Raises JournalError when somebody
        else has it, or a newer adocd or another program wrote it.
        """
        journal = await Journal.open_or_wait(path, run=run, wall_clock=clocks.wall)
        contents: Contents | None = None
        if journal.is_open:
            contents = Contents(
                tuned=await journal.tuned(),
                policies=await journal.policies(),
                overrides=await journal.overrides(),
                pauses=await journal.pauses(),
                unreadable=0,
                operations=await journal.operations(),
            )
        else:
            _log.error("%s; nothing new is changed, and what was left tuned is restored", journal.problem)
            contents = await _readable(path)
        book = cls(path, journal, contents or _NOTHING, clocks)
        if contents is not None:
            journal.keep_in_mind(book._contents)
        return book

    @property
    def problem(self) -> str | None:
        """Why nothing new may be changed now, in one sentence; None when it may."""
        return None if self._journal is None else self._journal.problem

    @property
    def rescued(self) -> str | None:
        """What had to be done about a damaged journal the last time, in one sentence; None when there was none."""
        rescue = None if self._journal is None else self._journal.rescue
        return None if rescue is None else str(rescue)

    @property
    def path(self) -> Path:
        """Where the journal is, or was to be."""
        return self._path

    @property
    def lost_decisions(self) -> int:
        """How many decisions of this run will never be in the journal."""
        return 0 if self._journal is None else self._journal.lost_decisions

    async def close(self) -> None:
        """Write what waits, and close."""
        if self._journal is not None:
            if self._late is not None:
                await self._late.attempt()
            await self._journal.close()

    @property
    def unsaved(self) -> int:
        """How many words of operators and restores a restart would not know of yet."""
        return 0 if self._late is None else len(self._late)

    def save(self) -> None:
        """Look after the journal: mend it, try again to write what could not be, and else whether anything can be."""
        if self._late is None:
            return
        if self.problem is not None and not self._late:
            self._late.add(("probe",), Journal.try_writing)
        self._late.begin(look=True)

    # -- options that are tuned

    def left(self, target: str) -> Mapping[OptionName, Tuned]:
        """Say what of a target was tuned and not seen restored."""
        return self._tuned.get(target, {})

    async def intend(
        self, target: str, path: str, session: str, sent: Iterable[tuple[OptionName, str]], baseline: Values
    ) -> None:
        """Make the originals of what is about to be sent durable; raises JournalError, and then it must not be sent.

        Going back to an original needs no word: restores go on whatever the journal says.
        """
        left = self.left(target)
        intents = [
            Intent(option, baseline[option], value)
            for option, value in sent
            if baseline[option] != value and not (option in left and left[option].is_ours(value))
        ]
        if not intents:
            return
        journal = await self._writable()
        known = await journal.intend(target, intents, path=path, session=session, unix_s=self._clocks.wall())
        # Not a step later: a file that is mended is written from here.
        self._tuned[target] = {tuned.option_name: tuned for tuned in known}

    def forget(self, target: str, options: Iterable[OptionName]) -> None:
        """Forget options that have been seen with their originals, or are gone; written in the background."""
        known = self._tuned.get(target, {})
        for option in options:
            if known.pop(option, None) is not None:
                self._later(("tuned", target, option), functools.partial(_restored, target, option))

    def taken_over(self, target: str, option: OptionName, value: str) -> None:
        """Let the way back of an option lead to what somebody else has set since; written in the background."""
        known = self._tuned.get(target, {})
        if option in known:
            known[option] = replace(known[option], original=value)
            self._later(("tuned", target, option), lambda journal: journal.taken_over(target, option, value))

    # -- what operators set

    def policy_of(self, target: str) -> Policy | None:
        """Say which policy an operator has set for a target, or for all; None leaves it to the configuration.

        Raises PolicyNotUnderstood when another version of adocd wrote it.
        """
        found = self._policies.get(target) or self._policies.get(None)
        return None if found is None else found.policy()

    async def set_policy(self, target: str, path: str, policy: Policy, who: str) -> None:
        """Let a policy beat the configuration; raises JournalError."""
        journaled = JournaledPolicy.of(policy, target=target, path=path, who=who, unix_s=self._clocks.wall())
        await (await self._writable()).set_policy(journaled)
        self._policies[target] = journaled

    async def reset_policy(self, target: str) -> bool:
        """Leave it to the configuration again; whether there was a policy. Raises JournalError."""
        await (await self._writable()).reset_policy(target)
        return self._policies.pop(target, None) is not None

    def overrides_of(self, target: str | None) -> tuple[Pinned, ...]:
        """List the overrides of a target, or with None those for all alone.

        Later ones beat earlier ones: of all targets, then this one's; of all column families, then of one.
        """
        found = [p for p in self._overrides.values() if p.override.target in (None, target)]
        return tuple(sorted(found, key=_rank))

    @property
    def overrides(self) -> tuple[Override, ...]:
        """All overrides, of closed databases too."""
        return tuple(pinned.override for pinned in self._overrides.values())

    async def pin(self, override: Override) -> Pinned:
        """Pin an option; raises JournalError."""
        await (await self._writable()).add_override(override)
        pinned = Pinned(override, self._ends(override))
        self._overrides.pop(_key(override), None)  # the last word counts
        self._overrides[_key(override)] = pinned
        return pinned

    def unpin(self, target: str | None, option: str, column_family: str | None) -> bool:
        """Remove an override; whether there was one. Written in the background: going back never waits."""
        found = self._overrides.pop((target, option, column_family), None)
        if found is not None:
            self._later(
                ("override", target, option, column_family),
                lambda journal: journal.remove_override(target, option, column_family),
            )
        return found is not None

    def expire(self) -> tuple[Override, ...]:
        """Remove the overrides whose time has come, and return them."""
        now_s = self._clocks.monotonic()
        due = [
            p.override
            for p in self._overrides.values()
            if p.ends_monotonic_s is not None and p.ends_monotonic_s <= now_s
        ]
        for override in due:
            self.unpin(*_key(override))
        return tuple(due)

    def remaining_s(self, pinned: Pinned) -> float | None:
        """Say how long an override has to go."""
        ends_s = pinned.ends_monotonic_s
        return None if ends_s is None else max(0.0, ends_s - self._clocks.monotonic())

    def pause_of(self, target: str) -> Pause | None:
        """Say whether a target is paused or to be restored; its own word beats the one for all."""
        found = self._pauses.get(target) or self._pauses.get(None)
        return None if found is None or found.state == "resumed" else found

    def pause(self, pause: Pause) -> None:
        """Pause a target, or all whatever was said of each before; at once, and durable as soon as that is possible.

        What an operator has restored stays so: a mere pause, which lets pins act, takes nothing of that back.
        """
        restored = {target for target, known in self._pauses.items() if known.state == "restored"}
        if pause.state == "paused" and restored & {pause.target, None}:
            return
        if pause.target is None:
            self._clear_pauses(but=restored if pause.state == "paused" else set())
        self._pauses[pause.target] = pause
        self._later(("pause", pause.target), lambda journal: journal.pause(pause))

    def resume(self, target: str | None, path: str | None, who: str) -> bool:
        """Let a target, or all, be changed again; whether it was paused."""
        was_paused = self._pauses.get(None) is not None if target is None else self.pause_of(target) is not None
        if target is None:
            was_paused = bool(self._pauses)
            self._clear_pauses()
        elif None in self._pauses:
            self.pause(Pause(target, path, "resumed", "resumed", who, self._clocks.wall()))
        elif self._pauses.pop(target, None) is not None:
            self._later(("pause", target), functools.partial(_resume, target))
        return was_paused

    # -- the audit trail

    def operated(
        self, what: What, who: str, sentence: str, *, target: str | None = None, path: str | None = None
    ) -> Operation:
        """Take down what somebody did; written in the background. See daemon.audit, which also tells it."""
        number = self._operations[-1].id + 1 if self._operations else 1
        operation = Operation(number, self._clocks.wall(), who, what, target, path, sentence)
        self._operations.append(operation)
        self._operations_waiting.append(operation)
        self._later(("operations",), self._write_operations)
        return operation

    async def _write_operations(self, journal: Journal) -> None:
        """Write all that wait at once: a commit each would keep operators waiting after a long time of a full disk."""
        batch = tuple(self._operations_waiting)
        await journal.operated(batch)
        written = {operation.id for operation in batch}
        left = [operation for operation in self._operations_waiting if operation.id not in written]
        self._operations_waiting = deque(left, _OPERATIONS_WAITING)

    @property
    def operations(self) -> Sequence[Operation]:
        """The audit trail, oldest first, that of former runs of the daemon too."""
        return self._operations

    # -- decisions

    def decided(self, target: str, record: DecisionRecord, *, path: str) -> None:
        """Take in a decision, or its outcome; never fails, never waits."""
        if self._journal is not None:
            self._journal.decided(target, record, path=path)

    async def decisions(self, target: str, newest: int) -> tuple[JournaledDecision, ...]:
        """Read the newest decisions of a target, those of former runs of the daemon too; raises JournalError."""
        if self._journal is None or not self._journal.is_open:
            return ()
        return await self._journal.decisions(target, newest)

    # -- in here

    async def _writable(self) -> Journal:
        """Give the journal once all that was said before is in it; raises JournalError."""
        if self._journal is None or self._late is None:
            raise JournalUnopenable("there is no journal")
        await self._late.settle()
        return self._journal

    def _contents(self) -> Contents:
        """Say what must be in the journal."""
        return Contents(
            tuned=tuple(tuned for of_target in self._tuned.values() for tuned in of_target.values()),
            policies=tuple(self._policies.values()),
            overrides=self.overrides,
            pauses=tuple(self._pauses.values()),
            unreadable=0,
            operations=tuple(self._operations),
        )

    def _ends(self, override: Override) -> float | None:
        if override.expires_unix_s is None:
            return None
        # From here on the wall clock has no say: an operator's hour is an hour when somebody sets the clock.
        return self._clocks.monotonic() + override.expires_unix_s - self._clocks.wall()

    def _clear_pauses(self, but: Set[str | None] = frozenset()) -> None:
        for target in self._pauses.keys() - but:
            del self._pauses[target]
            self._later(("pause", target), functools.partial(_resume, target))

    def _later(self, about: tuple[object, ...], write: Write) -> None:
        if self._late is not None:
            self._late.add(about, write)


def _restored(target: str, option: OptionName, journal: Journal) -> Coroutine[Any, Any, object]:
    return journal.restored(target, [option])


def _resume(target: str | None, journal: Journal) -> Coroutine[Any, Any, object]:
    return journal.resume(target)


def _rank(pinned: Pinned) -> tuple[bool, bool]:
    return pinned.override.target is not None, pinned.override.column_family is not None


def _key(override: Override) -> _Key:
    return override.target, override.option, override.column_family


async def _readable(path: Path) -> Contents | None:
    """Read a journal that cannot be opened; None when there is one that cannot be read either."""
    try:
        return await read_only(path)
    except JournalUnopenable:
        try:
            os.lstat(path)
        except FileNotFoundError:
            return _NOTHING
        except OSError:
            pass
        return None


_NOTHING = Contents(tuned=(), policies=(), overrides=(), pauses=(), unreadable=0)
