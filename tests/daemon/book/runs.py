"""Runs of a daemon, one after the other, with the book that the one before has left; and time in a test's hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from adocd.daemon.book.book import Book, Clocks
from adocd.daemon.book.journal.records import Override, Pause
from adocd.model.values import of_database, of_family
from tests.daemon.book.journal.support import A

JOBS, BATCH = of_database("max_background_jobs"), of_family("default", "write_buffer_size")


class Time:
    """Two clocks in a test's hands: `pass_s` moves both, `wall_s` alone is what somebody sets."""

    def __init__(self) -> None:
        self.monotonic_s = 1000.0
        self.wall_s = 1_900_000_000.0

    def pass_s(self, seconds: float) -> None:
        """Let time pass."""
        self.monotonic_s += seconds
        self.wall_s += seconds

    @property
    def clocks(self) -> Clocks:
        """What a book is given."""
        return Clocks(lambda: self.monotonic_s, lambda: self.wall_s)


@asynccontextmanager
async def opened(path: Path, time: Time) -> AsyncIterator[Book]:
    """Open it as one run of a daemon; a clean close is not needed for anything but the decisions."""
    book = await Book.open(path, run=f"run at {time.wall_s}", clocks=time.clocks)
    try:
        yield book
    finally:
        await book.close()


def in_two_runs(
    path: Path, time: Time, first: Callable[[Book], Awaitable[None]], second: Callable[[Book], Awaitable[None]]
) -> None:
    async def run() -> None:
        for body in (first, second):
            async with opened(path, time) as book:
                await body(book)

    asyncio.run(run())


def override(time: Time, for_s: float | None, target: str | None = A, option: str = "max_background_jobs") -> Override:
    ends_s = None if for_s is None else time.wall_s + for_s
    return Override(target, None, option, None, "4", ends_s, "a test", "ann", time.wall_s)


def pause(target: str | None, state: str = "paused") -> Pause:
    return Pause(target, None, "restored" if state == "restored" else "paused", "an incident", "ann", 1.0)
