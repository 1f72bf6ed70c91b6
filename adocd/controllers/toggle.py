"""Automatic compaction off while flushes fill the device (warlo 3.3 to 3.5), and back on in stages.

Every 10 s it measures, in whole percent of `cap_bytes_per_s`: flush %, the bytes/s that flushes write, and total %,
those of flushes and compactions. The operator gives the cap: the rate that flushes alone reach on the device (the
thesis: 190 MB/s; its limiter was set to 380 because RocksDB halves it internally).

| when                           | compaction                                                        |
|--------------------------------|-------------------------------------------------------------------|
| total >= 90 and flush >= 50    | off; once it is seen off, the L0 trigger out of the way (2^30)    |
| total <= 90 and flush < 50     | on, and the L0 trigger back                                       |
| no I/O at all                  | on (the thesis leaves it as it is)                                |
| else                           | as it is                                                          |

On is as the owner has it: a program that disables compaction around a bulk load of its own keeps it so.

While the law acts (3.5): L0 slowdown and stop triggers out of the way while compaction is off, no slowdown by pending
bytes, 4 flush and 2 compaction threads, at least 6 memtables, and 2 subcompactions where that option is dynamic.
delayed_write_rate is at least the cap, because with more than 3 memtables RocksDB delays writes by their number alone,
whatever the triggers are. The old-style thread options make max_background_jobs ineffective, so the law cannot share
threads with ADOC; `tune_threads=false` leaves them alone. With one flush thread, flushes never fill half of the device,
and the law never switches compaction off (3.5.3).

The law checks the bounds below every second, because level 0 can grow by tens of files in 10 s. It applies the table
only at the end of each 10 s, to the means over them.

Ours, as the thesis has no such thing: `hysteresis_pct` between off and on, against hovering at 50 % (3.3.7 names that
as open); `dwell_s`, the least time in either state; bounds on L0 files, on the bytes in level 0 and on the time off,
each of which switches compaction on whatever the load (level 0 of a column family whose owner has disabled compaction
does not count); `pending_bytes_max` where the thesis has no hard pending limit at all (in the simulator a load without
valleys reached 447 GiB in two hours); and a staged return: when compaction is back on, the slowdown and stop triggers
are both at the bound of L0 files, doubled until level 0 fits in half of it, and come down step by step as level 0
drains. The daemon's own guard bounds the same again (docs/safety.md).

`residual` is the thesis's idea of section 5.2 in the only form that an outside limiter allows: the limiter is at the
cap, and as RocksDB gives flushes priority, compactions get the rest. It is never cap minus flush, because one limiter
serves both. In this mode the law turns nothing else.

Assumes level compaction, one device for the database, and peaks that end: it defers work. Does harm where reads matter
(a read searches every L0 file), where the load has no valleys (the bounds then force a compaction of all of level 0 at
the worst time), and where memory is short. Departures: the thesis counts drains of the limiter by priority, which stock
RocksDB does not split, so the law uses byte rates instead. Compaction rates are RocksDB's own where it has Statistics
(`adocd exec --statistics tickers`). Flush rates, and all rates without Statistics, are computed from finished jobs
(adocd.probes.job_bytes): a window can be wrong by part of a job if no job of its kind has finished yet. The law
switches all column families together.
Not reachable: cancelling a running compaction, which the thesis leaves open as well.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

from pydantic import Field

from adocd.controllers.base import Controller, Needs, Parameters
from adocd.controllers.settings import Wishes
from adocd.model.decision import Decision, Setting
from adocd.model.knob import KNOBS, MIB, Knob
from adocd.model.options import OUT_OF_THE_WAY
from adocd.model.reading import owners_value, value_now
from adocd.model.sample import ColumnFamilySample, Sample

#: What is decided by a mean over so long; as much less as a tick's jitter may make it (adocd.daemon.control.law).
_WINDOW_S, _EARLY_S = 10.0, 0.1
_TOTAL_PCT = 90
_FLUSH_PCT = 50
_THREADS = (Knob.FLUSH_THREADS, Knob.COMPACTION_THREADS)
_KNOBS = frozenset(
    {
        Knob.AUTO_COMPACTION,
        Knob.LEVEL0_TRIGGER,
        Knob.LEVEL0_SLOWDOWN,
        Knob.LEVEL0_STOP,
        Knob.SOFT_PENDING_LIMIT,
        Knob.HARD_PENDING_LIMIT,
        Knob.MEMTABLE_NUMBER,
        Knob.DELAYED_WRITE_RATE,
        Knob.SUBCOMPACTIONS,
        *_THREADS,
    }
)


class ToggleParameters(Parameters):
    """The cap, the thesis's preparation (3.5), and our bounds."""

    cap_bytes_per_s: int = Field(ge=MIB, le=1 << 50, description="the rate that flushes alone reach on the device")
    residual: bool = Field(default=False, description="only hold the limiter at the cap, never switch compaction")
    tune_threads: bool = Field(default=True, description="false leaves the threads alone, e.g. for ADOC")
    flush_threads: int = Field(default=4, ge=1, le=64)
    compaction_threads: int = Field(default=2, ge=1, le=64)
    memtables: int = Field(default=6, ge=2, le=64)
    subcompactions: int = Field(default=2, ge=1, le=64)
    hysteresis_pct: int = Field(
        default=10, ge=0, le=_FLUSH_PCT, description="percent below 50 at which it is on again; 0: as in the thesis"
    )
    dwell_s: float = Field(default=30.0, ge=0, le=3600, description="least time off, and on")
    off_max_s: float = Field(default=300.0, ge=1, le=86400)
    l0_files_max: int = Field(default=128, ge=4, le=10_000)
    l0_bytes_max: int = Field(default=16 << 30, ge=MIB, description="most bytes in level 0 while compaction is off")
    pending_bytes_max: int = Field(
        default=256 << 30, ge=MIB, description="both pending limits, if the owner's are lower"
    )


