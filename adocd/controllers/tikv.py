"""TiKV's flow controller, on RocksDB's own delay (tikv singleton_flow_controller.rs, 74a806ae; config.rs).

From src/storage/txn/flow_controller and components/tikv_util/src/smoother.rs. It is driven by events, judges signals by
windows of their last values (adocd.controllers.recent) and keeps a limit R in bytes/s, or none. p90 is the 90th
percentile of the flow: what clients wrote in each of the last 30 s in which they wrote.

| at                             | when                                  | then                                       |
|--------------------------------|---------------------------------------|--------------------------------------------|
| a flush's end, and the end of  | n > 20, no limit                      | R = 1.25 x the last limit; else R = p90    |
| a compaction out of level 0 or | n > 20, limit                         | R x 0.8                                    |
| within it; n its files         | n <= 20, limit                        | no limit, at once                          |
| a flush's end in the family    | mean of 20 > 5, no limit              | R = p90                                    |
| with the most immutable        | mean of 20 > 5, limit, m rose         | R - 1 MiB/s, owing one more                |
| memtables m                    | mean of 20 > 5, limit, m fell         | R + 1 MiB/s, owing one less                |
|                                | mean <= 5 or m < 5                    | no limit if m began it; else R + 1 MiB/s   |
|                                |                                       | for each that is owed                      |
| a compaction's end, in the     | x, the mean of log2(pending bytes)    | new = (x - log2 soft) / (log2 hard - log2  |
| family with the highest x      | of up to 300 s, is at least log2 soft | soft); drop = 0.6 drop + 0.4 new, at most  |
|                                |                                       | 0.01 from 0, at most 1                     |
|                                | x < log2 soft                         | drop = 0                                   |

The family that has begun a limit by level 0 holds it; another one takes over when it has 4 files more than the holder's
highest of 20. While memtables set R, level 0 does not. A limit above 200 MiB/s is none (the rate is then 1 TiB/s). A
column family whose owner has disabled compaction limits nothing by level 0: RocksDB does not delay for it either. After
its start a signal counts only once it has been below its limit, or has risen (the newer half of its window by more than
2 on average, pending bytes over 60 s or more): a database that is found full is not held at once.

TiKV was made similar to RocksDB on purpose (tikv#10978), so most of it can be left to RocksDB. The slowdown trigger is
21, set beforehand, and while there is no limit the delayed write rate is the one at which the next limit will begin:
RocksDB then begins it at the very flush, and ends it. The stop trigger is 36, or the owner's if that is higher. A
family whose level 0 does not count yet keeps its owner's limits, and the rate is the owner's until all count. Where
RocksDB delays without a limit of ours, at the last memtable or the soft limit, the rate is p90. It moves by at least a
tenth, and is put back when RocksDB has lowered it (adocd.controllers.admitted).

TiKV drops a share of requests for pending bytes, and its clients retry. From outside the share is taken off the rate
instead, and the soft limit begins that delay: R = (1 - drop) x the limit, or the p90 from before the drop began (ours:
a rate would fall for ever by its own success otherwise). There is no hard limit.

Expect no full stops where load exceeds what the disk takes for long, at a lower peak (tikv#10249), and no throttling by
bursts of debt (tikv#11081). Nothing at a low load. Does harm where the owner relied on the hard limit of pending bytes,
which is off, and with a soft limit of 192 GiB compactions hurry only from 48 GiB on (tikv#18994 names that mistake):
give `soft_pending_bytes` and `hard_pending_bytes` that suit the disk. Level 0 may have one file more than RocksDB's
default before writes are delayed.

Assumes level compaction. Departures: R is at least 1 MiB/s, the guard's floor (HAZARDS 5), not 16 KiB/s; events of one
second count with the figures at its end. Not reachable: the drop itself; the fork's disable_write_stall, so RocksDB's
own stops stay: by memtables always, for the law gives no database more memory. The memtable rows only set the rate:
RocksDB begins to delay at the last of more than 3 memtables, so they work with a max_write_buffer_number of 7, later
with more, and never with fewer.
"""

from collections.abc import Iterator
from typing import ClassVar

from pydantic import Field, model_validator

from adocd.controllers.admitted import ROOM_FILES, UNLIMITED_BYTES_PER_S, DelayLimits, HeldRate, released
from adocd.controllers.base import Controller, Needs, Parameters
from adocd.controllers.flow_control import LIMIT_MOST_BYTES_PER_S, FlowControl, Thresholds
from adocd.controllers.settings import Wishes
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.sample import Sample

_GIB = 1 << 30
#: The stop trigger is at least this, RocksDB's own default.
_STOP_FILES = 36
_LIMITS = frozenset({Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP, Knob.SOFT_PENDING_LIMIT, Knob.HARD_PENDING_LIMIT})


