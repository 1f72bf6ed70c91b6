"""The journal as the daemon uses it: nothing here blocks the event loop."""

import asyncio
from collections.abc import Callable, Iterable
from pathlib import Path

from adocd.daemon.book.journal import content, rescue
from adocd.daemon.book.journal.batching import DecisionWriter, Limits
from adocd.daemon.book.journal.documents import OVERRIDES, PAUSES, POLICIES, TUNED
from adocd.daemon.book.journal.errors import JournalError, JournalUnopenable, JournalUnwritable
from adocd.daemon.book.journal.records import (
    Intent,
    JournaledDecision,
    JournaledPolicy,
    Operation,
    Override,
    Pause,
    Tuned,
)
from adocd.daemon.book.journal.rescue import Contents, Rescue
from adocd.daemon.book.journal.worker import Worker
from adocd.model.decision_record import DecisionRecord
from adocd.model.values import OptionName


async def read_only(path: Path) -> Contents:
    """Read a journal that cannot be opened, to restore from it: on a read-only file system, say.

    Damaged rows are left out. Never for a journal that this process has open, whose locks it would drop
    (sqlite.org/howtocorrupt.html, 2.2). Raises JournalUnopenable.
    """
    return await asyncio.to_thread(rescue.read, path)


class Journal:
    """One SQLite file, one thread that reads and writes it, and the decisions on their way to it.

    Every awaited write returns after its commit: it survives a crash, also of the machine. A write that fails raises
    JournalUnwritable (JournalFull) and leaves everything as it was; a later one may succeed. So the daemon changes
    nothing that it could not announce by `intend`, and restores whatever the journal says about that. Reading works
    while the disk is full.

    Somebody else can be at the file while it is open. Each write looks, and so does `look`; then it is set aside, and a
    new one begins with what the owner remembers (`keep_in_mind`). Until that is said, and for a while after the last
    time, writes raise JournalTampered, and JournalDamaged when the content turns out to be broken.
    """

    def __init__(self, path: Path, run: str, limits: Limits, wall_clock: Callable[[], float]) -> None:
        """For `open` and `open_or_wait`."""
        self.path = path
        self._run = run
        self._worker = Worker(path, wall_clock, limits.mend_period_s)
        self._decisions = DecisionWriter(self._worker, limits)

    @classmethod
    async def open(
        cls, path: Path, *, run: str, wall_clock: Callable[[], float], limits: Limits | None = None
    ) -> "Journal":
        """Open or begin the journal at `path`; its directory is made where it is missing.

        `run` names this process among all that ever write here (the holder of its leases). `wall_clock` (seconds
        since the epoch) is only asked for the name of a damaged file. Raises JournalError.
        """
        journal = cls(path, run, limits or Limits(), wall_clock)
        try:
            await journal._worker.open()
        except JournalError:
            await journal._worker.close()
            raise
        return journal

    @classmethod
    async def open_or_wait(cls, path: Path, *, run: str, wall_clock: Callable[[], float]) -> "Journal":
        """As `open`; one that cannot be opened or made now, `is_open` says, has a `problem`, and is tried again later.

        Raises JournalError where waiting helps nobody.
        """
        journal = cls(path, run, Limits(), wall_clock)
        try:
            await journal._worker.open()
        except (JournalUnopenable, JournalUnwritable):
            pass
        except JournalError:
            await journal._worker.close()
            raise
        return journal

    def keep_in_mind(self, remembered: Callable[[], Contents]) -> None:
        """Say what must be in the file whatever becomes of it; asked in the event loop when that is to be written."""
        self._worker.remembered = remembered

    @property
    def is_open(self) -> bool:
        """Whether there is a file to write to."""
        return self._worker.is_open

    @property
    def rescue(self) -> Rescue | None:
        """What had to be done about a damaged file the last time; None when there was none."""
        return self._worker.rescue

    async def look(self) -> None:
        """See whether the file is as it was left, and mend what is not; raises JournalError."""
        await self._worker.look()

    @property
    def problem(self) -> str | None:
        """Why the last write failed, in one sentence; None when it did not."""
        return self._worker.problem

    async def close(self) -> None:
        """Write the decisions that wait, and close; never raises for a disk that is full or broken."""
        if self._worker.is_open:
            await self._decisions.close()
        await self._worker.close()

    async def try_writing(self) -> None:
        """Write something and take it back, to see whether that works again; raises JournalError."""
        await self._worker.write(content.probe)

    # -- tuned options

    async def intend(
        self, target: str, intents: Iterable[Intent], *, path: str | None, session: str, unix_s: float
    ) -> tuple[Tuned, ...]:
        """Announce changes before they are sent: each option's original, and the value that is about to be sent.

        The original counts only for an option that is not tuned already; the oldest stays until `restored`. Raises
        JournalError; then the changes must not be sent. Returns all that is tuned of this target then.
        """
        return await self._worker.write(content.intend, target, path, session, tuple(intents), unix_s)

    async def taken_over(self, target: str, option: OptionName, value: str) -> None:
        """Let the original of a tuned option be another one: somebody else has set it since."""
        await self._worker.write(content.taken_over, target, option, value)

    async def restored(self, target: str, options: Iterable[OptionName]) -> int:
        """Forget options that have been seen with their originals, or are gone; returns how many were tuned."""
        return await self._worker.write(content.restored, target, tuple(options))

    async def tuned(self, target: str | None = None) -> tuple[Tuned, ...]:
        """Read what is tuned, of one target or of all, in the order in which it was first changed."""
        return await self._worker.read(TUNED.all, target)

    async def forget(self, target: str) -> int:
        """Forget a database that is gone for good: all but its decisions. Returns how many documents there were."""
        return await self._worker.write(content.forget, target)

    # -- what operators set

    async def set_policy(self, policy: JournaledPolicy) -> None:
        """Let a policy beat the configuration file, for one target or for all."""
        await self._worker.write(content.put, POLICIES, policy)

    async def reset_policy(self, target: str | None) -> bool:
        """Let the configuration file decide again; whether there was a policy."""
        return await self._worker.write(POLICIES.delete, target)

    async def policies(self) -> tuple[JournaledPolicy, ...]:
        """Read the policies of all targets, and the one for all."""
        return await self._worker.read(POLICIES.all)

    async def add_override(self, override: Override) -> None:
        """Pin an option; replaces the pin of the same option of the same column family and target."""
        await self._worker.write(content.put, OVERRIDES, override)

    async def remove_override(self, target: str | None, option: str, column_family: str | None) -> bool:
        """Unpin an option; whether it was pinned."""
        return await self._worker.write(OVERRIDES.delete, target, option, column_family)

    async def overrides(self) -> tuple[Override, ...]:
        """Read all overrides, also those whose time has come and that `expire` has not removed yet."""
        return await self._worker.read(OVERRIDES.all)

    async def expire(self, now_unix_s: float) -> tuple[Override, ...]:
        """Remove the overrides whose time has come, and return them; writes nothing when there are none."""
        if all(o.expires_unix_s is None or o.expires_unix_s > now_unix_s for o in await self.overrides()):
            return ()
        return await self._worker.write(content.expire, now_unix_s)

    async def pause(self, pause: Pause) -> None:
        """Remember that a target, or all, is to be left alone."""
        await self._worker.write(content.put, PAUSES, pause)

    async def resume(self, target: str | None) -> bool:
        """Forget a pause; whether there was one."""
        return await self._worker.write(PAUSES.delete, target)

    async def pauses(self) -> tuple[Pause, ...]:
        """Read all pauses."""
        return await self._worker.read(PAUSES.all)

    # -- the audit trail

    async def operated(self, operations: Iterable[Operation]) -> None:
        """Remember what somebody did; the newest `content.OPERATIONS_KEPT` stay."""
        await self._worker.write(content.put_operations, tuple(operations), content.OPERATIONS_KEPT)

    async def operations(self) -> tuple[Operation, ...]:
        """Read the audit trail, oldest first."""
        return await self._worker.read(content.operations)

    # -- decisions

    @property
    def lost_decisions(self) -> int:
        """How many decisions never became durable: too many while the journal could not be written."""
        return self._decisions.buffer.lost

    @property
    def waiting_decisions(self) -> int:
        """How many decisions are not durable yet."""
        return len(self._decisions.buffer)

    def decided(self, target: str, record: DecisionRecord, *, path: str | None) -> None:
        """Take in a decision, or its outcome (same sequence and time); durable with the next batch. Never fails."""
        self._decisions.add(JournaledDecision.of(record, target=target, path=path, run=self._run))

    async def flush(self) -> None:
        """Write the decisions that wait, now; raises JournalError, and keeps them unless the journal is damaged."""
        await self._decisions.flush()

    async def decisions(self, target: str | None = None, newest: int = 100) -> tuple[JournaledDecision, ...]:
        """Read the newest decisions, the oldest of them first, of one target or all; those that wait included.

        Those of closed databases and of former runs of the daemon are there, too.
        """
        return await self._decisions.newest(target, newest)
