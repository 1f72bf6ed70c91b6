"""The journal's thread: the only place that touches the open file, one step after the other."""

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
    """Runs steps on the open database, each in the thread and none in the event loop."""

    def __init__(self, path: Path, wall_clock: Callable[[], float], mend_period_s: float) -> None:
        self.path = path
        #: Why the last write failed, in one sentence; None when it did not.
        self.problem: str | None = None
        #: What is broken; None while nothing is known to be.
        self.damage: JournalDamaged | None = None
        #: What the last opening had to do about a damaged file; None when there was none.
        self.rescue: Rescue | None = None
        #: What must be in the file, whatever becomes of it; None while nobody knows, and then nothing is mended.
        self.remembered: Callable[[], Contents] | None = None
        self._wall_clock = wall_clock
        self._mend_period_s = mend_period_s
        self._mend_after_s = 0.0
        self._mending = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._opened: opening.Opened | None = None
        self._is_closed = False

    @property
    def is_open(self) -> bool:
        """Whether steps can be run."""
        return self._opened is not None

    async def open(self) -> None:
        """Open the file; raises JournalError, and may then be called again, or `close`."""
        future = self._thread.submit(opening.open_or_rescue, self.path, self._wall_clock)
        try:
            self._opened = await asyncio.shield(asyncio.wrap_future(future))
        except JournalError as error:
            self.problem = str(error)
            raise
        except BaseException:
            self._thread.submit(_close_unused, future)  # in its thread, as SQLite wants it
            self._thread.shutdown(wait=False)
            raise
        self.rescue = self._opened.rescue
        self._tell_of_rescue()

    async def close(self) -> None:
        """Close the file when all steps before are done."""
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
        """Run a step in a transaction and return after its commit; raises JournalError, and has no effect then.

        A file that somebody else has been at, that is damaged or that could not be opened is mended first.
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
        """Run a step that only reads; raises JournalDamaged, JournalUnopenable and JournalClosed."""
        return await self._do(lambda opened: step(opened.connection, *args, **kwargs))

    async def look(self) -> None:
        """See whether the file is still ours, and mend it where it is not; raises JournalError."""
        opened = self._opened
        try:
            if self.damage is not None:
                raise self.damage
            await self._do(opening.Opened.see_that_it_is_ours)
        except (JournalTampered, JournalDamaged, JournalUnopenable) as error:
            self._note(str(error))
            await self._mend(opened, error)

    # -- in here

    async def _write(
        self, step: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        if self.damage is not None:
            raise JournalDamaged(str(self.damage))

        def in_a_transaction(opened: opening.Opened) -> tuple[_T, bool]:
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
        if has_changed:  # else the disk was not asked
            self._note(None)
        return result

    async def _do(self, step: Callable[[opening.Opened], _T]) -> _T:
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

    async def _mend(self, failed: opening.Opened | None, error: JournalError) -> None:
        """Begin a new file, with what is remembered, in place of the one that failed; raises JournalError."""
        if self.remembered is None or self._is_closed:
            raise error
        async with self._mending:
            if self._opened is not failed:
                return  # somebody else has done it meanwhile
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
        """Make the new file before the old one is let go: this may be killed at any moment."""
        rescued, before = None, self._opened
        if before is not None:
            rescued = rescue.begin_anew(self.path, contents, reason, self._wall_clock())
            self._opened = None
            before.close()
        opened = opening.open_or_rescue(self.path, self._wall_clock)
        try:
            with transaction(opened.connection):
                rescue.put(opened.connection, contents)
            opened.has_written()
        except BaseException as error:
            opened.close()
            if isinstance(error, SQLITE_ERRORS):
                raise in_our_words(error, self.path) from None
            raise
        self._opened, self.damage, self.rescue = opened, None, rescued or opened.rescue

    def _tell_of_rescue(self) -> None:
        if self.rescue is not None:
            _log.warning("%s", self.rescue)

    def _note(self, problem: str | None) -> None:
        if problem is not None and self.problem is None:
            _log.warning("%s; nothing new is changed until it can be written, and restores go on", problem)
        elif problem is None and self.problem is not None:
            _log.info("the journal %s can be written again", self.path)
        self.problem = problem


def _close_unused(opened: Future[opening.Opened]) -> None:
    if opened.exception() is None:
        opened.result().close()
