"""What the journal's tests share."""

import asyncio
import itertools
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

from adocd.daemon.book.journal.batching import Limits
from adocd.daemon.book.journal.journal import Journal
from adocd.daemon.book.journal.records import Intent, JournaledPolicy, Override, Pause
from adocd.model.decision import Setting
from adocd.model.decision_record import DecisionRecord, Outcome
from adocd.model.knob import Knob
from adocd.model.policy import Policy
from adocd.model.values import OptionName
from tests.support.waiting import PATIENCE_S

T = TypeVar("T")
A, B = "00000000000000aa", "00000000000000bb"
NOW_UNIX_S = 1_900_000_000.0
#: Nothing is written unless the test says so.
BY_HAND = Limits(flush_period_s=3600.0, batch=1_000_000)
JOBS = OptionName("database", "max_background_jobs")


@asynccontextmanager
async def opened(path: Path, *, run: str = "run-1", limits: Limits = BY_HAND) -> AsyncIterator[Journal]:
    journal = await Journal.open(path, run=run, wall_clock=lambda: NOW_UNIX_S, limits=limits)
    try:
        yield journal
    finally:
        await journal.close()


def with_journal(path: Path, use: Callable[[Journal], Awaitable[T]], *, limits: Limits = BY_HAND) -> T:
    """Open the journal, use it, close it."""

    async def run() -> T:
        async with opened(path, limits=limits) as journal:
            return await use(journal)

    return asyncio.run(run())


def buffer_size(family: str = "default") -> OptionName:
    return OptionName("column_family", "write_buffer_size", family)


async def intend(journal: Journal, *intents: Intent, target: str = A, unix_s: float = 1.0) -> None:
    await journal.intend(target, intents, path="/data/db", session="s1", unix_s=unix_s)


def policy(target: str | None = A, controller: str = "adoc") -> JournaledPolicy:
    return JournaledPolicy.of(Policy(controller, {"step": 2}), target=target, path=None, who="ann", unix_s=1.0)


def override(
    target: str | None = A, option: str = "max_background_jobs", expires_unix_s: float | None = None
) -> Override:
    return Override(
        target=target,
        path="/data/db",
        option=option,
        column_family=None,
        value="4",
        expires_unix_s=expires_unix_s,
        reason="a bulk load",
        who="ann",
        unix_s=1.0,
    )


def pause(target: str | None = None) -> Pause:
    return Pause(target, None, "paused", "an incident", "ann", 1.0)


def decision(
    sequence: int, outcome: Outcome = "applied", *, unix_s: float = 1.0, reason: str = "because"
) -> DecisionRecord:
    return DecisionRecord(
        sequence=sequence,
        monotonic_s=5.0,
        unix_s=unix_s,
        controller="adoc",
        settings=(Setting(Knob.BATCH_SIZE, 1 << 27, "default"), Setting(Knob.BACKGROUND_JOBS, 4)),
        signal="level0 overflow",
        rule="adoc.level0",
        reason=reason,
        guards=("memory: 2 GiB left",),
        outcome=outcome,
    )


async def until_written(journal: Journal) -> None:
    """Wait until no decision waits."""
    async with asyncio.timeout(PATIENCE_S):
        while journal.waiting_decisions:  # noqa: ASYNC110 - nobody is told
            await asyncio.sleep(0.005)


async def fill_with_everything(journal: Journal) -> None:
    """Write some of all kinds."""
    for target, n in itertools.product((A, B), range(40)):
        await intend(journal, Intent(buffer_size(f"family-{n}"), str(n), str(n + 1)), target=target)
    for whose in (None, A, B):
        await journal.set_policy(policy(whose))
        await journal.add_override(override(whose))
    await journal.keep_pauses(pause(whose) for whose in (None, A, B))
    for n in range(50):
        journal.decided(A, decision(n), path="/data/db")
    await journal.flush()


EVERYTHING = {"tuned": 80, "policies": 3, "overrides": 3, "pauses": 3}


async def counts(journal: Journal) -> dict[str, int]:
    """Count what is there, as `EVERYTHING` does."""
    return {
        "tuned": len(await journal.tuned()),
        "policies": len(await journal.policies()),
        "overrides": len(await journal.overrides()),
        "pauses": len(await journal.pauses()),
    }


def overwrite(path: Path, offset: int, content: bytes) -> None:
    with path.open("r+b") as stream:
        stream.seek(offset)
        stream.write(content)


def noise(size: int) -> bytes:
    return random.Random(1).randbytes(size)  # noqa: S311
