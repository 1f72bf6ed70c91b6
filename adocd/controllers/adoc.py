"""ADOC as the paper describes it (adoc-fast23, section 5).

In every window of 1 s, take the first overflow that holds, in the paper's order, and apply its row. If none holds,
change nothing: the paper lets no knob decay and has no cool-down.

| overflow   | threads | batch   |
|------------|---------|---------|
| level 0    | + 2     | same    |
| redundancy | + 2     | / 2     |
| memory     | / 2     | + 64 MiB |

Threads are max_background_jobs, or the size of the thread pools where that option cannot be changed
(adocd.model.threads). RocksDB itself gives flushes max(1, jobs / 4), which is the paper's quarter. The
batch is write_buffer_size together with target_file_size_base and max_bytes_for_level_base.

Constants: the steps of 2 threads and 64 MiB are from section 5 ("the default thread number and batch size"), the
largest batch of 512 MiB is from section 6.1. The smallest batch of 64 MiB and the most threads, 20, are from the
authors' code, because the paper gives no such bounds.

With several column families, each sets its batch by its own overflow. The threads are shared: the first overflow in
the paper's order, over all column families, sets them.

Made for level compaction. Under universal or FIFO compaction the batch is write_buffer_size alone, redundancy overflow
is never seen (RocksDB reports no pending bytes), and under universal compaction level 0 counts sorted runs, as in
RocksDB. Does harm where memory is short (the memtables grow up to eightfold). Where the device is the limit, more
threads only divide it. Reads may get slower with large level-0 files.

It can shrink what the owner has configured: max_bytes_for_level_base becomes level0_file_num_compaction_trigger x
min_write_buffer_number_to_merge x batch, as in the authors' code. The first memory step alone turns an owner's
4,096 MiB into 512 MiB, which was seen to cause 84 s of stalls by pending compaction bytes where `fixed` had none. The
same goes for target_file_size_base. This is the paper's law, so it stays; the trigger is the owner's. The decision's
reason says so, `adocctl lint` warns of it beforehand, and `tune_batch` = false leaves all three options alone.

Everything can be reached from outside: all three knobs are dynamic options.
"""

from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field, model_validator

from adocd.controllers.base import Controller, Parameters
from adocd.controllers.settings import halved, raised
from adocd.model.decision import Decision, Setting
from adocd.model.in_words import exact_size
from adocd.model.knob import MIB, Knob
from adocd.model.overflow import PRECEDENCE, Overflow
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.stall import counted

_REASONS = {
    Overflow.LEVEL0: "more threads give the L0-L1 compaction a chance and slow the flushes that feed level 0",
    Overflow.REDUNDANCY: "more threads compact deeper levels, and smaller batches make finer compactions",
    Overflow.MEMORY: "fewer threads leave the flush more bandwidth, and a larger batch makes flushes fewer",
}


class AdocBounds(Parameters):
    """Bounds of the two knobs, and the paper's two reduced forms."""

    tune_threads: bool = Field(default=True, description="false is the paper's ADOC-B: batch only")
    tune_batch: bool = Field(default=True, description="false is the paper's ADOC-T: threads only")
    threads_min: int = Field(default=2, ge=1, le=128)
    threads_max: int = Field(default=20, ge=1, le=128)
    threads_step: int = Field(default=2, ge=1, le=64)
    batch_min_bytes: int = Field(default=64 * MIB, ge=MIB)
    batch_max_bytes: int = Field(default=512 * MIB, ge=MIB, le=4096 * MIB)

    @model_validator(mode="after")
    def _ordered(self) -> "AdocBounds":
        if self.threads_min > self.threads_max:
            raise ValueError(f"threads_min ({self.threads_min}) is above threads_max ({self.threads_max})")
        if self.batch_min_bytes > self.batch_max_bytes:
            raise ValueError(
                f"batch_min_bytes ({exact_size(self.batch_min_bytes)}) is above "
                f"batch_max_bytes ({exact_size(self.batch_max_bytes)})"
            )
        if not (self.tune_threads or self.tune_batch):
            raise ValueError("tune_threads and tune_batch are both false, which leaves nothing to tune")
        return self

    def turned(self) -> frozenset[Knob]:
        """Return the knobs that the law may change."""
        turned = {Knob.BACKGROUND_JOBS: self.tune_threads, Knob.BATCH_SIZE: self.tune_batch}
        return frozenset(knob for knob, tuned in turned.items() if tuned)


