"""Following a database by its directory, in a test."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from adocd.model.snapshot import Snapshot
from adocd.targets.directory.place import NoDatabase
from adocd.targets.directory.target import Directory, DirectoryTarget
from adocd.targets.errors import Closed

#: RocksDB holds back what it logs for up to 5 s.
LATE_S = 15.0


async def followed(path: Path, within_s: float = LATE_S) -> DirectoryTarget:
    """Follow the database there, as soon as somebody has it open for good: db_bench opens it twice."""
    directory, deadline_s = Directory(path), time.monotonic() + within_s
    while time.monotonic() < deadline_s:
        try:
            place = await directory.look()
            if place.is_open:
                target = await directory.open(place)
                await asyncio.sleep(0.2)
                await target.catch_up()
                return target
        except (NoDatabase, Closed):
            pass
        await asyncio.sleep(0.05)
    raise AssertionError(f"nobody has opened {path} within {within_s} s")


async def until(
    target: DirectoryTarget, holds: Callable[[Snapshot], object], what: str, within_s: float = LATE_S
) -> Snapshot:
    """Look until something holds."""
    deadline_s = time.monotonic() + within_s
    while not holds(snapshot := await target.snapshot(0)):
        assert time.monotonic() < deadline_s, f"not within {within_s} s: {what}"
        await asyncio.sleep(0.1)
    return snapshot


async def ended(target: DirectoryTarget) -> str:
    """Look until it is closed; why it is."""
    deadline_s = time.monotonic() + 5
    while time.monotonic() < deadline_s:
        try:
            await target.snapshot(None)
        except Closed as error:
            return str(error)
        await asyncio.sleep(0.05)
    raise AssertionError("it is still open")


def run(body: Awaitable[None]) -> None:
    async def whole() -> None:
        await body

    asyncio.run(whole())
