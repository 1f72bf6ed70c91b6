"""SILK's bandwidth allocation, with deeper compactions held back in peaks (silk-atc19, section 5; released code).

    I = max(T - C - e, floor)                                 bytes/s for flushes and compactions

T is the bandwidth that the device gives the store, C the bandwidth that clients use, e a margin for fluctuation. The
law moves the rate limiter to I if that changes its rate by at least 10 MB/s (10^6 bytes; 5.2.1). C is the bytes/s that
clients read and write: Sample.written_bytes_per_s plus the tickers rocksdb.bytes.read,
rocksdb.number.multiget.bytes.read and rocksdb.db.iter.bytes.read; of these only the first is required. Reads served
from a cache count too: C is then too high, and compaction gets less than it could have.

A peak is C > 0.75 T (released code). In a peak the law holds compactions below level 1: it raises
max_bytes_for_level_base so far that no level counts as full, and lowers it again in the valley. Flushes, L0-L0 and
L0-L1 go on, because RocksDB scores L0 by its files. During a hold RocksDB's pending compaction bytes see no debt, and
they jump on release, so both pending limits are off until the base is back. The law computes the debt from the levels'
sizes and the owner's base; at `debt_bytes_max` it ends the hold whatever the load. L1 grows during a hold, so L0-L1
compactions cost more: long peaks cost more than they save.

Once the base is back, both pending limits are at a stage: the owner's hard limit, doubled until it is at least twice
what waits, which is the debt or the pending compaction bytes, whichever is more. The stage only comes down. So the hard
limit is the owner's again as soon as that is twice what waits, and the soft one as soon as less waits than it allows.
An owner without a hard limit has none in between; then the stage begins at the soft limit.

Both L0 limits are out of the way, as in 6.1. Our `l0_files_max` replaces them: it stops writes and never slows them
down. The operator sets `floor_bytes_per_s`: while deeper work is paused, the paper gives flushes and L0-L1 50 of
200 MB/s (our default is that quarter), the released code 10. `margin_bytes_per_s`: the paper names no value; ours is
its threshold, 10 MB/s. `hold_dwell_s`, the least time in either state, is ours too: each change costs a SetOptions.

Switches, as in figure 8C: `hold=false` is bandwidth only, `bandwidth=false` hold only. What the ADOC paper calls
SILK-D, -P and -O (its table 3) are option values and not this law. SILK's own are 4 threads and two memtables of
128 MiB (6.1); the owner has to set them.

Period: SILK measures every 10 ms. From outside the limit is 50 ms (an agent caches its snapshot that long), and the
daemon applies a decision once per tick, with a write to the journal. Measured on stock db_bench (fillrandom, 20 s): run
every second, the law moves the limiter 16 times and sees a C of at most 78 MB/s; run every 0.2 s, 44 times and
132 MB/s, and the daemon takes 1 % of a core. A tick of 50 ms takes 4 %. So the law asks for 0.2 s. With the daemon's
default tick of 1 s it runs once a second; a smaller `[daemon] tick_s` makes it faster. It misses peaks shorter than a
tick.

Assumes level compaction and a load with valleys. Does harm where there are none (debt grows to its bound and is then
compacted all at once), and where T is wrong. Not reachable: preemption, pausing a running compaction, a thread reserved
for L0-L1, bandwidth for single jobs. A running deep compaction goes on, at the limiter's rate.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pydantic import Field, model_validator

from adocd.controllers.base import Controller, Needs, Parameters
from adocd.controllers.levels import debt_bytes
from adocd.controllers.reads import BYTES_TICKERS, read_bytes_per_s
from adocd.controllers.settings import Wishes
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.options import NO_LEVEL_IS_FULL_BYTES
from adocd.model.reading import owners_value, value_now
from adocd.model.sample import ColumnFamilySample, Sample

_MB = 1_000_000
#: The floor is this part of the bandwidth, unless the operator sets one: 1 / 4 (6.1).
FLOOR_OF_BANDWIDTH = 4
_PEAK_PCT = 75
_HELD = frozenset(
    {
        Knob.LEVEL_BASE_SIZE,
        Knob.SOFT_PENDING_LIMIT,
        Knob.HARD_PENDING_LIMIT,
        Knob.LEVEL0_SLOWDOWN,
        Knob.LEVEL0_STOP,
    }
)


class SilkParameters(Parameters):
    """The device's bandwidth, the floor for internal work, and the switches of figure 8C."""

    bandwidth_bytes_per_s: int = Field(
        ge=4 * MIB, le=1 << 50, description="T: the bandwidth that the device gives the store"
    )
    floor_bytes_per_s: int | None = Field(default=None, ge=MIB, description="null: a quarter of T, as in the paper")
    margin_bytes_per_s: int = Field(default=10 * _MB, ge=0, description="e")
    step_bytes_per_s: int = Field(default=10 * _MB, ge=1, description="smallest change of rate")
    bandwidth: bool = Field(default=True, description="false: hold only")
    hold: bool = Field(default=True, description="false: bandwidth only")
    hold_dwell_s: float = Field(default=10.0, ge=0, le=3600)
    debt_bytes_max: int = Field(default=64 << 30, ge=MIB)
    l0_files_max: int = Field(default=128, ge=4, le=10_000)

    @model_validator(mode="after")
    def _makes_sense(self) -> "SilkParameters":
        if not (self.bandwidth or self.hold):
            raise ValueError("bandwidth and hold are both false, which leaves nothing to do")
        if self.floor_bytes_per_s is not None and self.floor_bytes_per_s > self.bandwidth_bytes_per_s:
            raise ValueError(
                f"floor_bytes_per_s ({self.floor_bytes_per_s}) is above bandwidth_bytes_per_s "
                f"({self.bandwidth_bytes_per_s})"
            )
        return self


