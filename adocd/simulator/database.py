"""The simulated database: from event to event, with constant rates between them.

There is no asyncio here: the caller tells `advance` until when. Events (a memtable is full, a job ends, the workload
changes) are processed in RocksDB's order: install the version with the options of the job that installs it, recalculate
the stall conditions, then schedule jobs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from adocd.model.knob import MIB
from adocd.model.snapshot import Event
from adocd.simulator.account import Account, SimulatedEventRing, ToldStalls
from adocd.simulator.device import Device
from adocd.simulator.jobs import (
    Flow,
    JobLimits,
    JobOptions,
    SimulatedJob,
    compaction_job,
    flush_job,
    job_limits,
    share_device,
)
from adocd.simulator.levels import Compaction, Levels
from adocd.simulator.limiter import Priority, RateLimiter
from adocd.simulator.memtables import Memtables
from adocd.simulator.options import DatabaseOptions, FamilyOptions
from adocd.simulator.workload import WriteDemand
from adocd.simulator.write_controller import StallInputs, WriteController
from adocd.simulator.writers import NOTHING_BYTES, Writers

#: The name of the only column family.
FAMILY = "default"
_DELAYED_WRITE_RATE_DEFAULT = 16 * MIB


@dataclass(frozen=True, slots=True)
class Setup:
    """How a database is opened, its device and its workload.

    Attributes:
        device: the machine's speed.
        workload: the clients' writes.
        family: options of the column family.
        database: options of the database.
        rate_limiter_bytes_per_s: the rate of a rate limiter passed at open; None opens without one.
        entry_bytes: size of a key with its value.
        distinct_keys: number of distinct keys, written uniformly at random.
        statistics: whether it is opened with a Statistics object, which provides the tickers.

    """

    device: Device
    workload: WriteDemand
    family: FamilyOptions = field(default_factory=FamilyOptions)
    database: DatabaseOptions = field(default_factory=DatabaseOptions)
    rate_limiter_bytes_per_s: int | None = None
    entry_bytes: int = 1016
    distinct_keys: int = 100_000_000
    statistics: bool = True


class SimulatedDatabase:
    """One open database. Callers may read its attributes; `advance` and the three `set_` methods change it."""

    def __init__(self, setup: Setup) -> None:
        rate = setup.rate_limiter_bytes_per_s
        self.setup = setup
        self.now_s = 0.0
        #: The options that read back, and those that memtable, write controller and scores use (HAZARDS 2).
        self.shown = self.in_force = setup.family
        self.options = setup.database
        if setup.database.delayed_write_rate == 0:  # 0 means the default at open, and only there
            self.options = replace(setup.database, delayed_write_rate=rate or _DELAYED_WRITE_RATE_DEFAULT)
        self.limiter = None if rate is None else RateLimiter(rate)
        self.memtables = Memtables()
        self.levels = Levels(setup.distinct_keys * setup.entry_bytes)
        self.controller = WriteController(self.options.delayed_write_rate)
        self.flushes: list[SimulatedJob] = []
        self.compactions: list[SimulatedJob] = []
        self.account = Account()
        self.events = SimulatedEventRing()
        self.stalls = ToldStalls()
        self.writers = Writers(setup.workload, setup.device.page_cache_bytes, self.controller)
        self.flow = Flow(0.0, 0.0, 0.0, limiter_is_short=False)
        self._closed_bytes = 0
        self._job = 0
        self._waiting: dict[int, SimulatedJob] = {}
        self._is_to_schedule = False
        self._react()

    # -- requests

    def advance(self, to_s: float) -> None:
        """Simulate until this virtual time."""
        while self.now_s < to_s:
            until_s = min(to_s, self.next_s())
            self._pass(until_s - self.now_s)
            self.now_s = until_s
            self._react()

    def set_family(self, options: Mapping[str, str]) -> None:
        """Apply one SetOptions call at once, and recalculate the stall conditions. Raises RefusedOption."""
        self.shown = FamilyOptions.parse(self.shown.written() | dict(options))
        self._install(self.shown)
        self._react()

    def set_database(self, options: Mapping[str, str]) -> None:
        """Apply one SetDBOptions call, unless it changes nothing. Raises RefusedOption.

        More jobs count from the next scheduling on: RocksDB schedules for them at once, but with the previous numbers,
        because it stores the new ones only afterwards (HAZARDS 19).
        """
        changed = DatabaseOptions.parse(self.options.written() | dict(options))
        if changed == self.options:
            return
        # Nobody asks for this, but RocksDB turns 0 into it (db_impl.cc, DBImpl::SetDBOptions).
        self.options = replace(changed, bytes_per_sync=changed.bytes_per_sync or MIB)
        self.controller.set_max_rate(self.options.delayed_write_rate)
        self._react()

    def set_limiter(self, bytes_per_s: int) -> None:
        """Change the rate limiter's rate, if the database was opened with one."""
        if self.limiter is not None:
            self.limiter.bytes_per_s = bytes_per_s
            self._react()

    @property
    def written_bytes(self) -> int:
        """Return the bytes that clients have written: in memtables, in levels, or dropped by compactions."""
        return self._closed_bytes + int(self.memtables.active_bytes)

    @property
    def pending_bytes(self) -> int:
        """Return the estimated pending compaction bytes."""
        return self.levels.pending_bytes(self.in_force)

    # -- time

    def next_s(self) -> float:
        """Return the time of the next event, given constant rates: nothing else changes before it by itself."""
        flow = self.flow
        next_s = self.writers.next_s(self.now_s, flow)
        for jobs in (self.flushes, self.compactions):
            for job in jobs:
                if job.bytes_per_s > 0:
                    next_s = min(next_s, self.now_s + (job.left_bytes - job.opens_at_bytes) / job.bytes_per_s)
        if flow.writes > 0:
            room = self.in_force.write_buffer_size - self.memtables.active_bytes
            next_s = min(next_s, self.now_s + room / flow.writes)
        return max(next_s, math.nextafter(self.now_s, math.inf))

    def _pass(self, seconds: float) -> None:
        """Move bytes at the current rates."""
        account, flow = self.account, self.flow
        account.wait(seconds, self.controller.condition, self.controller.cause, self.writers.waiting_share())
        self.memtables.active_bytes += flow.writes * seconds
        account.device_bytes += flow.wal * seconds
        self.writers.let_pass(seconds, flow)
        for job in self.flushes:
            job.left_bytes -= job.bytes_per_s * seconds
            account.device_bytes += job.bytes_per_s * seconds
        for job in self.compactions:
            moved = job.bytes_per_s * seconds
            job.left_bytes -= moved
            account.device_bytes += moved
            account.ticked_written_bytes += moved
            if job.compaction is not None:
                account.ticked_read_bytes += moved * job.compaction.input_bytes / job.compaction.output_bytes
        if self.limiter is not None and flow.limiter_is_short:
            self.limiter.drain(seconds)

    # -- events

    def _react(self) -> None:
        """Process all events due now, then compute new rates."""
        for job in [job for job in self.flushes if job.left_bytes <= NOTHING_BYTES]:
            self._flush_ends(job)
        for job in [job for job in self.compactions if job.left_bytes <= NOTHING_BYTES]:
            self._compaction_ends(job)
        for job in self.compactions:
            if 0 < job.opens_at_bytes >= job.left_bytes - NOTHING_BYTES:
                job.open_file(self._priority("low"))
        self.writers.look(self.now_s)
        if self._memtable_is_full():
            self._closed_bytes += self.memtables.switch()
            self._install(self.shown, by_writer=True)
        if self._is_to_schedule:
            self._schedule()
            self._is_to_schedule = False
        self.flow = share_device(
            self.writers.admitted_bytes_per_s(),
            self.writers.dirty_bytes,
            self.flushes,
            self.compactions,
            self.setup.device,
            self.limiter,
        )

    def _memtable_is_full(self) -> bool:
        """Whether the next write switches the memtable; there are no writes while writes are stopped."""
        room = self.in_force.write_buffer_size - self.memtables.active_bytes
        return room <= NOTHING_BYTES and self.writers.admitted_bytes_per_s() > 0 and self.memtables.active_bytes >= 1

    def _install(self, options: FamilyOptions, *, by_writer: bool = False) -> None:
        """Install a version: put its options in force, recalculate the stall conditions, then schedule jobs.

        Nothing else schedules jobs (DBImpl::InstallSuperVersionAndScheduleWork).
        """
        self.in_force = options
        self._is_to_schedule = True
        controller, before = self.controller, self.controller.condition
        load = StallInputs(self.memtables.unflushed, len(self.levels.l0), self.levels.pending_bytes(options))
        controller.recalculate(load, options)
        if controller.condition != before:
            if before == "stopped":
                self.account.stop_ended()
            for previous, condition in self.stalls.change(controller.condition, self.now_s, by_writer=by_writer):
                self._emit("stall", condition=condition, previous=previous)

    def _schedule(self) -> None:
        """Start the flushes and compactions that may run (DBImpl::MaybeScheduleFlushOrCompaction)."""
        while self.memtables.waiting and len(self.flushes) < self._limits().flushes:
            self._flush_begins()
        while not self.shown.disable_auto_compactions and len(self.compactions) < self._limits().compactions:
            compaction = self.levels.pick(self.in_force, self.shown)
            if compaction is None:
                return
            self.levels.begin(compaction)
            if compaction.is_move:
                self.levels.finish(compaction, self.shown.target_file_size_base)
                self._install(self.shown)
            else:
                self._compaction_begins(compaction)

    def _limits(self) -> JobLimits:
        return job_limits(self.options, speedup=self.controller.needs_speedup)

    # -- jobs

    def _flush_begins(self) -> None:
        number = self._next_job()
        size = self.memtables.take(number)
        sizes = size, self.levels.flushed_bytes(size)
        job = flush_job(number, self.now_s, sizes, self._priority("high"), self.shown, self.setup.device)
        self.flushes.append(job)
        self._emit("flush_begin", job=number)

    def _flush_ends(self, job: SimulatedJob) -> None:
        self.flushes.remove(job)
        self._waiting[job.number] = job
        for number in self.memtables.finish(job.number):
            done = self._waiting.pop(number)
            size = self.levels.flush(done.memtable_bytes)
            self.account.flushes += 1
            self.account.flush_written_bytes += size
            self._emit("flush_end", job=number, bytes=size, elapsed_s=self.now_s - done.began_s)
            self._install(done.options)

    def _compaction_begins(self, compaction: Compaction) -> None:
        number = self._next_job()
        opened_as = JobOptions(self.shown, self.options)
        job = compaction_job(number, self.now_s, compaction, self._priority("low"), opened_as, self.setup.device)
        if self.limiter is None:
            job.opens_at_bytes = 0.0  # without a limiter no file needs a priority
        self.compactions.append(job)
        levels = {"base_level": compaction.input_level, "output_level": compaction.output_level}
        self._emit("compaction_begin", job=number, **levels)

    def _compaction_ends(self, job: SimulatedJob) -> None:
        self.compactions.remove(job)
        compaction = job.compaction
        if compaction is None:
            return
        self.levels.finish(compaction, job.options.target_file_size_base)
        self.account.compactions += 1
        self.account.compaction_read_bytes += compaction.input_bytes
        self.account.compaction_written_bytes += compaction.output_bytes
        self._emit(
            "compaction_end",
            job=job.number,
            base_level=compaction.input_level,
            output_level=compaction.output_level,
            read_bytes=compaction.input_bytes,
            written_bytes=compaction.output_bytes,
            elapsed_s=self.now_s - job.began_s,
        )
        self._install(job.options)

    def _priority(self, otherwise: Priority) -> Priority:
        """Return the rate limiter priority of a file opened now."""
        return otherwise if self.controller.condition == "normal" else "user"

    def _next_job(self) -> int:
        self._job += 1
        return self._job

    def _emit(self, kind: str, **members: object) -> None:
        self.emit(kind, column_family=FAMILY, **members)

    def emit(self, kind: str, **members: object) -> None:
        """Record an event, including the agent's own."""
        self.events.emit(Event(self.events.last + 1, self.now_s, kind, **members))  # type: ignore[arg-type]