class TikvParameters(Parameters):
    """TiKV's thresholds; each default is TiKV's."""

    memtables_max: int = Field(default=5, ge=1, le=64, description="immutable memtables; more on average limit")
    l0_files_max: int = Field(default=20, ge=1, le=10_000, description="files in level 0; more limit")
    soft_pending_bytes: int = Field(default=192 * _GIB, ge=MIB, description="pending bytes from which on R is lowered")
    hard_pending_bytes: int = Field(default=1024 * _GIB, ge=MIB, description="pending bytes at which R is the lowest")

    @model_validator(mode="after")
    def _makes_sense(self) -> "TikvParameters":
        if self.hard_pending_bytes <= self.soft_pending_bytes:
            raise ValueError(
                f"hard_pending_bytes ({self.hard_pending_bytes}) is not above soft_pending_bytes "
                f"({self.soft_pending_bytes})"
            )
        return self


class Tikv(Controller):
    """Limit writes by level 0, memtables and pending bytes, through RocksDB's own delay."""

    name = "tikv"
    summary = "TiKV's flow controller: a limit that begins at the recent flow and follows level 0, on RocksDB's delay"
    source = "TiKV, singleton_flow_controller.rs"
    period_s = 1.0
    knobs = _LIMITS | {Knob.DELAYED_WRITE_RATE}
    needs = Needs(events=("flush", "compaction"), level_compaction=True)
    parameters_model: ClassVar[type[Parameters]] = TikvParameters

    def __init__(self, parameters: TikvParameters) -> None:
        p = parameters
        self._wishes = Wishes()
        self._flow_control = FlowControl(
            Thresholds(p.memtables_max, p.l0_files_max, p.soft_pending_bytes, p.hard_pending_bytes)
        )
        self._limits = DelayLimits(
            l0_files=p.l0_files_max,
            held_to_l0_files=_STOP_FILES - ROOM_FILES,
            soft_pending_bytes=p.soft_pending_bytes,
            hard_pending_bytes=0,
        )
        self._rate = HeldRate()

    def step(self, sample: Sample) -> Decision | None:
        """Take in the window's events, and put the limit, or the next one, on RocksDB."""
        self._take_in(sample)
        settings = (
            *self._rate.settings(sample, self._wanted(sample)),
            *self._wishes.not_there_yet(self._held(sample), sample),
        )
        return Decision(settings, *self._words(sample)) if settings else None

    def _take_in(self, sample: Sample) -> None:
        control, now_s = self._flow_control, sample.monotonic_s
        control.look(sample.column_families, sample.written_bytes_per_s, now_s)
        families = {cf.name: cf for cf in sample.column_families}
        most_immutable = max((cf.immutable_memtables for cf in sample.column_families), default=0)
        for event in sample.events:
            cf = families.get(event.column_family or "")
            if cf is not None and event.kind == "flush_end":
                control.memtables(cf, most_immutable, now_s)
                control.level0(cf, now_s)
            elif cf is not None and event.kind == "compaction_end":
                if event.base_level == 0:
                    control.level0(cf, now_s)
                control.pending(cf, now_s)

    def _held(self, sample: Sample) -> Iterator[Setting]:
        for cf in sample.column_families:
            counts = self._flow_control.counts(cf.name) and cf.options.compaction_holds_writes
            yield from self._limits.settings(cf, sample) if counts else released(_LIMITS, cf, sample)

    def _wanted(self, sample: Sample) -> int | None:
        """Return the delayed write rate in bytes/s: the limit, or the next one; None for the owner's."""
        control = self._flow_control
        families = [cf for cf in sample.column_families if cf.options.compaction_holds_writes]
        if control.limit is not None:
            rate = control.limit
        elif control.drop:
            rate = control.offered
        elif not all(control.counts(cf.name) for cf in families):
            return None  # the owner's limits delay, and a flow that they hold says nothing
        elif sample.condition == "delayed" and not any(cf.l0_files > self._limits.l0_files for cf in families):
            rate = control.flow  # by the last memtable, or by debt that is not dropped yet: here TiKV limits nothing
        elif control.next_limit > LIMIT_MOST_BYTES_PER_S:
            return UNLIMITED_BYTES_PER_S
        else:
            rate = control.next_limit
        return int((1 - control.drop) * rate) if rate else None

    def _words(self, sample: Sample) -> tuple[str, str, str]:
        """Return the decision's signal, rule and reason."""
        control = self._flow_control
        most = max(sample.column_families, key=lambda cf: cf.l0_files, default=None)
        files = "no column family" if most is None else f"{most.l0_files} files in level 0 of {most.name}"
        drop = f", {control.drop:.0%} taken off for pending bytes" if control.drop else ""
        signal = f"{files}, a flow of {control.flow / MIB:.1f} MiB/s{drop}"
        if control.limit is None:
            return signal, "tikv.unlimited", "this is the rate at which RocksDB begins the next delay"
        by = "memtables limit" if control.holder is None else f"level 0 of {control.holder} limits"
        return signal, "tikv.limited", f"{by} writes to {control.limit / MIB:.1f} MiB/s"