class Toggle(Controller):
    """Switch automatic compaction by the share of the device that flushes take."""

    name = "toggle"
    summary = "compaction off in write peaks, with bounds and a staged return"
    source = "Warlo 2018, 3.3 to 3.5; residual: 5.2"
    period_s = 1.0
    window_s = _WINDOW_S
    knobs = _KNOBS | {Knob.RATE_LIMIT}
    optional_knobs = frozenset({Knob.SUBCOMPACTIONS})
    switches: ClassVar[Mapping[Knob, str]] = dict.fromkeys(_THREADS, "tune_threads=false")
    needs = Needs(background_rates=True, level_compaction=True)
    parameters_model: ClassVar[type[Parameters]] = ToggleParameters
    device_rate = "cap_bytes_per_s"

    def __init__(self, parameters: ToggleParameters) -> None:
        self._parameters = parameters
        self._wishes = Wishes()
        self._is_off = False
        self._since_s: float | None = None
        self._window = _Window()
        #: When the last window ended, of those that this law was given.
        self._seen_s: float | None = None
        #: Column families that this law has switched off; if one is on again, somebody else has switched it on.
        self._switched: set[str] = set()
        #: Both L0 limits of each column family since compaction was last switched on.
        self._stage: dict[str, int] = {}
        if parameters.residual:
            self.knobs, self.needs = frozenset({Knob.RATE_LIMIT}), Needs()
        else:
            self.knobs = _KNOBS if parameters.tune_threads else _KNOBS - set(_THREADS)

    def step(self, sample: Sample) -> Decision | None:
        """Switch compaction if due, and set the options that the state needs."""
        if self._parameters.residual:
            wanted = Setting(Knob.RATE_LIMIT, self._parameters.cap_bytes_per_s)
            reason = "flushes go first at the limiter, and compactions get the rest"
            return _decision(self._wishes.not_there_yet([wanted], sample), "the cap", "toggle.residual", reason)
        if not sample.follows(self._seen_s):
            self._window = _Window()  # a mean must not span a pause
        self._seen_s = sample.monotonic_s
        window = self._window
        window.add(sample)
        if window.is_over:
            self._window = _Window()
        if self._since_s is None:
            self._since_s = window.began_s - self._parameters.dwell_s
        off_s = sample.monotonic_s - self._since_s
        if self._is_off and (why := self._must_go_on(sample, off_s)) is not None:
            self._turn(sample, off=False)
            return self._decided(sample, f"compaction has been off for {off_s:.0f} s", "toggle.bound", why)
        shares = window.shares(self._parameters.cap_bytes_per_s) if window.is_over else None
        if shares is None:
            return None
        flush_pct, total_pct = shares
        rule, reason = self._switch(sample, flush_pct, total_pct, window.began_s)
        signal = f"flushes take {flush_pct} % of the cap, with compactions {total_pct} %"
        return self._decided(sample, signal, rule, reason)

    def _decided(self, sample: Sample, signal: str, rule: str, reason: str) -> Decision | None:
        return _decision(self._wishes.not_there_yet(self._wanted(sample), sample), signal, rule, reason)

    def _switch(self, sample: Sample, flush_pct: int, total_pct: int, began_s: float) -> tuple[str, str]:
        """Choose the state by the window that began at that time; return the rule and its reason."""
        p, since_s = self._parameters, self._since_s or 0.0
        for_s = sample.monotonic_s - since_s
        if self._is_off:
            idle = total_pct == 0
            calm = total_pct <= _TOTAL_PCT and flush_pct < _FLUSH_PCT - p.hysteresis_pct
            if (idle or calm) and for_s >= p.dwell_s:
                self._turn(sample, off=False)
                return "toggle.on", "the peak is over, and compaction can have the device"
            return "toggle.off", "compaction stays off in the peak"
        peak = total_pct >= _TOTAL_PCT and flush_pct >= _FLUSH_PCT
        # A window in which a bound switched compaction on covers both states.
        if peak and for_s >= p.dwell_s and since_s <= began_s and self._must_go_on(sample, 0.0) is None:
            self._turn(sample, off=True)
            return "toggle.off", "flushes fill half of the device, and compaction would take it from them"
        return "toggle.prepared", "threads, memtables and limits that the switch needs"

    def _turn(self, sample: Sample, *, off: bool) -> None:
        self._is_off, self._since_s = off, sample.monotonic_s
        self._stage.clear()
        self._switched = {cf.name for cf in sample.column_families} if off else set()

    def _must_go_on(self, sample: Sample, off_s: float) -> str | None:
        p = self._parameters
        if off_s >= p.off_max_s:
            return f"compaction was off for {off_s:.0f} s, and the limit is {p.off_max_s:g} s"
        for cf in sample.column_families:
            # Where the owner has disabled compaction, to switch it on elsewhere makes level 0 no smaller.
            counts = not _is_disabled_by_owner(cf, sample)
            if counts and cf.l0_files >= p.l0_files_max:
                return f"level 0 of {cf.name} has {cf.l0_files} files, and the limit is {p.l0_files_max}"
            if counts and _l0_bytes(cf) >= p.l0_bytes_max:
                return f"level 0 of {cf.name} holds {_l0_bytes(cf)} bytes, and the limit is {p.l0_bytes_max}"
            # A column family created since the switch starts with compaction on, and is switched off in turn.
            is_on = value_now(Knob.AUTO_COMPACTION, sample, cf.name) == 1
            if off_s > 0 and is_on and cf.name in self._switched:
                return f"somebody else, or a guard, has switched compaction of {cf.name} on"
            if not is_on:
                self._switched.add(cf.name)
        return None

    def _wanted(self, sample: Sample) -> Iterator[Setting]:
        p = self._parameters
        if p.tune_threads:
            yield Setting(Knob.FLUSH_THREADS, p.flush_threads)
            yield Setting(Knob.COMPACTION_THREADS, p.compaction_threads)
        yield Setting(Knob.SUBCOMPACTIONS, p.subcompactions)
        rate = owners_value(Knob.DELAYED_WRITE_RATE, sample) or 0
        yield Setting(Knob.DELAYED_WRITE_RATE, max(rate, p.cap_bytes_per_s))
        for cf in sample.column_families:
            # Only once compaction is seen off: where a guard or a pin keeps it on, level 0 needs its limits.
            out = self._is_off and value_now(Knob.AUTO_COMPACTION, sample, cf.name) == 0
            limit = OUT_OF_THE_WAY if out else self._limit(cf, sample)
            trigger = OUT_OF_THE_WAY if out else owners_value(Knob.LEVEL0_TRIGGER, sample, cf.name)
            memtables = max(p.memtables, owners_value(Knob.MEMTABLE_NUMBER, sample, cf.name) or 0)
            pending = self._pending_limit(cf, sample)
            values = {
                Knob.AUTO_COMPACTION: 0 if self._is_off else _owners_switch(cf, sample),
                Knob.LEVEL0_SLOWDOWN: limit,
                Knob.LEVEL0_STOP: limit,
                Knob.SOFT_PENDING_LIMIT: pending,
                Knob.HARD_PENDING_LIMIT: pending,
                Knob.MEMTABLE_NUMBER: memtables,
            }
            if trigger is not None:
                values[Knob.LEVEL0_TRIGGER] = trigger
            yield from (Setting(knob, value, cf.name) for knob, value in values.items())

    def _pending_limit(self, cf: ColumnFamilySample, sample: Sample) -> int:
        """Bound the pending compaction bytes; an owner without a limit keeps none."""
        owners = owners_value(Knob.HARD_PENDING_LIMIT, sample, cf.name) or 0
        return max(owners, self._parameters.pending_bytes_max) if owners else 0

    def _limit(self, cf: ColumnFamilySample, sample: Sample) -> int:
        """Double the bound until level 0 fits into half of it; while compaction is on, it only comes down.

        A bound below the owner's compaction trigger would stop writes before RocksDB compacts.
        """
        limit = max(self._parameters.l0_files_max, owners_value(Knob.LEVEL0_TRIGGER, sample, cf.name) or 0)
        while limit < 2 * cf.l0_files and limit < OUT_OF_THE_WAY:
            limit *= 2
        self._stage[cf.name] = min(limit, self._stage.get(cf.name, OUT_OF_THE_WAY), OUT_OF_THE_WAY)
        return self._stage[cf.name]


