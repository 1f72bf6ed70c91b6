"""Makes a sample from two snapshots of a database: cumulative counters become rates over the interval."""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from adocd.model.capabilities import Capabilities
from adocd.model.judged import judged
from adocd.model.latency import WRITE_MICROS
from adocd.model.overflow import PRECEDENCE
from adocd.model.sample import ColumnFamilyOptions, ColumnFamilySample, HistogramIncrease, Sample
from adocd.model.snapshot import (
    ColumnFamilySnapshot,
    Event,
    HistogramTotals,
    OptionValues,
    PeriodicDump,
    Snapshot,
)
from adocd.model.threads import ThreadsBy, jobs_allowed, threads_by, threads_now
from adocd.probes.increase import grown, increase, rate
from adocd.probes.job_bytes import BackgroundBytes
from adocd.probes.latency import write_latency
from adocd.probes.writers_wait import WritersWait, condition_of

#: The property from which a figure of a column family is read; without the property the figure is unknown.
_FIGURES = {
    "l0_files": "rocksdb.num-files-at-level0",
    "immutable_memtables": "rocksdb.num-immutable-mem-table",
    "active_memtable_bytes": "rocksdb.cur-size-active-mem-table",
    "memtables_bytes": "rocksdb.cur-size-all-mem-tables",
    "pending_compaction_bytes": "rocksdb.estimate-pending-compaction-bytes",
}
_EMPTY = HistogramTotals(0, 0)
_EVENTS_MOST = 4096


@dataclass(frozen=True, slots=True)
class Made:
    """A sample and the two snapshots that it was made from."""

    before: Snapshot
    snapshot: Snapshot
    sample: Sample

    def is_of(self, before: Snapshot, snapshot: Snapshot) -> bool:
        """Whether it was made from exactly these two snapshots."""
        return self.before is before and self.snapshot is snapshot


class StatisticsProbe:
    """Keeps the previous snapshot and turns each new one into a sample.

    The first snapshot of a session gives no sample, because there is no interval to measure over. A counter that went
    down was reset to 0 within the window (Statistics::Reset, DB::ResetStats), so it grew at least by its current value,
    which counts as its increase, as in Prometheus.
    """

    def __init__(self, capabilities: Capabilities) -> None:
        self._capabilities = capabilities
        self._before: Snapshot | None = None
        self._observed: Snapshot | None = None
        self._background = BackgroundBytes(capabilities)
        self._writers = WritersWait()
        #: How long writers had waited in all at the last sample's snapshot.
        self._waited_before_s: float | None = None
        #: Events since the last sample; no more than an agent keeps.
        self._events: deque[Event] = deque(maxlen=_EVENTS_MOST)
        #: The last sample, and what it was made from.
        self.made: Made | None = None

    def observe(self, snapshot: Snapshot) -> None:
        """Take a snapshot's events, once: the next sample has them, whichever snapshot it is made from."""
        if snapshot is not self._observed:
            self._observed = snapshot
            self._events.extend(snapshot.events)
            self._background.observe(snapshot)
            self._writers.observe(snapshot)

    def sample(
        self, snapshot: Snapshot, originals: OptionValues | None = None, made: "Made | None" = None
    ) -> Sample | None:
        """Make a sample from this snapshot and the previous one; None if there is no interval between them.

        Its events are those of all snapshots since the last sample, including this one. `made` is another probe's
        sample of this snapshot: if it covers the same interval, it is reused.
        """
        self.observe(snapshot)
        before, self._before = self._before, snapshot
        if before is None or before.session != snapshot.session:
            self._events.clear()
            self._waited_before_s = self._writers.total_s
            return None
        interval_s = snapshot.monotonic_s - before.monotonic_s
        if interval_s <= 0:  # the agent answered from its cache
            self._before = before
            return None
        background = self._background.rates(before, snapshot)
        waited_before_s, self._waited_before_s = self._waited_before_s, self._writers.total_s
        if made is not None and made.is_of(before, snapshot):
            return replace(made.sample, events=self._told(), originals=originals)
        families = tuple(
            _column_family(name, cf, before.column_families.get(name), snapshot)
            for name, cf in snapshot.column_families.items()
        )
        now, then = snapshot.counters, before.counters
        wrote = _writes(snapshot, before, interval_s)
        overflow = {o for cf in families for o in cf.overflow}
        by = threads_by(snapshot.options, self._capabilities)
        histograms = _histogram_increases(snapshot.histograms, before.histograms)
        sample = Sample(
            target=snapshot.database,
            session=snapshot.session,
            sequence=snapshot.sequence,
            monotonic_s=snapshot.monotonic_s,
            interval_s=interval_s,
            writes_per_s=wrote.writes_per_s,
            written_bytes_per_s=wrote.written_bytes_per_s,
            stalled_fraction=wrote.stalled_fraction,
            waited_s=self._writers.total_s,
            # Between two dumps a LOG's count stands still, and then it has all the time since the one before.
            waited_fraction=wrote.stalled_fraction
            if snapshot.dump is not None
            else _grown_by(self._writers.total_s, waited_before_s, interval_s),
            stopped_fraction=_share(snapshot.stall.stopped_s - before.stall.stopped_s, interval_s),
            delayed_fraction=_share(snapshot.stall.delayed_s - before.stall.delayed_s, interval_s),
            condition=condition_of(snapshot),
            stopped_s=snapshot.stall.stopped_s,
            delayed_s=snapshot.stall.delayed_s,
            counters=now,
            delayed_write_rate_bytes_per_s=snapshot.properties.get("rocksdb.actual-delayed-write-rate", 0),
            running_flushes=snapshot.properties.get("rocksdb.num-running-flushes", 0),
            running_compactions=snapshot.properties.get("rocksdb.num-running-compactions", 0),
            background_jobs=threads_now(snapshot.options, by),
            background_jobs_max=jobs_allowed(snapshot.options) if by is ThreadsBy.POOLS else None,
            threads_by=by,
            options=snapshot.options,
            column_families=families,
            events=self._told(),
            overflow=tuple(o for o in PRECEDENCE if o in overflow),
            wal_bytes_per_s=wrote.wal_bytes_per_s,
            flush_written_bytes_per_s=background.flush_written_bytes_per_s,
            flushed_bytes_per_s=rate(now.flush_written_bytes, then.flush_written_bytes, interval_s),
            compaction_read_bytes_per_s=background.compaction_read_bytes_per_s,
            compaction_written_bytes_per_s=background.compaction_written_bytes_per_s,
            ticker_increases=_ticker_increases(snapshot.tickers, before.tickers),
            histogram_increases=histograms,
            write_latency=write_latency(
                snapshot, before, None if histograms is None else histograms.get(WRITE_MICROS), self._capabilities
            ),
            condition_told_before=before.stall.condition,
            originals=originals,
        )
        self.made = Made(before, snapshot, sample)
        return sample

    def _told(self) -> tuple[Event, ...]:
        events = tuple(self._events)
        self._events.clear()
        return events


