"""Operators' requests that take effect at once and become durable as soon as the journal can be written."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from adocd.daemon.book.journal.errors import JournalError, JournalUnwritable
from adocd.daemon.book.journal.journal import Journal

_log = logging.getLogger(__name__)
Write = Callable[[Journal], Coroutine[Any, Any, object]]


class LateWrites:
    """The pending writes, by subject: only the newest for each subject, in order of arrival."""

    def __init__(self, journal: Journal, clock: Callable[[], float]) -> None:
        """`clock`: monotonic, in seconds."""
        self._journal = journal
        self._clock = clock
        self._waiting: dict[tuple[object, ...], Write] = {}
        self._task: asyncio.Task[None] | None = None
        #: When the write that runs was begun.
        self._asked_s = 0.0

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, about: tuple[object, ...]) -> bool:
        """Whether a write about this subject is pending, also if the journal has begun it."""
        return about in self._waiting

    @property
    def unanswered_s(self) -> float:
        """For how long the journal has not answered, in s."""
        return 0.0 if self._task is None else self._clock() - self._asked_s

    def add(self, about: tuple[object, ...], write: Write) -> None:
        """Write in the background, and retry at each `begin` until it succeeds."""
        self._waiting.pop(about, None)
        self._waiting[about] = write
        self.begin()

    def begin(self, *, look: bool = False) -> None:
        """Start writing the pending entries; with `look`, check the journal first, even if nothing is pending."""
        if (self._waiting or look) and self._task is None:
            self._asked_s = self._clock()
            self._task = asyncio.get_running_loop().create_task(self._write_all(look), name="journal")

    async def settle(self) -> None:
        """Return once nothing is pending; raises JournalUnwritable if it cannot be written now."""
        had_begun = self._task is not None
        await self.attempt()
        if self._waiting and had_begun:
            await self.attempt()  # an attempt already running may have failed for a reason that is gone
        if self._waiting:
            raise JournalUnwritable(self._journal.problem or f"the journal {self._journal.path} cannot be written")

    async def attempt(self) -> None:
        """Try to write the pending entries, and return when that has succeeded or failed."""
        self.begin()
        if self._task is not None:
            await asyncio.wait({self._task})

    async def _write_all(self, look: bool) -> None:
        about: tuple[object, ...] = ()
        try:
            if look:
                await self._journal.look()
            while self._waiting:
                about, write = next(iter(self._waiting.items()))
                self._asked_s = self._clock()
                await write(self._journal)
                if self._waiting.get(about) is write:
                    del self._waiting[about]
        except JournalError as error:
            _log.debug("%s", error)  # the journal logs it once
        except Exception:
            _log.exception("%s cannot be written and is dropped", about)
            self._waiting.pop(about, None)  # else it would block all later entries
        finally:
            self._task = None