class Silk(Controller):
    """Give internal work the bandwidth that clients leave, and hold deeper compactions while clients take most."""

    name = "silk"
    summary = "SILK: internal work gets the bandwidth that clients leave, deeper compactions wait in peaks"
    source = "SILK, ATC'19, section 5, and its released code"
    period_s = 0.2
    knobs = _HELD | {Knob.RATE_LIMIT}
    switches: ClassVar[Mapping[Knob, str]] = {Knob.RATE_LIMIT: "bandwidth=false", **dict.fromkeys(_HELD, "hold=false")}
    needs = Needs(tickers=BYTES_TICKERS[:1], level_bytes=True, level_compaction=True)
    parameters_model: ClassVar[type[Parameters]] = SilkParameters
    device_rate = "bandwidth_bytes_per_s"

    def __init__(self, parameters: SilkParameters) -> None:
        self._parameters = parameters
        limited = {Knob.RATE_LIMIT} if parameters.bandwidth else set()
        self.knobs = frozenset(limited | _HELD if parameters.hold else limited)
        if not parameters.hold:
            self.needs = Needs(tickers=BYTES_TICKERS[:1])
        self._wishes = Wishes()
        self._is_held = False
        self._since_s: float | None = None

    def step(self, sample: Sample) -> Decision | None:
        """Set the limiter to the bandwidth that clients leave, and hold or release deeper compactions."""
        clients = _client_bytes_per_s(sample)
        if clients is None and self._since_s is None:
            return None
        p = self._parameters
        settings = list(self._limiter(sample, clients)) if p.bandwidth and clients is not None else []
        if p.hold:
            self._hold_or_release(sample, clients)
            settings += self._wishes.not_there_yet(self._held(sample), sample)
        if not settings:
            return None
        signal = "what clients use is not reported"
        if clients is not None:
            share = clients * 100 // p.bandwidth_bytes_per_s
            signal = f"clients use {clients // _MB} MB/s, {share} % of the bandwidth"
        return Decision(
            tuple(settings),
            signal=signal,
            rule="silk.peak" if self._is_held else "silk.valley",
            reason="internal work gets what clients leave, and its deeper part waits for the valley",
        )

    def _limiter(self, sample: Sample, clients: int) -> Iterator[Setting]:
        p, now = self._parameters, value_now(Knob.RATE_LIMIT, sample)
        floor = p.floor_bytes_per_s or p.bandwidth_bytes_per_s // FLOOR_OF_BANDWIDTH
        left = p.bandwidth_bytes_per_s - clients - p.margin_bytes_per_s
        wanted = max(left, floor)
        if now is not None and abs(wanted - now) >= p.step_bytes_per_s:
            yield Setting(Knob.RATE_LIMIT, wanted)

    def _hold_or_release(self, sample: Sample, clients: int | None) -> None:
        """Choose the state. If clients' use is unknown it stays, but a hold still ends at its debt bound."""
        p = self._parameters
        if self._since_s is None:
            self._since_s = sample.monotonic_s - p.hold_dwell_s
        peak = self._is_held if clients is None else clients * 100 > p.bandwidth_bytes_per_s * _PEAK_PCT
        within = _debt_bytes(sample) < p.debt_bytes_max
        may_turn = sample.monotonic_s - self._since_s >= p.hold_dwell_s
        held = self._is_held
        if held and (not within or (not peak and may_turn)):
            self._is_held = False
        elif not held and peak and within and may_turn:
            self._is_held = True
        if self._is_held is not held:
            self._since_s = sample.monotonic_s

    def _held(self, sample: Sample) -> Iterator[Setting]:
        for cf in sample.column_families:
            yield Setting(Knob.LEVEL0_SLOWDOWN, self._parameters.l0_files_max, cf.name)
            yield Setting(Knob.LEVEL0_STOP, self._parameters.l0_files_max, cf.name)
            base = owners_value(Knob.LEVEL_BASE_SIZE, sample, cf.name)
            if base is None or base >= NO_LEVEL_IS_FULL_BYTES:
                continue
            yield Setting(Knob.LEVEL_BASE_SIZE, NO_LEVEL_IS_FULL_BYTES if self._is_held else base, cf.name)
            yield from self._limits(cf, sample)

    def _limits(self, cf: ColumnFamilySample, sample: Sample) -> Iterator[Setting]:
        """Keep the pending limits off while the base is raised, and bring them back in stages.

        A limit in force that is off, or above the owner's, is one that a hold has lifted, also by another daemon.
        """
        soft, hard = (
            owners_value(knob, sample, cf.name) for knob in (Knob.SOFT_PENDING_LIMIT, Knob.HARD_PENDING_LIMIT)
        )
        if self._is_held or cf.options.max_bytes_for_level_base_bytes >= NO_LEVEL_IS_FULL_BYTES:
            to_soft = to_hard = 0
        else:
            waiting = max(debt_bytes(cf, sample), cf.pending_compaction_bytes)
            stage = _stage(hard or soft or 0, waiting)
            to_hard = _coming_down(cf.options.hard_pending_compaction_bytes_limit, hard or 0, stage)
            lifted = _coming_down(cf.options.soft_pending_compaction_bytes_limit, soft or 0, to_hard or stage)
            to_soft = lifted if waiting >= (soft or 0) else soft or 0
        if soft is not None:
            yield Setting(Knob.SOFT_PENDING_LIMIT, to_soft, cf.name)
        if hard is not None:
            yield Setting(Knob.HARD_PENDING_LIMIT, to_hard, cf.name)


def _stage(limit: int, waiting: int) -> int:
    """Double a limit, in bytes, until it is at least twice what waits; 0 is no limit and stays 0."""
    while 0 < limit < 2 * waiting:
        limit *= 2
    return limit


def _coming_down(now: int, owners: int, stage: int) -> int:
    """Return where a limit goes from the one in force: never up, and not below the owner's; 0 is no limit."""
    if owners == 0 or 0 < now <= owners:
        return owners
    return max(owners, min(stage, now or stage))


def _client_bytes_per_s(sample: Sample) -> int | None:
    written, read = sample.written_bytes_per_s, read_bytes_per_s(sample)
    if written is None or read is None:
        return None
    return int(written + read)


def _debt_bytes(sample: Sample) -> int:
    return sum(debt_bytes(cf, sample) for cf in sample.column_families)
