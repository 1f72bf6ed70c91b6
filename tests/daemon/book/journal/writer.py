"""A process that writes to a journal until it is killed, and says what is durable."""

import asyncio
from multiprocessing.connection import Connection
from pathlib import Path

from adocd.daemon.book.journal.batching import Limits
from adocd.daemon.book.journal.journal import Journal
from adocd.daemon.book.journal.records import Intent
from adocd.model.values import OptionName
from tests.daemon.book.journal.support import JOBS, A, decision, policy

#: So many options are tuned at once; older ones have been restored.
WINDOW = 5
#: The decision of every seventh step is made durable before it is acknowledged.
FLUSH_EVERY = 7


def option(n: int) -> OptionName:
    return OptionName("column_family", "write_buffer_size", f"family-{n}")


def write(path: Path, first: int, says: Connection) -> None:
    """Write until the process is killed."""
    asyncio.run(_write(path, first, says))


async def _write(path: Path, first: int, says: Connection) -> None:
    journal = await Journal.open(path, run=f"run-{first}", wall_clock=lambda: 0.0, limits=Limits(flush_period_s=0.01))
    n = first
    while True:
        intents = (Intent(option(n), f"original {n}", f"value {n}"), Intent(JOBS, str(n), f"value {n}"))
        await journal.intend(A, intents, path=None, session="s", unix_s=float(n))
        await journal.settled(A, {option(n - WINDOW): None})
        await journal.set_policy(policy(A, f"law-{n}"))
        journal.decided(A, decision(n), path=None)
        if n % FLUSH_EVERY == 0:
            await journal.flush()
        says.send(n)
        n += 1
