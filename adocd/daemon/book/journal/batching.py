"""Writes decisions in batches: bounded, never blocking, counting the losses."""

import asyncio
import logging
from dataclasses import dataclass

from adocd.daemon.book.journal import content
from adocd.daemon.book.journal.buffer import DecisionBuffer, identity
from adocd.daemon.book.journal.errors import JournalError, JournalLocked, JournalUnwritable
from adocd.daemon.book.journal.records import JournaledDecision
from adocd.daemon.book.journal.worker import Worker

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """How decisions are batched, how many are kept, and how often a file is repaired."""

    #: A decision is durable after about this many seconds,
    flush_period_s: float = 2.0
    #: or as soon as this many are pending.
    batch: int = 200
    #: Most pending decisions, while the disk is full for example; beyond that the oldest are lost, and counted.
    buffer: int = 5_000
    kept_per_target: int = 1_000
    kept: int = 50_000
    #: Least seconds between two repairs, because each leaves a file behind if somebody keeps damaging the journal.
    mend_period_s: float = 10.0


class DecisionWriter:
    """Holds the pending decisions, and writes them to the journal in a background task."""

    def __init__(self, worker: Worker, limits: Limits) -> None:
        self.buffer = DecisionBuffer(limits.buffer)
        self._worker = worker
        self._limits = limits
        self._turn = asyncio.Lock()
        self._timer: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[None] | None = None

    def add(self, decision: JournaledDecision) -> None:
        """Add a decision; it becomes durable with the next batch, or is counted as lost. Never fails."""
        self.buffer.add(decision)
        worker = self._worker
        if not worker.is_open or worker.damage is not None:
            self.buffer.give_up(self.buffer.batch(len(self.buffer)))
        elif len(self.buffer) >= self._limits.batch and worker.problem is None:
            self._flush_after(0.0)
        else:
            self._flush_after(self._limits.flush_period_s)

    async def flush(self) -> None:
        """Write the pending decisions now; raises JournalError, and keeps them unless they can never be written."""
        limits = self._limits
        async with self._turn:
            while batch := self.buffer.batch(limits.batch):
                try:
                    await self._worker.write(content.put_decisions, batch, limits.kept_per_target, limits.kept)
                except (JournalUnwritable, JournalLocked):
                    raise
                except Exception:
                    self.buffer.give_up(batch)
                    raise
                self.buffer.written(batch)

    async def close(self) -> None:
        """Write the pending decisions if possible, else count them as lost; never raises."""
        if self._timer is not None:
            self._timer.cancel()
        if self._task is not None:
            await asyncio.wait({self._task})
        try:
            await self.flush()
        except Exception as error:  # any error, because the daemon is stopping
            _log.warning("the last decisions are lost: %s", error)
        self.buffer.give_up(self.buffer.batch(len(self.buffer)))

    async def newest(self, target: str | None, count: int) -> tuple[JournaledDecision, ...]:
        """Return the newest decisions, oldest first, including pending ones."""
        stored = await self._worker.read(content.decisions, target, count)
        waiting = {identity(d): d for d in self.buffer.batch(len(self.buffer)) if target in (None, d.target)}
        known = {identity(decision): decision for decision in stored}
        return tuple((known | waiting).values())[-count:] if count > 0 else ()

    def _flush_after(self, delay_s: float) -> None:
        if self._task is not None:
            return  # the running task checks again when it ends
        if self._timer is not None:
            if delay_s > 0:
                return
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(delay_s, self._begin)

    def _begin(self) -> None:
        self._timer = None
        self._task = asyncio.create_task(self._flush_quietly(), name="journal")

    async def _flush_quietly(self) -> None:
        try:
            await self.flush()
        except JournalError as error:
            _log.debug("%s", error)  # the worker logs it once
        except Exception:
            _log.exception("decisions could not be written")
        finally:
            self._task = None
        if len(self.buffer) and self._worker.is_open:
            self._flush_after(self._limits.flush_period_s)
