"""The journal's thread, which alone accesses the open file, one step after the other."""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from adocd.daemon.book.journal import opening, rescue
from adocd.daemon.book.journal.errors import (
    SQLITE_ERRORS,
    JournalClosed,
    JournalDamaged,
    JournalError,
    JournalTampered,
    JournalUnopenable,
    JournalUnwritable,
    in_our_words,
)
from adocd.daemon.book.journal.rescue import Contents, Rescue
from adocd.daemon.book.journal.schema import transaction

_log = logging.getLogger(__name__)
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Worker:
    """Runs steps on the open database in its thread, outside the event loop."""

    def __init__(self, path: Path, wall_clock: Callable[[], float], mend_period_s: float) -> None:
        self.path = path
        #: Why the last write failed, in one sentence; None if it succeeded.
        self.problem: str | None = None
        #: The damage found; None if none is known.
        self.damage: JournalDamaged | None = None
        #: How the last opening repaired a damaged file; None if none was damaged.
        self.rescue: Rescue | None = None
        #: Returns the content for a repaired file; None while unknown, and then nothing is repaired.
        self.remembered: Callable[[], Contents] | None = None
        #: Whether what is remembered began without a file: then one that appears is not known, and not overwritten.
        self.began_without_file = False
        self._wall_clock = wall_clock
        self._mend_period_s = mend_period_s
        self._mend_after_s = 0.0
        self._mending = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._opened: opening.OpenedJournal | None = None
        self._is_closed = False

    @property
    def is_open(self) -> bool:
        """Whether the file is open, so that steps can run."""
        return self._opened is not None

    async def open(self) -> None:
        """Open the file; after a JournalError, call it again or call `close`."""
        future = self._thread.submit(opening.open_or_rescue, self.path, self._wall_clock)
        try:
            self._opened = await asyncio.shield(asyncio.wrap_future(future))
        except JournalError as error:
            self.problem = str(error)
            raise
        except BaseException:
            self._thread.submit(_close_unused, future)  # in its own thread, as SQLite requires
            self._thread.shutdown(wait=False)
            raise
        self.rescue = self._opened.rescue
        self._tell_of_rescue()

    async def close(self) -> None:
        """Close the file after all earlier steps."""
        self._is_closed = True
        async with self._mending:
            opened, self._opened = self._opened, None
            future = None if opened is None else self._thread.submit(opened.close)
            self._thread.shutdown(wait=False)
            if future is not None:
                await asyncio.shield(asyncio.wrap_future(future))

    async def write(
        self, step: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Run a step in a transaction and return after its commit; if it raises JournalError, it had no effect.

        A file that somebody else changed, that is damaged or that could not be opened is repaired first.
        """
        opened = self._opened
        try:
            return await self._write(step, *args, **kwargs)
        except (JournalTampered, JournalDamaged, JournalUnopenable) as error:
            await self._mend(opened, error)
        return await self._write(step, *args, **kwargs)

    async def read(
        self, step: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Run a read-only step; raises JournalDamaged, JournalUnopenable and JournalClosed."""
        return await self._do(lambda opened: step(opened.connection, *args, **kwargs))

    async def look(self) -> None:
        """Check whether the file is as we left it, and repair it if not; raises JournalError."""
        opened = self._opened
        try:
            if self.damage is not None:
                raise self.damage
            await self._do(opening.OpenedJournal.see_that_it_is_ours)
        except (JournalTampered, JournalDamaged, JournalUnopenable) as error:
            self._note(str(error))
            await self._mend(opened, error)

    # -- in here

    async def _write(
        self, step: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        if self.damage is not None:
            raise JournalDamaged(str(self.damage))

        def in_a_transaction(opened: opening.OpenedJournal) -> tuple[_T, bool]:
            opened.see_that_it_is_ours()
            before = opened.connection.total_changes
            try:
                with transaction(opened.connection):
                    result = step(opened.connection, *args, **kwargs)
            finally:
                opened.has_written()
            return result, opened.connection.total_changes != before

        try:
            result, has_changed = await self._do(in_a_transaction)
        except JournalUnwritable as error:
            self._note(str(error))
            raise
        if has_changed:  # otherwise the disk was not touched
            self._note(None)
        return result

    async def _do(self, step: Callable[[opening.OpenedJournal], _T]) -> _T:
        opened = self._opened
        if self._is_closed:
            raise JournalClosed(f"the journal {self.path} is closed")
        if opened is None:
            raise JournalUnopenable(self.problem or f"the journal {self.path} is not open")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, step, opened)
        except SQLITE_ERRORS as error:
            ours = in_our_words(error, self.path)
            if isinstance(ours, JournalDamaged) and self.damage is None:
                self.damage = ours
                self._note(str(ours))
            raise ours from error

    async def _mend(self, failed: opening.OpenedJournal | None, error: JournalError) -> None:
        """Replace the failed file with a new one made from memory; raises JournalError."""
        if self.remembered is None or self._is_closed:
            raise error
        async with self._mending:
            if self._opened is not failed:
                return  # another task has repaired it meanwhile
            now_s = asyncio.get_running_loop().time()
            if now_s < self._mend_after_s or self._is_closed:
                raise error
            self._mend_after_s = now_s + self._mend_period_s
            contents = self.remembered()
            future = self._thread.submit(self._begin_anew, str(error), contents)
            try:
                await asyncio.shield(asyncio.wrap_future(future))
            except JournalError as why:
                self._note(str(why) if failed is None else f"{error}, and no new one can be made: {why}")
                raise JournalUnwritable(self.problem) from None
            self._tell_of_rescue()
            self._note(None)

    def _begin_anew(self, reason: str, contents: Contents) -> None:
        """Create the new file before closing the old one, because this may be killed at any moment."""
        rescued, before = None, self._opened
        if before is not None:
            rescued = rescue.begin_anew(self.path, contents, reason, self._wall_clock())
            self._opened = None
            self.began_without_file = False  # what is there from now on is ours
            before.close()
        opened = opening.open_or_rescue(self.path, self._wall_clock)
        try:
            if self.began_without_file and rescue.is_used(opened.connection):
                raise JournalUnwritable(
                    f"the journal {self.path} appeared after the daemon had started, and has what it does not know: "
                    "restart the daemon"
                )
            with transaction(opened.connection):
                rescue.put(opened.connection, contents)
            opened.has_written()
        except BaseException as error:
            opened.close()
            if isinstance(error, SQLITE_ERRORS):
                raise in_our_words(error, self.path) from None
            raise
        self._opened, self.damage, self.rescue = opened, None, rescued or opened.rescue
        self.began_without_file = False

    def _tell_of_rescue(self) -> None:
        if self.rescue is not None:
            _log.warning("%s", self.rescue)

    def _note(self, problem: str | None) -> None:
        if problem is not None and self.problem is None:
            _log.warning("%s; adocd changes nothing new until it can write its journal, but restores continue", problem)
        elif problem is None and self.problem is not None:
            _log.info("the journal %s can be written again", self.path)
        self.problem = problem


def _close_unused(opened: Future[opening.OpenedJournal]) -> None:
    if opened.exception() is None:
        opened.result().close()
