"""The daemon's interface to the journal; nothing here blocks the event loop."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
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
    """Read a journal that cannot be opened, for example on a read-only file system, to restore from it.

    Damaged rows are left out. Never use it on a journal that this process has open: it would drop SQLite's locks
    (sqlite.org/howtocorrupt.html, 2.2). Raises JournalUnopenable.
    """
    return await asyncio.to_thread(lambda: rescue.read(rescue.newest(path)))


class Journal:
    """One SQLite file, the thread that reads and writes it, and the decisions pending for it.

    An awaited write returns after its commit, and so survives a crash, even of the machine. A write that fails raises
    JournalUnwritable (JournalFull) and changes nothing; a later one may succeed. So the daemon makes no change that it
    could not announce by `intend`, but restores even if it cannot write. Reading works while the disk is full.

    Somebody else may change the file while it is open. Each write, and `look`, checks for that; the file is then set
    aside, and a new one is filled with what the owner holds in memory (`keep_in_mind`). Before `keep_in_mind` is
    called, and for a while after a repair, writes raise JournalTampered instead, or JournalDamaged if the content is
    broken.
    """

    def __init__(self, path: Path, run: str, limits: Limits, wall_clock: Callable[[], float]) -> None:
        """Create an unopened journal; use `open` or `open_or_wait`."""
        self.path = path
        self._run = run
        self._worker = Worker(path, wall_clock, limits.mend_period_s)
        self._decisions = DecisionWriter(self._worker, limits)

    @classmethod
    async def open(
        cls, path: Path, *, run: str, wall_clock: Callable[[], float], limits: Limits | None = None
    ) -> "Journal":
        """Open or create the journal at `path`, and its directory if missing.

        `run` is unique to this process (the holder of its leases). `wall_clock` (seconds since the epoch) is used only
        to name a damaged file. Raises JournalError.
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
        """Like `open`, but a journal that cannot be opened or created now is returned closed, to be tried again later.

        Then `is_open` is False and `problem` says why. Raises JournalError if waiting would not help.
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

    def keep_in_mind(self, remembered: Callable[[], Contents], *, began_without_file: bool = False) -> None:
        """Set the function that returns the content for a repaired file; it is called in the event loop.

        With `began_without_file`, a journal that appears later, for example with a disk that is mounted late, is left
        as it is if there is anything in it.
        """
        self._worker.remembered = remembered
        self._worker.began_without_file = began_without_file

    @property
    def is_open(self) -> bool:
        """Whether there is a file to write to."""
        return self._worker.is_open

    @property
    def rescue(self) -> Rescue | None:
        """How the last damaged file was repaired; None if none was damaged."""
        return self._worker.rescue

    async def look(self) -> None:
        """Check whether somebody else has changed the file, and repair it if so; raises JournalError."""
        await self._worker.look()

    @property
    def problem(self) -> str | None:
        """Why the last write failed, in one sentence; None if it succeeded."""
        return self._worker.problem

    async def close(self) -> None:
        """Write the pending decisions, and close; a full or broken disk raises nothing."""
        if self._worker.is_open:
            await self._decisions.close()
        await self._worker.close()

    async def try_writing(self) -> None:
        """Write and delete a row, to test whether writing works again; raises JournalError."""
        await self._worker.write(content.probe)

    # -- tuned options

    async def intend(
        self, target: str, intents: Iterable[Intent], *, path: str | None, session: str, unix_s: float
    ) -> tuple[Tuned, ...]:
        """Announce changes before they are sent: each option's original and new value.

        An option already recorded keeps its oldest original until `settled`. If this raises JournalError, the changes
        must not be sent. Returns all recorded options of this target.
        """
        return await self._worker.write(content.intend, target, path, session, tuple(intents), unix_s)

    async def settled(self, target: str, originals: Mapping[OptionName, str | None]) -> int:
        """Note what became of changed options, in one commit; returns how many of them were recorded.

        None: it has been seen restored, or is gone. A value: somebody else has set it since, so it is the original now.
        """
        return await self._worker.write(content.settled, target, dict(originals))

    async def tuned(self, target: str | None = None) -> tuple[Tuned, ...]:
        """Return the changed options of one target or of all, in the order in which they were first changed."""
        return await self._worker.read(TUNED.all, target)

    async def forget(self, target: str) -> int:
        """Delete everything of a closed database, but its originals; returns the number of documents deleted."""
        await self.flush()  # decisions that wait would be written afterwards
        return await self._worker.write(content.forget, target)

    # -- what operators set

    async def set_policy(self, *policies: JournaledPolicy) -> None:
        """Set policies that override the configuration file, each for one target or for all, in one commit."""
        await self._worker.write(content.put_all, POLICIES, policies)

    async def reset_policy(self, *targets: str | None) -> int:
        """Return to the configuration file's policy, in one commit; returns for how many targets another was set."""
        return await self._worker.write(content.delete_all, POLICIES, tuple((target,) for target in targets))

    async def policies(self) -> tuple[JournaledPolicy, ...]:
        """Return the policies of single targets, and the one for all."""
        return await self._worker.read(POLICIES.all)

    async def add_override(self, override: Override) -> None:
        """Pin an option; replaces the pin of the same option of the same column family and target."""
        await self._worker.write(content.put, OVERRIDES, override)

    async def remove_override(self, target: str | None, option: str, column_family: str | None) -> bool:
        """Unpin an option; returns whether it was pinned."""
        return await self._worker.write(OVERRIDES.delete, target, option, column_family)

    async def overrides(self) -> tuple[Override, ...]:
        """Return all overrides, including expired ones."""
        return await self._worker.read(OVERRIDES.all)

    async def keep_pauses(self, pauses: Iterable[Pause]) -> None:
        """Make these the pauses, of single targets and of all, in one commit: one of all replaces those of each."""
        await self._worker.write(content.replace_all, PAUSES, tuple(pauses))

    async def pauses(self) -> tuple[Pause, ...]:
        """Return all pauses."""
        return await self._worker.read(PAUSES.all)

    # -- the audit trail

    async def operated(self, operations: Iterable[Operation]) -> None:
        """Record what somebody did; the newest `content.OPERATIONS_KEPT` entries are kept."""
        await self._worker.write(content.put_operations, tuple(operations), content.OPERATIONS_KEPT)

    async def operations(self) -> tuple[Operation, ...]:
        """Return the audit trail, oldest first."""
        return await self._worker.read(content.operations)

    # -- decisions

    @property
    def lost_decisions(self) -> int:
        """Number of decisions that never became durable, because too many came while the journal was unwritable."""
        return self._decisions.buffer.lost

    @property
    def waiting_decisions(self) -> int:
        """Number of decisions that are not durable yet."""
        return len(self._decisions.buffer)

    def decided(self, target: str, record: DecisionRecord, *, path: str | None) -> None:
        """Record a decision, or its outcome (same sequence and time); durable with the next batch. Never fails."""
        self._decisions.add(JournaledDecision.of(record, target=target, path=path, run=self._run))

    async def flush(self) -> None:
        """Write the pending decisions now; raises JournalError, and keeps them unless the journal is damaged."""
        await self._decisions.flush()

    async def decisions(self, target: str | None = None, newest: int = 100) -> tuple[JournaledDecision, ...]:
        """Return the newest decisions of one target or all, oldest first, including pending ones.

        Decisions of closed databases and of former runs of the daemon are included.
        """
        return await self._decisions.newest(target, newest)
