"""The journal's thread: the only place that touches the open file, one step after the other."""

import asyncio
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from adocd.daemon.journal import opening
from adocd.daemon.journal.errors import (
    SQLITE_ERRORS,
    JournalClosed,
    JournalDamaged,
    JournalUnwritable,
    in_our_words,
)
from adocd.daemon.journal.rescue import Rescue
from adocd.daemon.journal.schema import transaction

_log = logging.getLogger(__name__)
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Worker:
    """Runs steps on the open database, each in the thread and none in the event loop."""

    def __init__(self, path: Path) -> None:
        self.path = path
        #: Why the last write failed, in one sentence; None when it did not.
        self.problem: str | None = None
        #: What is broken; None while nothing is known to be.
        self.damage: JournalDamaged | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
        self._opened: opening.Opened | None = None

    @property
    def is_open(self) -> bool:
        """Whether steps can be run."""
        return self._opened is not None

    async def open(self, wall_clock: Callable[[], float]) -> Rescue | None:
        """Open the file and say what had to be rescued; raises JournalError."""
        future = self._thread.submit(opening.open_or_rescue, self.path, wall_clock)
        try:
            self._opened = await asyncio.shield(asyncio.wrap_future(future))
        except BaseException:
            self._thread.submit(_close_unused, future)  # in its thread, as SQLite wants it
            self._thread.shutdown(wait=False)
            raise
        return self._opened.rescue

    async def close(self) -> None:
        """Close the file when all steps before are done."""
        opened, self._opened = self._opened, None
        if opened is not None:
            future = self._thread.submit(opened.close)
            self._thread.shutdown(wait=False)
            await asyncio.shield(asyncio.wrap_future(future))

    async def write(
        self, step: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Run a step in a transaction and return after its commit; raises JournalError, and has no effect then."""
        if self.damage is not None:
            raise JournalDamaged(str(self.damage))

        def in_a_transaction(opened: opening.Opened) -> tuple[_T, bool]:
            opened.see_that_it_is_there()
            before = opened.connection.total_changes
            with transaction(opened.connection):
                result = step(opened.connection, *args, **kwargs)
            return result, opened.connection.total_changes != before

        try:
            result, has_changed = await self._do(in_a_transaction)
        except JournalUnwritable as error:
            self._note(str(error))
            raise
        if has_changed:  # else the disk was not asked
            self._note(None)
        return result

    async def read(
        self, step: Callable[Concatenate[sqlite3.Connection, _P], _T], *args: _P.args, **kwargs: _P.kwargs
    ) -> _T:
        """Run a step that only reads; raises JournalDamaged and JournalClosed."""
        return await self._do(lambda opened: step(opened.connection, *args, **kwargs))

    async def _do(self, step: Callable[[opening.Opened], _T]) -> _T:
        opened = self._opened
        if opened is None:
            raise JournalClosed(f"the journal {self.path} is closed")
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, step, opened)
        except SQLITE_ERRORS as error:
            ours = in_our_words(error, self.path)
            if isinstance(ours, JournalDamaged) and self.damage is None:
                self.damage = ours
                self._note(str(ours))
            raise ours from error

    def _note(self, problem: str | None) -> None:
        if problem is not None and self.problem is None:
            _log.warning("%s; nothing new is changed until it can be written, and restores go on", problem)
        elif problem is None and self.problem is not None:
            _log.info("the journal %s can be written again", self.path)
        self.problem = problem


def _close_unused(opened: Future[opening.Opened]) -> None:
    if opened.exception() is None:
        opened.result().close()