def _grown_by(now_s: float | None, then_s: float | None, interval_s: float) -> float | None:
    """Return the share of the interval by which a wait grew."""
    return None if now_s is None or then_s is None else max(0.0, now_s - then_s) / interval_s


def _writes(snapshot: Snapshot, before: Snapshot, interval_s: float) -> PeriodicDump:
    """Return the write rates over the window or, if only a statistics dump has them, over the dump's own interval.

    A dump counts for the one window in which it came; in all others the rates are unknown.
    """
    nothing = PeriodicDump(snapshot.monotonic_s, interval_s)
    if snapshot.dump is not None:
        is_old = before.dump is not None and before.dump.monotonic_s >= snapshot.dump.monotonic_s
        return nothing if is_old else snapshot.dump
    now, then = snapshot.counters, before.counters
    stalled_micros = increase(now.stall_micros, then.stall_micros)
    return PeriodicDump(
        snapshot.monotonic_s,
        interval_s,
        writes_per_s=rate(now.writes, then.writes, interval_s),
        written_bytes_per_s=rate(now.written_bytes, then.written_bytes, interval_s),
        wal_bytes_per_s=rate(now.wal_bytes, then.wal_bytes, interval_s),
        stalled_fraction=None if stalled_micros is None else stalled_micros / 1e6 / interval_s,
    )


def _ticker_increases(now: Mapping[str, int] | None, then: Mapping[str, int] | None) -> dict[str, int] | None:
    """Return the increase of each ticker; one that is new within a session has none yet."""
    if now is None or then is None:
        return None
    return {name: grown(value, then[name]) for name, value in now.items() if name in then}


def _histogram_increases(
    now: Mapping[str, HistogramTotals] | None, then: Mapping[str, HistogramTotals] | None
) -> dict[str, HistogramIncrease] | None:
    """Return the increase of each histogram; a new one was empty before, because agents leave empty ones out."""
    if now is None or then is None:
        return None
    return {name: _came(totals, then.get(name, _EMPTY)) for name, totals in now.items()}


def _came(now: HistogramTotals, then: HistogramTotals) -> HistogramIncrease:
    was_set_back = now.count < then.count or now.sum < then.sum
    since = _EMPTY if was_set_back else then
    return HistogramIncrease(now.count - since.count, now.sum - since.sum)


def _share(part_s: float, interval_s: float) -> float:
    return min(1.0, max(0.0, part_s / interval_s))


def _column_family(
    name: str, now: ColumnFamilySnapshot, before: ColumnFamilySnapshot | None, snapshot: Snapshot
) -> ColumnFamilySample:
    options = snapshot.options.once(family_options).get(name, _NO_OPTIONS)
    levels: list[int] = []
    while (files := now.properties.get(f"rocksdb.num-files-at-level{len(levels)}")) is not None:
        levels.append(files)
    figures = {figure: now.properties.get(name, 0) for figure, name in _FIGURES.items()}
    found = ColumnFamilySample(
        name=name,
        **figures,
        level_files=tuple(levels),
        level_bytes=now.level_bytes,
        stall_counts=_new_stalls(now, before),
        options=options,
        unknown=tuple(figure for figure, name in _FIGURES.items() if name not in now.properties),
        overflow=(),
    )
    return judged(found, options)


def _new_stalls(now: ColumnFamilySnapshot, before: ColumnFamilySnapshot | None) -> dict[str, int]:
    """Return what has come since; {} where that cannot be told: RocksDB counts from the open on."""
    if now.stall_counts is None or before is None or before.stall_counts is None:
        return {}
    then = before.stall_counts
    return {cause: grown(count, then.get(cause, 0)) for cause, count in now.stall_counts.items()}


def family_options(values: OptionValues) -> dict[str, ColumnFamilyOptions]:
    """Read the options of each column family that laws and guards reason about."""
    return {name: ColumnFamilyOptions.read(its) for name, its in values.column_families.items()}


_NO_OPTIONS = ColumnFamilyOptions.read({})
