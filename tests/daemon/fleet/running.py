"""A fleet that looks for agents while a test's body runs."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

from adocd.daemon.book.book import Book
from adocd.daemon.fleet.config import Config
from adocd.daemon.fleet.fleet import Fleet
from adocd.model.policy import Policy
from tests.builders import GIB
from tests.daemon.harness import loop_settings, open_book


@contextlib.asynccontextmanager
async def running(
    run_dir: Path, policy: str, directories: tuple[Path, ...] = (), *, dry_run: bool = False
) -> AsyncIterator[tuple[Fleet, Book]]:
    """Look into the run directory, and into these directories."""
    book = await open_book(run_dir)
    fleet = Fleet(
        Config(),
        loop_settings(),
        run_dir,
        book,
        policy=Policy(policy),
        dry_run=dry_run,
        directories=directories,
        memory_budget_bytes=GIB,
    )
    discovery = asyncio.create_task(fleet.run())
    try:
        yield fleet, book
    finally:
        discovery.cancel()
        await asyncio.gather(discovery, return_exceptions=True)
        await fleet.stop()
        await book.close()
