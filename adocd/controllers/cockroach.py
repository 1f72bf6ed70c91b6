"""CockroachDB's store admission, on RocksDB's own delay (cockroachdb pkg/util/admission, io_load_listener.go).

Rules and constants only, of io_load_listener.go (b154c944), admissionpb/io_threshold.go (7fd7ca91) and
store_token_estimation.go (01b72a4c). Every 15 s it works out how many bytes/s level 0 may take in. In all means the new
value has a weight of a half.

    out = max(0, flushed - growth of level 0)                 bytes/s over the 15 s, all column families
    C = mean of out
    s = 2 max(n / 4000, sub / 20)                             the score, of the worst column family
    sub = max(n / 3, min(n, round(level-0 bytes / 5 MiB)))    n level-0 files, in place of sublevels

| score          | compaction tokens, bytes/s, before their mean                                                  |
|----------------|------------------------------------------------------------------------------------------------|
| s < 0.5        | unlimited; their mean takes `out` instead                                                      |
| 0.5 <= s < 1   | C (3 - 2 s), but at least compactions' bytes/s / (7 - base level)                              |
| 1 <= s < 2     | C / 2 (3 - s)                                                                                  |
| 2 <= s         | C / 2                                                                                          |

Flush tokens, where flushes are busy for more than a tenth of the time: f F, with F the mean of flushed bytes / busy
time (bytes/s). The factor f starts at 1 and stays within 0.5 and 1.5: one stop by memtables in the 15 s, as RocksDB
counts them, lowers it by 0.025, 2 to 4 by 0.05, 5 or more by 0.075; without one it rises by 0.025 if at least 0.9 f F
were used.

    R = min(compaction tokens, flush tokens) / a              the delayed write rate, bytes/s
    a = mean of flushed / written bytes, each 0.5 to 3, from 1.75 on

Writers are delayed from 5 files on, where s is 0.5: the slowdown trigger is 5 and level 0 is compacted from 4 files on,
or sooner; with a later trigger tokens would fall to nothing at 5 files (cockroach#115373). Tokens take the place of the
stop; ours is at `l0_files_max` files, because reads search each of them. At an unlimited R the delay is none (1 TiB/s),
neither by files nor by what is pending, nor at the last memtable: only the owner's stops hold writers there. The first
30 s are free (CockroachDB: 15): what leaves level 0 is known from the second interval on. Once a second the law puts R
back where RocksDB has lowered it (adocd.controllers.admitted). R moves by at least a tenth.

Expect minutes of overload with level 0 near 10 files, and reads that search few of them; without admission CockroachDB
saw 109 sublevels in 6 minutes. Does harm to bursts, which are held from the fifth file on, and to loads that go up and
down: whenever level 0 is below 5 files at the end of 15 s, writes run freely for the next 15 s, however many files that
makes (cockroach#109361). Being delayed lets compactions run in parallel, from 5 files on.

Assumes level compaction, and compactions out of level 0 that take less than 15 s. RocksDB merges all of level 0 with
all of level 1 at once; with memtables of 64 MiB under a load that is too much that takes longer, so that `out` is
nothing in some intervals and everything in another, R swings with it, and level 0 grows to several times the 10 files.
It assumes one flush thread: with more, busy times add up, and F is too low. Busy time is that of the flushes that have
ended, from their events. The means begin with their first value (ours). An interval in which column families came or
went, or in which flushes were not reported, changes nothing, nor does the first one after a pause. A column family
whose owner has disabled compaction does not count, and is left alone: RocksDB does not delay for its level 0, and
nothing would make it smaller. Departures: R is at least 1 MiB/s, the guard's floor (HAZARDS 5). Not reachable:
sublevels (with sequential keys many files are one sublevel, and the score is then too high); tokens handed out by the
millisecond with bursts of a sixtieth (RocksDB's own bucket refills every millisecond); the elastic class and with it
disk bandwidth, for RocksDB knows no classes of writes; the constant part of a request's cost, for RocksDB counts bytes;
bytes that are ingested into level 0, which count as growth; and flush tokens while level 0 has fewer than 5 files (a
slowdown trigger of 0 would do that, and the order guard refuses it).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from pydantic import Field

from adocd.controllers.admitted import ROOM_FILES, UNLIMITED_BYTES_PER_S, DelayLimits, HeldRate, released
from adocd.controllers.base import Controller, Needs, Parameters
from adocd.controllers.settings import Wishes
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.sample import ColumnFamilySample, Sample

#: The interval, and how much earlier a tick's jitter may end it (adocd.daemon.control.law).
_INTERVAL_S, _EARLY_S = 15.0, 0.1
_FILES_OVERLOADED, _SUBLEVELS_OVERLOADED, _FILES_A_SUBLEVEL = 4000, 20, 3
_SHARE = 0.5
_COST_LEAST, _COST_FIRST, _COST_MOST = 0.5, 1.75, 3.0
_BUSY_SHARE = 0.1
_FACTOR_LEAST, _FACTOR_MOST, _FACTOR_STEP = 0.5, 1.5, 0.025
_USED_SHARE = 0.9
_OF_FAMILY = frozenset({Knob.LEVEL0_TRIGGER, Knob.LEVEL0_SLOWDOWN, Knob.LEVEL0_STOP})
#: Where s is 0.5, and where level 0 is compacted.
_FREE_FILES = _TRIGGER_FILES = 4


class CockroachParameters(Parameters):
    """Our bound of level 0, and the one constant that follows the size of memtables."""

    l0_files_max: int = Field(
        default=128, ge=23, le=10_000, description="writes stop there, or at the owner's own stop"
    )
    l0_sublevel_bytes: int = Field(
        default=5 * MIB, ge=1, le=1 << 40, description="level 0 counts at most one sublevel for so many bytes"
    )


@dataclass(slots=True)
class _Interval:
    """What has happened since the interval began, in bytes and seconds; None where it was not reported throughout."""

    seconds: float = 0.0
    flushed: float | None = 0.0
    written: float | None = 0.0
    compacted: float | None = 0.0
    flush_bytes: int = 0
    flush_busy_s: float = 0.0
    memtable_stops: int = 0

    def add(self, sample: Sample) -> None:
        self.seconds += sample.interval_s
        self.flushed = _added(self.flushed, sample.flushed_bytes_per_s, sample)
        self.written = _added(self.written, sample.written_bytes_per_s, sample)
        self.compacted = _added(self.compacted, sample.compaction_written_bytes_per_s, sample)
        for event in sample.events:
            if event.kind == "flush_end" and event.bytes is not None and event.elapsed_s:
                self.flush_bytes += event.bytes
                self.flush_busy_s += event.elapsed_s
        self.memtable_stops += sum(cf.stall_counts.get("memtable_stops", 0) for cf in sample.column_families)

    @property
    def is_over(self) -> bool:
        return self.seconds >= _INTERVAL_S - _EARLY_S


class Cockroach(Controller):
    """Let in as much as compactions carry out of level 0, the more the emptier it is."""

    name = "cockroach"
    summary = "CockroachDB's store admission: writes get what compactions carry out of level 0, scaled by its files"
    source = "CockroachDB, pkg/util/admission/io_load_listener.go"
    period_s = 1.0
    window_s = _INTERVAL_S
    knobs = _OF_FAMILY | {Knob.DELAYED_WRITE_RATE}
    needs = Needs(events=("flush",), level_bytes=True, background_rates=True, level_compaction=True)
    parameters_model: ClassVar[type[Parameters]] = CockroachParameters

    def __init__(self, parameters: CockroachParameters) -> None:
        self._parameters = parameters
        self._limits = DelayLimits(_FREE_FILES, parameters.l0_files_max - ROOM_FILES, l0_trigger_most=_TRIGGER_FILES)
        self._wishes = Wishes()
        self._rate = HeldRate()
        self._interval = _Interval()
        #: When the last window ended, of those that this law was given.
        self._seen_s: float | None = None
        #: Level 0 at the interval's begin, by column family; None where nobody has seen it.
        self._level0_bytes: dict[str, int] | None = None
        #: C and the compaction tokens in bytes/s, None before the first; a; F, None before the first; f.
        self._out: float | None = None
        self._tokens: float | None = None
        self._cost = _COST_FIRST
        self._flush_rate: float | None = None
        self._factor = 1.0
        #: R in bytes/s; None before the first.
        self._wanted: int | None = None
        self._score = 0.0

    def step(self, sample: Sample) -> Decision | None:
        """At the end of an interval work out R; hold it meanwhile."""
        if not sample.follows(self._seen_s):
            self._interval, self._level0_bytes = _Interval(), None  # an interval must not span a pause
        self._seen_s = sample.monotonic_s
        self._interval.add(sample)
        if self._interval.is_over:
            ended, self._interval = self._interval, _Interval()
            self._adjust(sample, ended)
        if self._wanted is None:
            return None
        settings = (*self._rate.settings(sample, self._wanted), *self._wishes.not_there_yet(self._held(sample), sample))
        if not settings:
            return None
        drained = f"{(self._out or 0.0) / MIB:.1f} MiB/s leave it"
        return Decision(
            settings,
            signal=f"level 0 scores {self._score:.2f}, {drained}, a byte written is {self._cost:.2f} in level 0",
            rule="cockroach.unlimited" if self._wanted >= UNLIMITED_BYTES_PER_S else "cockroach.tokens",
            reason="writes may bring what compactions carry away, or more while level 0 is small, and flushes can take",
        )

    def _held(self, sample: Sample) -> Iterator[Setting]:
        for cf in sample.column_families:
            is_held = cf.options.compaction_holds_writes
            yield from self._limits.settings(cf, sample) if is_held else released(_OF_FAMILY, cf, sample)

    def _adjust(self, sample: Sample, ended: _Interval) -> None:
        before, now = self._level0_bytes, _level0_bytes(sample)
        self._level0_bytes = now
        if before is None or not now or before.keys() != now.keys() or ended.flushed is None:
            return
        out = max(0.0, ended.flushed - (sum(now.values()) - sum(before.values()))) / ended.seconds
        self._out = _mean(out, self._out)
        families = (cf for cf in sample.column_families if cf.options.compaction_holds_writes)
        self._score = max((_score(cf, self._parameters.l0_sublevel_bytes) for cf in families), default=0.0)
        if ended.flushed and ended.written:
            self._cost = _mean(min(_COST_MOST, max(_COST_LEAST, ended.flushed / ended.written)), self._cost)
        found = [self._compaction_tokens(sample, ended, out), self._flush_tokens(ended)]
        limits = [tokens for tokens in found if tokens is not None]
        self._wanted = int(min(limits) / self._cost) if limits else UNLIMITED_BYTES_PER_S

    def _compaction_tokens(self, sample: Sample, ended: _Interval, out: float) -> float | None:
        """Return the bytes/s that level 0 may take in; None for any number."""
        s, carried = self._score, self._out or 0.0
        if s < 0.5:
            self._tokens = _mean(out, self._tokens)
            return None
        if s < 1.0:
            least = (ended.compacted or 0.0) / ended.seconds / _levels_from_base(sample)
            tokens = max(carried * (3 - 2 * s), least)
        else:
            tokens = carried / 2 * (3 - s) if s < 2.0 else carried / 2
        self._tokens = _mean(tokens, self._tokens)
        return self._tokens

    def _flush_tokens(self, ended: _Interval) -> float | None:
        """Return the bytes/s that flushes may be given; None for any number, and where they are hardly busy."""
        if ended.flush_busy_s <= _BUSY_SHARE * ended.seconds or not ended.flush_bytes:
            return None
        self._flush_rate = _mean(ended.flush_bytes / ended.flush_busy_s, self._flush_rate)
        stops, used = ended.memtable_stops, self._cost * (ended.written or 0.0) / ended.seconds
        if stops:
            self._factor -= _FACTOR_STEP * (1 if stops == 1 else 2 if stops < 5 else 3)
        elif used >= _USED_SHARE * self._factor * self._flush_rate:
            self._factor += _FACTOR_STEP
        self._factor = min(_FACTOR_MOST, max(_FACTOR_LEAST, self._factor))
        return self._factor * self._flush_rate


def _score(cf: ColumnFamilySample, sublevel_bytes: int) -> float:
    n, size = cf.l0_files, cf.level_bytes[0] if cf.level_bytes else 0
    sublevels = max(n / _FILES_A_SUBLEVEL, min(n, int(size / sublevel_bytes + 0.5)))
    return 2 * max(n / _FILES_OVERLOADED, sublevels / _SUBLEVELS_OVERLOADED)


def _levels_from_base(sample: Sample) -> int:
    """Return how often a byte is compacted at least until it is in the last level: levels - base level, 6 or fewer."""
    found = [1]
    for cf in sample.column_families:
        levels = cf.level_bytes or ()
        is_dynamic = (
            sample.options.column_families.get(cf.name, {}).get("level_compaction_dynamic_level_bytes") == "true"
        )
        filled = (level for level, size in enumerate(levels) if level > 0 and size > 0)
        base = next(filled, len(levels) - 1) if is_dynamic else 1
        found.append(len(levels) - base)
    return max(found)


def _level0_bytes(sample: Sample) -> dict[str, int]:
    return {cf.name: cf.level_bytes[0] for cf in sample.column_families if cf.level_bytes}


def _mean(value: float, before: float | None) -> float:
    return value if before is None else before + (value - before) * _SHARE


def _added(so_far: float | None, per_s: float | None, sample: Sample) -> float | None:
    return None if so_far is None or per_s is None else so_far + per_s * sample.interval_s
