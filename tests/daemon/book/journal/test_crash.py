"""Killed at any moment, and two at once: what was acknowledged is there, and one process has it."""

import asyncio
import functools
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adocd.daemon.book.journal.errors import JournalLocked
from adocd.daemon.book.journal.journal import Journal
from tests.conftest import REPOSITORY
from tests.daemon.book.journal.support import JOBS, A, with_journal
from tests.daemon.book.journal.writer import FLUSH_EVERY, WINDOW, option


@contextmanager
def writer(path: Path, first: int) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "tests.daemon.book.journal.writer", str(path), str(first)]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_whatever_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    dice = random.Random(1)  # noqa: S311
    last = 0
    for _ in range(20):
        first = last + 10  # no step is taken twice
        with writer(path, first) as process:
            assert process.stdout is not None
            last = int(process.stdout.readline())
            time.sleep(dice.uniform(0.0, 0.05))
            process.kill()
            last = max([last, *(int(line) for line in process.stdout if line.endswith("\n"))])
        with_journal(path, functools.partial(see_that_it_is_there, first=first, last=last))


async def see_that_it_is_there(journal: Journal, first: int, last: int) -> None:
    """Look for the steps from the first to the last acknowledged; the next one may be there or not, or in part."""
    assert journal.rescue is None
    tuned = {t.option_name: t for t in await journal.tuned(A)}
    for n in range(max(first, last - WINDOW + 2), last + 1):
        assert (tuned[option(n)].original, tuned[option(n)].sent) == (f"original {n}", (f"value {n}",))
    assert option(last - WINDOW) not in tuned
    # The original is the oldest of all runs.
    assert tuned[JOBS].original == "10"
    assert tuned[JOBS].sent[-1] in (f"value {last}", f"value {last + 1}")
    (policy,) = await journal.policies()
    assert policy.policy().controller in (f"law-{last}", f"law-{last + 1}")
    decisions = {d.sequence for d in await journal.decisions(A, 1000)}
    assert {n for n in range(first, last + 1) if n % FLUSH_EVERY == 0} <= decisions


def test_two_processes_cannot_have_it_and_the_second_is_told_who(tmp_path: Path) -> None:
    path = tmp_path / "journal"

    async def use(_: Journal) -> None:
        """Open and close."""

    with writer(path, 1) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(JournalLocked, match=f"the journal .*journal is in use by process {process.pid}$") as error:
            with_journal(path, use)
        assert error.value.pid == process.pid
        process.kill()
        process.wait()
        with_journal(path, use)


def test_the_same_process_cannot_open_it_twice(tmp_path: Path) -> None:
    async def use(_: Journal) -> None:
        with pytest.raises(JournalLocked, match=f"process {os.getpid()}"):
            await Journal.open(tmp_path / "journal", run="r", wall_clock=lambda: 0.0)

    with_journal(tmp_path / "journal", use)


def test_an_opening_that_is_cancelled_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "journal"

    async def run() -> None:
        opening = asyncio.create_task(Journal.open(path, run="r", wall_clock=lambda: 0.0))
        await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        async with asyncio.timeout(10):
            while True:
                try:
                    journal = await Journal.open(path, run="r", wall_clock=lambda: 0.0)
                except JournalLocked:
                    await asyncio.sleep(0.01)
                else:
                    await journal.close()
                    return

    asyncio.run(run())
