"""Speedb's dynamic delay: the nearer a limit, the lower the write rate (speedb-io/speedb, use_dynamic_delay).

From db/column_family.cc (74ae16ae) and memtable/write_buffer_manager.cc (86a3d6c0). It has no memory: what is measured
now gives the rate.

    R = max(16 KiB/s, D / d)                       bytes/s; D is the owner's delayed_write_rate

d is the largest of these, over all column families:

| what delays writes                             | d                                                                |
|------------------------------------------------|------------------------------------------------------------------|
| n level-0 files, n >= slowdown                 | (stop - slowdown) / (stop - n)                                   |
| p pending compaction bytes, p >= soft          | 1 / (1 - k / 100), k = (p - soft) div ((hard - soft) div 100)    |
| the last of more than 3 memtables              | 10                                                               |

With a quota for all memtables (db_write_buffer_size), from 70 % of it on R is at most D (100 - f) / 100, with f the
percent of the remaining 30 % that are used, at least 1. Where a limit is reached RocksDB stops writes; R is then at its
floor. Without a hard limit there is no distance to it, so d is 1 (ours).

All limits are the owner's, or what an operator has pinned, and RocksDB itself begins and ends each delay by them: the
law turns the delayed write rate alone, and only while writes are delayed. A delay begins at D, because d is 1 at a
limit, and afterwards the law gives D back. Every second it sends R again if RocksDB has lowered it since
(adocd.controllers.admitted).

Expect steady throughput under a load that is too much for the database: the rate settles where level 0 no longer grows,
instead of falling by a factor at each look until writes nearly stand still. Does harm, or nothing, where D is a bad
guess: D far above what the device sustains leaves all the braking to the last files before the stop, D far below it
delays more than the device asks for. Being delayed lets compactions run in parallel, as it does without a law.

Departures: R is at least 1 MiB/s, the guard's floor (HAZARDS 5), not 16 KiB/s. It moves by at least a tenth, once a
second and not at each look. Not reachable: one bucket that several databases share, where the lowest rate wins (each
RocksDB has its own); a delay that begins because of the memtables' quota alone, for 7.8 has none (its part applies
while something else delays writes); and the quota of a WriteBufferManager that the host has made itself, for that is no
option.
"""

from collections.abc import Iterator
from typing import ClassVar

from adocd.controllers.admitted import FLOOR_BYTES_PER_S, HeldRate, owners_rate
from adocd.controllers.base import Controller, Parameters
from adocd.model.decision import Decision
from adocd.model.knob import MIB, Knob
from adocd.model.sample import ColumnFamilySample, Sample

#: The divisor at the last of more than 3 memtables.
_LAST_MEMTABLE = 10
_MEMTABLES_WITHOUT_DELAY = 3
_QUOTA = "db_write_buffer_size"
_QUOTA_BEGINS_PCT = 70


class Speedb(Controller):
    """Delay writes the more, the nearer level 0, pending compaction bytes or memtables are to their limits."""

    name = "speedb"
    summary = "Speedb's dynamic delay: the delayed write rate falls in proportion to what is left before a stop"
    source = "Speedb, db/column_family.cc, use_dynamic_delay"
    period_s = 1.0
    knobs = frozenset({Knob.DELAYED_WRITE_RATE})
    reads = frozenset({Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP, Knob.SOFT_PENDING_LIMIT, Knob.HARD_PENDING_LIMIT})
    parameters_model: ClassVar[type[Parameters]] = Parameters

    def __init__(self, parameters: Parameters) -> None:
        del parameters
        self._rate = HeldRate()

    def step(self, sample: Sample) -> Decision | None:
        """Set the delayed write rate to what is left before the nearest limit."""
        most = owners_rate(sample)
        if most is None:
            return None
        wanted, nearest = min(_rates(sample, most), default=(most, "nothing delays writes"))
        settings = self._rate.settings(sample, max(wanted, min(most, FLOOR_BYTES_PER_S)))
        if not settings:
            return None
        return Decision(
            settings,
            signal=nearest,
            rule="speedb.delay" if wanted < most else "speedb.owners-rate",
            reason=f"{wanted * 100 // max(1, most)} % of the owner's {most / MIB:.1f} MiB/s are left before a stop",
        )


def _rates(sample: Sample, most: int) -> Iterator[tuple[int, str]]:
    """Return the rate of everything that delays writes, in bytes/s, and its name."""
    found = [rate for cf in sample.column_families for rate in _rates_of(cf, most)]
    yield from found
    quota = int(sample.options.database.get(_QUOTA, 0))
    if found and quota > 0:
        used = sum(cf.memtables_bytes for cf in sample.column_families)
        begins = quota * _QUOTA_BEGINS_PCT // 100
        if used >= begins:
            percent = max(1, (used - begins) * 100 // max(1, quota - begins))
            yield most * max(0, 100 - percent) // 100, f"memtables take {used // MIB} of {quota // MIB} MiB"


def _rates_of(cf: ColumnFamilySample, most: int) -> Iterator[tuple[int, str]]:
    options, n, pending = cf.options, cf.l0_delay_trigger_count, cf.pending_compaction_bytes
    number, unflushed = options.max_write_buffer_number, cf.immutable_memtables
    # The last one is being filled, and there is something to flush (GetWriteStallConditionAndCause).
    is_last = number > _MEMTABLES_WITHOUT_DELAY and unflushed >= number - 1
    if is_last and unflushed > options.min_write_buffer_number_to_merge:
        yield most // _LAST_MEMTABLE, f"{cf.name} fills the last of its {number} memtables"
    if not options.compaction_holds_writes:
        return
    slowdown, stop = options.level0_slowdown_writes_trigger, options.level0_stop_writes_trigger
    if n >= slowdown > 0:
        left = max(0, stop - n)
        yield most * left // max(1, stop - slowdown), f"level 0 of {cf.name} has {n} files of {stop}"
    soft, hard = options.soft_pending_compaction_bytes_limit, options.hard_pending_compaction_bytes_limit
    if pending >= soft > 0:
        left_pct = max(0, 100 - (pending - soft) // max(1, (hard - soft) // 100)) if hard else 100
        of = f"{hard // MIB} MiB" if hard else "no limit"
        yield most * left_pct // 100, f"{pending // MIB} MiB of {cf.name} wait for compaction, of {of}"