class AdocParameters(AdocBounds):
    """The bounds, and the paper's step of the batch."""

    batch_step_bytes: int = Field(default=64 * MIB, ge=MIB)


class Adoc(Controller):
    """Additive increase, multiplicative decrease of threads and batch size, by the overflow detected."""

    name = "adoc"
    summary = "ADOC: background threads and batch size by the overflow detected, as the paper has it"
    source = "ADOC, FAST'23, section 5"
    period_s = 1.0
    knobs = frozenset({Knob.BACKGROUND_JOBS, Knob.BATCH_SIZE})
    reads = frozenset({Knob.LEVEL0_SLOWDOWN, Knob.SOFT_PENDING_LIMIT})
    switches: ClassVar[Mapping[Knob, str]] = {
        Knob.BACKGROUND_JOBS: "tune_threads=false",
        Knob.BATCH_SIZE: "tune_batch=false",
    }
    parameters_model: ClassVar[type[Parameters]] = AdocParameters

    def __init__(self, parameters: AdocParameters) -> None:
        self._parameters = parameters
        self.knobs = parameters.turned()

    def step(self, sample: Sample) -> Decision | None:
        """Apply the row of the first overflow that holds."""
        by_family = {cf.name: cf.overflow[0] for cf in sample.column_families if cf.overflow}
        if not by_family:
            return None
        leading = min(by_family.values(), key=PRECEDENCE.index)
        settings = [*self._threads(sample, leading), *self._batches(sample, by_family)]
        if not settings:
            return None
        return Decision(
            settings=tuple(settings),
            signal=_signal(sample, by_family, leading),
            rule=f"adoc.{leading}",
            reason=_REASONS[leading],
        )

    def _threads(self, sample: Sample, overflow: Overflow) -> list[Setting]:
        p = self._parameters
        now = sample.background_jobs
        if not p.tune_threads or now is None:
            return []
        if overflow is Overflow.MEMORY:
            wanted = halved(now, p.threads_min)
        else:
            most = min(p.threads_max, sample.background_jobs_max or p.threads_max)
            wanted = raised(now, p.threads_step, most)
        return [] if wanted == now else [Setting(Knob.BACKGROUND_JOBS, wanted)]

    def _batches(self, sample: Sample, overflows: dict[str, Overflow]) -> list[Setting]:
        if not self._parameters.tune_batch:
            return []
        settings = []
        for cf in sample.column_families:
            now = cf.options.write_buffer_size_bytes
            wanted = self._batch(now, overflows.get(cf.name))
            if wanted != now:
                settings.append(Setting(Knob.BATCH_SIZE, wanted, cf.name))
        return settings

    def _batch(self, now: int, overflow: Overflow | None) -> int:
        """Step the batch. A bound never reverses a step: a batch outside the bounds stays or moves inwards."""
        p = self._parameters
        if overflow is Overflow.MEMORY:
            return raised(now, p.batch_step_bytes, p.batch_max_bytes)
        if overflow is Overflow.REDUNDANCY:
            return halved(now, p.batch_min_bytes)
        return now


def _signal(sample: Sample, by_family: dict[str, Overflow], leading: Overflow) -> str:
    cf = next(cf for cf in sample.column_families if by_family.get(cf.name) is leading)
    return f"{leading} overflow in column family {cf.name}: {_evidence(cf, leading)}"


def _evidence(cf: ColumnFamilySample, overflow: Overflow) -> str:
    if overflow is Overflow.LEVEL0:
        runs = f" and {cf.further_runs} further sorted runs" if cf.further_runs else ""
        return f"{cf.l0_files} L0 files{runs}, slowdown trigger {cf.options.level0_slowdown_writes_trigger}"
    if overflow is Overflow.REDUNDANCY:
        limit = cf.options.soft_pending_compaction_bytes_limit
        return f"{cf.pending_compaction_bytes} pending compaction bytes, soft limit {limit}"
    stalls = counted(cf.stall_counts, "memtable")
    return f"{cf.immutable_memtables} immutable memtables, {stalls} memtable stalls in the window"
