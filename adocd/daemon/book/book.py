"""The state that must outlive the daemon: in memory for the loops to read, and durable in the journal.

This process is the journal's only writer, so the memory always matches the file; if somebody else has changed the file,
the memory is right. Loops never wait for the file: it may be on the very disk whose stalls they manage.
"""

import asyncio
import contextlib
import functools
import logging
import os
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from adocd.daemon.book.journal import rescue
from adocd.daemon.book.journal.content import OPERATIONS_KEPT
from adocd.daemon.book.journal.errors import JournalError, JournalUnopenable, JournalUnwritable
from adocd.daemon.book.journal.journal import Journal, read_only
from adocd.daemon.book.journal.late import LateWrites, Write
from adocd.daemon.book.journal.records import (
    Intent,
    JournaledDecision,
    JournaledPolicy,
    Operation,
    Override,
    Tuned,
    What,
)
from adocd.daemon.book.journal.rescue import Contents
from adocd.daemon.book.kept import KeptTarget, kept
from adocd.daemon.book.pauses import Pauses
from adocd.model.decision_record import DecisionRecord
from adocd.model.policy import Policy
from adocd.model.values import OptionName, Values

_log = logging.getLogger(__name__)
#: Most audit entries that wait for a journal that cannot be written; beyond that the oldest are lost.
_OPERATIONS_WAITING = 1000
#: A change waits no longer than this for the journal, and neither does a daemon that stops: guards and operators wait,
#: too, as long as a change is in flight.
ANSWERS_WITHIN_S = 5.0
#: An operator whose request is in force waits no longer than this to be told that it is durable.
_TOLD_WITHIN_S = 1.0
#: A wall clock that is off by more than this was set; less is a leap second, or the time between two readings.
_WALL_CLOCK_OFF_S = 2.0
_Key = tuple[str | None, str, str | None]


@dataclass(frozen=True, slots=True)
class Clocks:
    """`monotonic` in seconds, `wall` in seconds since the epoch."""

    monotonic: Callable[[], float]
    wall: Callable[[], float]


@dataclass(frozen=True, slots=True)
class Pinned:
    """An override and when it expires, by the monotonic clock; None: it stays until removed."""

    override: Override
    ends_monotonic_s: float | None


