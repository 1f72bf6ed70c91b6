"""Killed at any moment, and two at once: what was acknowledged is there, and one process has it."""

import asyncio
import functools
import os
import random
import time
from contextlib import closing, suppress
from pathlib import Path

import pytest

from adocd.daemon.book.journal.errors import JournalLocked
from adocd.daemon.book.journal.journal import Journal
from tests.daemon.book.journal.support import JOBS, A, with_journal
from tests.daemon.book.journal.writer import FLUSH_EVERY, WINDOW, option, write
from tests.support.forked import PROCESSES
from tests.support.waiting import PATIENCE_S


class Writer:
    """A process that writes to a journal, and the steps that it has acknowledged."""

    def __init__(self, path: Path, first: int) -> None:
        self._acknowledged, says = PROCESSES.Pipe(duplex=False)
        self.process = PROCESSES.Process(target=write, args=(path, first, says), daemon=True)
        self.process.start()
        says.close()

    def next(self) -> int:
        """Wait for the next step; EOFError when it was killed and there is none."""
        step: int = self._acknowledged.recv()
        return step

    def killed(self) -> list[int]:
        """Kill it, and return the steps that were still acknowledged."""
        self.process.kill()
        self.process.join()
        steps = []
        with suppress(EOFError):
            while True:
                steps.append(self.next())
        return steps

    def close(self) -> None:
        """Kill it where it lives, and give everything back."""
        self.process.kill()
        self.process.join()
        self._acknowledged.close()


def test_whatever_was_acknowledged_is_there_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    dice = random.Random(1)  # noqa: S311
    last = 0
    for _ in range(20):
        first = last + 10  # no step is taken twice
        with closing(Writer(path, first)) as writer:
            last = writer.next()
            time.sleep(dice.uniform(0.0, 0.05))
            last = max([last, *writer.killed()])
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

    with closing(Writer(path, 1)) as writer:
        writer.next()
        pid = writer.process.pid
        with pytest.raises(JournalLocked, match=f"the journal .*journal is in use by process {pid}$") as error:
            with_journal(path, use)
        assert error.value.pid == pid
        writer.killed()
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
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    journal = await Journal.open(path, run="r", wall_clock=lambda: 0.0)
                except JournalLocked:
                    await asyncio.sleep(0.01)
                else:
                    await journal.close()
                    return

    asyncio.run(run())