class _Window:
    """Bytes that flushes and compactions have written since the window began; unmeasured time does not count."""

    def __init__(self) -> None:
        self.began_s = 0.0
        self._long_s = self._measured_s = 0.0
        self._flush_bytes = self._compaction_bytes = 0.0

    def add(self, sample: Sample) -> None:
        if not self._long_s:
            self.began_s = sample.began_s
        self._long_s += sample.interval_s
        flush, compaction = sample.flush_written_bytes_per_s, sample.compaction_written_bytes_per_s
        if flush is not None and compaction is not None:
            self._measured_s += sample.interval_s
            self._flush_bytes += flush * sample.interval_s
            self._compaction_bytes += compaction * sample.interval_s

    @property
    def is_over(self) -> bool:
        return self._long_s >= _WINDOW_S - _EARLY_S

    def shares(self, cap_bytes_per_s: int) -> tuple[int, int] | None:
        """Return the shares of the cap, in whole percent: flushes, and all; None where nothing was measured."""
        if not self._measured_s:
            return None
        cap_bytes = cap_bytes_per_s * self._measured_s
        both_bytes = self._flush_bytes + self._compaction_bytes
        return _whole_pct(self._flush_bytes, cap_bytes), _whole_pct(both_bytes, cap_bytes)


def _whole_pct(part: float, whole: float) -> int:
    # By rounding, a sum of rates times intervals can fall a last bit below the exact whole percent.
    return int(part * 100 / whole + 1e-9)


def _owners_switch(cf: ColumnFamilySample, sample: Sample) -> int:
    """Return whether the owner has compaction on, 1 or 0; a program may disable it around a bulk load of its own."""
    return 1 if sample.originals is None else owners_value(Knob.AUTO_COMPACTION, sample, cf.name) or 0


def _is_disabled_by_owner(cf: ColumnFamilySample, sample: Sample) -> bool:
    """Whether it is known that the owner has compaction off; where that is not known, it may be off by this law."""
    owners = {} if sample.originals is None else sample.originals.column_families.get(cf.name, {})
    return owners.get(KNOBS[Knob.AUTO_COMPACTION].options[0]) == "true"


def _l0_bytes(cf: ColumnFamilySample) -> int:
    """Return level 0's bytes; if not reported, its upper bound: every file as large as a memtable."""
    if cf.level_bytes:
        return cf.level_bytes[0]
    return cf.l0_files * cf.options.write_buffer_size_bytes


def _decision(settings: tuple[Setting, ...], signal: str, rule: str, reason: str) -> Decision | None:
    return Decision(settings, signal, rule, reason) if settings else None