class Book:
    """Originals, policies, overrides, pauses and decisions of all targets."""

    def __init__(self, path: Path, journal: Journal | None, contents: Contents, clocks: Clocks) -> None:
        """Create a book; use `open`, except for a simulation, which has no journal."""
        self._path = path
        self._journal = journal
        self._clocks = clocks
        self._late = None if journal is None else LateWrites(journal, clocks.monotonic)
        self._tuned: dict[str, dict[OptionName, Tuned]] = {}
        for tuned in contents.tuned:
            self._tuned.setdefault(tuned.target, {})[tuned.option_name] = tuned
        #: Per target, what is still to be written of its tuned options: new originals, and None for those restored.
        self._settled: dict[str, dict[OptionName, str | None]] = {}
        self._policies = {policy.target: policy for policy in contents.policies}
        #: Targets whose policy was set since the book was opened.
        self._policies_set: set[str | None] = set()
        #: Who is paused or to be restored.
        self.pauses = Pauses(contents.pauses, self._later, clocks.wall)
        self._overrides: dict[_Key, Pinned] = {}
        for override in contents.overrides:
            self._overrides[_key(override)] = Pinned(override, self._ends(override))
        self._operations = deque(contents.operations, OPERATIONS_KEPT)
        self._operations_waiting: deque[Operation] = deque(maxlen=_OPERATIONS_WAITING)
        #: The intents that the journal has not answered in time. They are still written if it ever answers.
        self._overdue: set[asyncio.Task[None]] = set()

    @classmethod
    async def open(cls, path: Path, *, run: str, clocks: Clocks) -> "Book":
        """Open the journal at `path`; if it cannot be opened or created now, read what can be read of it.

        Then nothing new is changed until `save` can open it, for example once the disk has room again. A journal that
        cannot even be read needs a restart, because its content is unknown. Raises JournalError when another process
        has it open, or a newer adocd or another program wrote it.
        """
        journal = await Journal.open_or_wait(path, run=run, wall_clock=clocks.wall)
        contents, is_there = Contents(), True
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
            is_there = await asyncio.to_thread(_is_there, path)
            found = await _readable(path) if is_there else contents
            if found is None:
                return cls(path, journal, contents, clocks)
            contents = found
        book = cls(path, journal, contents, clocks)
        journal.keep_in_mind(book._contents, began_without_file=not is_there)
        book._follow_wall_clock()
        return book

    @property
    def problem(self) -> str | None:
        """Why nothing new may be changed now, in one sentence; None if changes are allowed."""
        if self._is_overdue:
            return f"the journal {self._path} has not answered for {ANSWERS_WITHIN_S:g} s"
        return None if self._journal is None else self._journal.problem

    @property
    def _is_overdue(self) -> bool:
        return bool(self._overdue) or (self._late is not None and self._late.unanswered_s > ANSWERS_WITHIN_S)

    @property
    def rescued(self) -> str | None:
        """How the last damaged journal was repaired, in one sentence; None if none was damaged."""
        rescue = None if self._journal is None else self._journal.rescue
        return None if rescue is None else str(rescue)

    @property
    def path(self) -> Path:
        """The journal's path, whether or not it could be opened."""
        return self._path

    @property
    def lost_decisions(self) -> int:
        """Number of this run's decisions that will never be in the journal."""
        return 0 if self._journal is None else self._journal.lost_decisions

    async def close(self) -> None:
        """Write the pending entries, and close; a journal that does not answer is left as it is."""
        if self._journal is None or self._late is None:
            return
        try:
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                await self._late.attempt()
                await self._journal.close()
        except TimeoutError:
            _log.error("the journal %s does not answer: what was still to be written may be lost", self._path)

    @property
    def unsaved(self) -> int:
        """Number of operators' requests and restores that a restart would lose now."""
        return 0 if self._late is None else len(self._late)

    async def not_durable(self) -> str | None:
        """Why a restart would lose something that operators asked for, in one sentence; None once all is written.

        Waits for the journal, but not for long: what was asked for is in force already.
        """
        if self._late is None or not self._late:
            return None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_TOLD_WITHIN_S):
                await self._late.attempt()
        return (self.problem or f"the journal {self._path} has not answered yet") if self._late else None

    def save(self) -> None:
        """Maintain the journal: repair it, retry failed writes, and if there are none, test whether it is writable."""
        if self._late is None:
            return
        if self.problem is not None and not self._late:
            self._late.add(("probe",), Journal.try_writing)
        self._late.begin(look=True)

    # -- options that are tuned

    def left(self, target: str) -> Mapping[OptionName, Tuned]:
        """Return a target's options that were changed and not seen restored."""
        return self._tuned.get(target, {})

    def due_at(self, path: str) -> Mapping[str, Mapping[OptionName, Tuned]]:
        """Return what is left tuned of each database that has, or had, this path, by target."""
        return {
            target: left for target, left in self._tuned.items() if any(tuned.path == path for tuned in left.values())
        }

    async def intend(
        self, target: str, path: str, session: str, sent: Iterable[tuple[OptionName, str]], baseline: Values
    ) -> None:
        """Make the originals of an imminent change durable; if this raises JournalError, the change must not be sent.

        Restoring an original needs no entry: restores go on whatever the state of the journal.
        """
        left = self.left(target)
        intents = [Intent(option, baseline[option], value) for option, value in sent if baseline[option] != value]
        if all(intent.option in left and left[intent.option].is_newest(intent.value) for intent in intents):
            return
        # A task of its own: what SQLite has begun cannot be cancelled, and memory must then match the file.
        writing = asyncio.create_task(self._write_intents(target, path, session, intents), name="journal")
        writing.add_done_callback(self._answered)
        await asyncio.wait({writing}, timeout=ANSWERS_WITHIN_S)
        if not writing.done():
            self._overdue.add(writing)
            _log.warning("%s; adocd changes nothing new until it does, but restores continue", self.problem)
            raise JournalUnwritable(self.problem)
        writing.result()

    def forget(self, target: str, options: Iterable[OptionName]) -> None:
        """Delete options that have been seen restored, or are gone; written in the background."""
        known = self._tuned.get(target, {})
        self._settle(target, {option: None for option in options if known.pop(option, None) is not None})

    def taken_over(self, target: str, option: OptionName, value: str) -> None:
        """Make the value that somebody else has set an option's original; written in the background."""
        known = self._tuned.get(target, {})
        if option in known:
            known[option] = replace(known[option], original=value)
            self._settle(target, {option: value})

    def _settle(self, target: str, originals: Mapping[OptionName, str | None]) -> None:
        if originals and self._late is not None:
            self._settled.setdefault(target, {}).update(originals)
            self._later(("tuned", target), functools.partial(self._write_settled, target))

    async def _write_settled(self, target: str, journal: Journal) -> None:
        """Write what became of a target's options in one commit; one each would keep the changes of others waiting."""
        batch = dict(self._settled.get(target, {}))
        await journal.settled(target, batch)
        # What came meanwhile is written next.
        waiting = self._settled.pop(target, {}).items() - batch.items()
        if waiting:
            self._settled[target] = dict(waiting)

    # -- what operators set

    def policy_of(self, target: str) -> Policy | None:
        """Return the policy that an operator has set for a target, or for all; None: the configuration's applies.

        Raises PolicyNotUnderstood when another version of adocd wrote it.
        """
        found = self._policies.get(target) or self._policies.get(None)
        return None if found is None else found.policy()

    def is_policy_new(self, target: str) -> bool:
        """Whether the policy that is set for a target was set since this daemon opened the book."""
        return target in self._policies_set & self._policies.keys()

    async def set_policy(self, target: str, path: str, policy: Policy, who: str) -> None:
        """Set a policy that overrides the configuration; raises JournalError."""
        await self.set_policies({target: path}, policy, who)

    async def set_policies(self, paths: Mapping[str, str], policy: Policy, who: str) -> None:
        """Set the same policy for several targets, given by id and path, all or none; raises JournalError."""
        unix_s = self._clocks.wall()
        journaled = [
            JournaledPolicy.of(policy, target=target, path=path, who=who, unix_s=unix_s)
            for target, path in paths.items()
        ]
        await (await self._answering()).set_policy(*journaled)
        for each in journaled:
            self._policies[each.target] = each
            self._policies_set.add(each.target)

    async def reset_policy(self, target: str) -> bool:
        """Return to the configuration's policy; returns whether another was set. Raises JournalError."""
        return bool(await self.reset_policies([target]))

    async def reset_policies(self, targets: Iterable[str]) -> tuple[str, ...]:
        """Return several targets to the configuration's policy, all or none; returns those that had another.

        Raises JournalError.
        """
        targets = tuple(targets)
        await (await self._answering()).reset_policy(*targets)
        return tuple(target for target in targets if self._policies.pop(target, None) is not None)

    def overrides_of(self, target: str | None) -> tuple[Pinned, ...]:
        """Return the overrides that apply to a target; with None, only those set for all targets.

        Later ones take precedence: first those for all targets, then this target's; among each, first those for all
        column families, then those for one.
        """
        found = [p for p in self._overrides.values() if p.override.target in (None, target)]
        return tuple(sorted(found, key=_rank))

    @property
    def overrides(self) -> tuple[Override, ...]:
        """All overrides, including those of closed databases."""
        return tuple(pinned.override for pinned in self._overrides.values())

    async def pin(self, override: Override) -> Pinned:
        """Pin an option; raises JournalError."""
        journal = await self._answering()
        key, pinned = _key(override), Pinned(override, self._ends(override))
        await journal.add_override(override)
        self._overrides.pop(key, None)  # the newest one goes last
        self._overrides[key] = pinned
        if self._is_waiting("override", *key):
            await self._write_again(override)
        return pinned

    async def _write_again(self, override: Override) -> None:
        """Write a pin behind what is still to be written of an older one, which has expired or was removed meanwhile.

        It is in force, so that a journal that cannot be written any more is no error: it is retried.
        """
        self._put_override(override)
        with contextlib.suppress(JournalError):
            await self._writable()

    def unpin(self, target: str | None, option: str, column_family: str | None) -> bool:
        """Remove an override; returns whether there was one. Written in the background: a restore never waits."""
        found = self._overrides.pop((target, option, column_family), None)
        if found is not None:
            self._later(
                ("override", target, option, column_family),
                lambda journal: journal.remove_override(target, option, column_family),
            )
        return found is not None

    def expire(self) -> tuple[Override, ...]:
        """Remove the expired overrides, and return them."""
        now_s = self._clocks.monotonic()
        due = [
            p.override
            for p in self._overrides.values()
            if p.ends_monotonic_s is not None and p.ends_monotonic_s <= now_s
        ]
        for override in due:
            self.unpin(*_key(override))
        self._follow_wall_clock()
        return tuple(due)

    def _follow_wall_clock(self) -> None:
        """Enter when the overrides expire anew if somebody has set the wall clock, or the machine was suspended.

        Otherwise, after it was set back, each restart would give them their whole time again. One that was entered in
        what is now the future counts as entered now.
        """
        wall_s, monotonic_s = self._clocks.wall(), self._clocks.monotonic()
        for key, pinned in self._overrides.items():
            override, ends_s = pinned.override, pinned.ends_monotonic_s
            if ends_s is None or override.expires_unix_s is None:
                continue
            ends_unix_s = wall_s + ends_s - monotonic_s
            if abs(override.expires_unix_s - ends_unix_s) > _WALL_CLOCK_OFF_S:
                anew = replace(override, unix_s=min(override.unix_s, wall_s), expires_unix_s=ends_unix_s)
                self._overrides[key] = replace(pinned, override=anew)
                self._put_override(anew)

    def _put_override(self, override: Override) -> None:
        self._later(("override", *_key(override)), lambda journal: journal.add_override(override))

    def remaining_s(self, pinned: Pinned) -> float | None:
        """Return in how many seconds an override expires; None if it does not."""
        ends_s = pinned.ends_monotonic_s
        return None if ends_s is None else max(0.0, ends_s - self._clocks.monotonic())

    # -- closed databases

    @property
    def kept(self) -> Mapping[str, KeptTarget]:
        """What is kept of each target, open or closed, by its id."""
        return kept(self._contents())

    async def forget_target(self, target: str) -> None:
        """Forget a closed target's policy, pins, pause and decisions, not its originals; raises JournalError."""
        pause = self.pauses.entry(target)
        await (await self._answering()).forget(target)
        self._policies.pop(target, None)
        # A pause that was entered meanwhile stays, and may have been deleted from the file.
        self.pauses.forgotten(target, pause)
        for key in [key for key in self._overrides if key[0] == target]:
            self.unpin(*key)  # also from the file, where a pin may have been written anew meanwhile

    # -- the audit trail

    def operated(
        self, what: What, who: str, sentence: str, *, target: str | None = None, path: str | None = None
    ) -> Operation:
        """Record what somebody did; written in the background. Use `book.audit`, which also publishes an event."""
        number = self._operations[-1].id + 1 if self._operations else 1
        operation = Operation(number, self._clocks.wall(), who, what, target, path, sentence)
        self._operations.append(operation)
        self._operations_waiting.append(operation)
        self._later(("operations",), self._write_operations)
        return operation

    async def _write_operations(self, journal: Journal) -> None:
        """Write all pending entries in one commit; one each would keep operators waiting after the disk was full."""
        batch = tuple(self._operations_waiting)
        await journal.operated(batch)
        written = {operation.id for operation in batch}
        left = [operation for operation in self._operations_waiting if operation.id not in written]
        self._operations_waiting = deque(left, _OPERATIONS_WAITING)

    @property
    def operations(self) -> Sequence[Operation]:
        """The audit trail, oldest first, including former runs of the daemon."""
        return self._operations

    # -- decisions

    def decided(self, target: str, record: DecisionRecord, *, path: str) -> None:
        """Record a decision, or its outcome; never fails, never waits."""
        if self._journal is not None:
            self._journal.decided(target, record, path=path)

    async def decisions(self, target: str, newest: int) -> tuple[JournaledDecision, ...]:
        """Return a target's newest decisions, including former runs of the daemon; raises JournalError."""
        if self._journal is None or not self._journal.is_open:
            raise JournalUnopenable(self.problem or "there is no journal")
        return await self._journal.decisions(target, newest)

    # -- in here

    async def _writable(self) -> Journal:
        """Return the journal once all pending entries are in it; raises JournalError."""
        if self._journal is None or self._late is None:
            raise JournalUnopenable("there is no journal")
        if self._is_overdue:
            raise JournalUnwritable(self.problem)
        await self._late.settle()
        return self._journal

    async def _answering(self) -> Journal:
        """Like `_writable`, for an operator's request: it is refused if the journal does not answer in time.

        Others wait behind it, and one that was written an hour later would no longer be what its operator wants.
        """
        try:
            async with asyncio.timeout(ANSWERS_WITHIN_S):
                journal = await self._writable()
                await journal.look()
        except TimeoutError:
            raise JournalUnwritable(f"the journal {self._path} has not answered for {ANSWERS_WITHIN_S:g} s") from None
        return journal

    async def _write_intents(self, target: str, path: str, session: str, intents: Sequence[Intent]) -> None:
        while True:
            journal = await self._writable()
            known = await journal.intend(target, intents, path=path, session=session, unix_s=self._clocks.wall())
            written = {tuned.option_name: tuned for tuned in known}
            # What was forgotten or taken over meanwhile is so in memory, and in the file only after these intents.
            waiting = self._settled.get(target, {}) if self._is_waiting("tuned", target) else {}
            touched = written.keys() & waiting.keys()
            now = {option: tuned for option, tuned in self.left(target).items() if option in touched}
            # At once, because a repaired file is written from this memory.
            self._tuned[target] = {option: tuned for option, tuned in written.items() if option not in touched} | now
            if not touched:
                return

    def _answered(self, writing: asyncio.Task[None]) -> None:
        self._overdue.discard(writing)
        if not writing.cancelled():
            writing.exception()  # nobody may wait for it any more

    def _contents(self) -> Contents:
        """Return everything that must be in the journal."""
        return Contents(
            tuned=tuple(tuned for of_target in self._tuned.values() for tuned in of_target.values()),
            policies=tuple(self._policies.values()),
            overrides=self.overrides,
            pauses=self.pauses.entries,
            unreadable=0,
            operations=tuple(self._operations),
        )

    def _ends(self, override: Override) -> float | None:
        if override.expires_unix_s is None:
            return None
        # From here on the monotonic clock counts, so that an hour stays an hour when somebody sets the wall clock.
        # A wall clock that is behind after a restart must not make the hour longer.
        now_s = max(self._clocks.wall(), override.unix_s)
        return self._clocks.monotonic() + override.expires_unix_s - now_s

    def _is_waiting(self, *about: object) -> bool:
        return self._late is not None and about in self._late

    def _later(self, about: tuple[object, ...], write: Write) -> None:
        if self._late is not None:
            self._late.add(about, write)


def _rank(pinned: Pinned) -> tuple[bool, bool]:
    return pinned.override.target is not None, pinned.override.column_family is not None


def _key(override: Override) -> _Key:
    return override.target, override.option, override.column_family


def _is_there(path: Path) -> bool:
    """Whether there may be a journal: only a path that is surely empty has none."""
    try:
        os.lstat(rescue.newest(path))
    except FileNotFoundError:
        return False
    except OSError:
        pass
    return True


async def _readable(path: Path) -> Contents | None:
    """Read a journal that cannot be opened; None if it cannot be read either."""
    try:
        return await read_only(path)
    except JournalUnopenable:
        return None
