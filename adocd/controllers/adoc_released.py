"""ADOC as in the authors' published code, which differs from the paper (adoc-fast23; adocd.controllers.adoc).

Every second, if a flush has finished in the window, it measures:

- f, the mean of the window's flush bandwidths. Each is in whole MB/s (10^6 bytes; the code divides whole bytes by whole
  microseconds), and the mean is a fraction (a double in the code). A mean of 0 skips the window.
- F, the highest f so far.
- p, pending compaction bytes divided by the soft limit.
- l, files in the base level divided by the slowdown trigger. Sic: for static levels that is level 1, not level 0.

| when                                     | threads | batch               |
|------------------------------------------|---------|---------------------|
| one immutable memtable or more           | + 2     |                     |
| f < F / 2                                | / 2     | + the initial batch |
| more than one immutable memtable         |         | + the initial batch |
| p >= 1                                   | + 2     | / 2                 |
| l >= 1                                   | + 2     |                     |

The later row wins in each column; if no row holds, nothing changes. The first window whose f is not 0 is skipped, as in
the code, and does not count for F (FEAT_Tuner::DetectTuningOperations). Threads, batch and bounds map to options as in
`adoc`; the constants are the code's.

The whole law compares a flush's bandwidth with the best one ever seen. F never decays, so a single flush into the page
cache makes F so high that every later flush counts as slow. The law adds threads for every memtable that is merely
being flushed, so under any load it goes to the most threads allowed. It does harm where `adoc` does, and sooner.

Assumes level compaction. With several column families, f is the mean over the flushes of all, each column family sets
its own batch, and the worst one sets the threads. Departures: the initial batch is the write_buffer_size that the owner
set. The code skips windows with a change in flight; adocd does not ask a law during one, so the next window covers that
time too. A flush's bandwidth is its file's size over its duration, as the agent's events report them. Everything else
can be reached from outside.
"""

from collections.abc import Mapping
from typing import ClassVar

from adocd.controllers.adoc import AdocBounds
from adocd.controllers.base import Controller, Needs, Parameters
from adocd.controllers.settings import halved, raised
from adocd.model.decision import Decision, Setting
from adocd.model.knob import Knob
from adocd.model.reading import owners_value
from adocd.model.sample import ColumnFamilySample, Sample

_MICROS = 1_000_000


class AdocReleased(Controller):
    """Threads and batch by flush bandwidth relative to the best so far, immutable memtables and pending bytes."""

    name = "adoc-released"
    summary = "ADOC as its authors' published code does it, by flush bandwidth"
    source = "ADOC, FAST'23, published code"
    period_s = 1.0
    knobs = frozenset({Knob.BACKGROUND_JOBS, Knob.BATCH_SIZE})
    reads = frozenset({Knob.LEVEL0_SLOWDOWN, Knob.SOFT_PENDING_LIMIT})
    switches: ClassVar[Mapping[Knob, str]] = {
        Knob.BACKGROUND_JOBS: "tune_threads=false",
        Knob.BATCH_SIZE: "tune_batch=false",
    }
    needs = Needs(events=("flush",))
    parameters_model: ClassVar[type[Parameters]] = AdocBounds

    def __init__(self, parameters: AdocBounds) -> None:
        self._parameters = parameters
        self.knobs = parameters.turned()
        self._best_mb_per_s = 0.0
        self._has_skipped_one = False

    def step(self, sample: Sample) -> Decision | None:
        """Apply, in each column, the last row that holds."""
        flush_mb_per_s = _flush_mb_per_s(sample)
        if not flush_mb_per_s:
            return None
        if not self._has_skipped_one:
            self._has_skipped_one = True
            return None
        self._best_mb_per_s = max(self._best_mb_per_s, flush_mb_per_s)
        slow = 2 * flush_mb_per_s < self._best_mb_per_s
        settings = [*self._threads(sample, slow=slow), *self._batches(sample, slow=slow)]
        if not settings:
            return None
        return Decision(
            tuple(settings),
            signal=_signal(sample, flush_mb_per_s, self._best_mb_per_s),
            rule="adoc-released.slow_flush" if slow else "adoc-released.backlog",
            reason="the published code steps by flush bandwidth, immutable memtables and what waits for compaction",
        )

    def _threads(self, sample: Sample, *, slow: bool) -> list[Setting]:
        p, now = self._parameters, sample.background_jobs
        if not p.tune_threads or now is None:
            return []
        more = raised(now, p.threads_step, min(p.threads_max, sample.background_jobs_max or p.threads_max))
        wanted = more if any(cf.immutable_memtables >= 1 for cf in sample.column_families) else now
        wanted = halved(now, p.threads_min) if slow else wanted
        behind = any(_is_in_debt(cf) or _base_level_is_full(cf, sample) for cf in sample.column_families)
        wanted = more if behind else wanted
        return [] if wanted == now else [Setting(Knob.BACKGROUND_JOBS, wanted)]

    def _batches(self, sample: Sample, *, slow: bool) -> list[Setting]:
        p, settings = self._parameters, []
        for cf in sample.column_families if p.tune_batch else ():
            now = wanted = cf.options.write_buffer_size_bytes
            if slow or cf.immutable_memtables > 1:
                initial = owners_value(Knob.BATCH_SIZE, sample, cf.name) or now
                wanted = raised(now, initial, p.batch_max_bytes)
            if _is_in_debt(cf):
                wanted = halved(now, p.batch_min_bytes)
            if wanted != now:
                settings.append(Setting(Knob.BATCH_SIZE, wanted, cf.name))
        return settings


def _flush_mb_per_s(sample: Sample) -> float:
    """Return the mean bandwidth of the window's flushes, each in whole bytes/us (= MB/s); 0 without a flush."""
    flushes = [
        event.bytes // max(1, round(event.elapsed_s * _MICROS))
        for event in sample.events
        if event.kind == "flush_end" and event.bytes is not None and event.elapsed_s
    ]
    return sum(flushes) / len(flushes) if flushes else 0.0


def _is_in_debt(cf: ColumnFamilySample) -> bool:
    return 0 < cf.options.soft_pending_compaction_bytes_limit <= cf.pending_compaction_bytes


def _base_level_is_full(cf: ColumnFamilySample, sample: Sample) -> bool:
    return 0 < cf.options.level0_slowdown_writes_trigger <= _base_level_files(cf, sample)


def _base_level_files(cf: ColumnFamilySample, sample: Sample) -> int:
    """Count the files in the base level: level 1, or with dynamic level bytes the first non-empty one below L0."""
    options = sample.options.column_families.get(cf.name, {})
    if options.get("level_compaction_dynamic_level_bytes") == "true":
        return next((files for files in cf.level_files[1:] if files), 0)
    return cf.level_files[1] if len(cf.level_files) > 1 else 0


def _signal(sample: Sample, flush_mb_per_s: float, best_mb_per_s: float) -> str:
    families = "; ".join(
        f"{cf.name}: {cf.immutable_memtables} immutable memtables, {cf.pending_compaction_bytes} pending compaction "
        f"bytes, {_base_level_files(cf, sample)} files in the base level"
        for cf in sample.column_families
        if cf.immutable_memtables or _is_in_debt(cf) or _base_level_is_full(cf, sample)
    )
    return f"flushes at {flush_mb_per_s:g} MB/s, the best so far {best_mb_per_s:g}" + (
        f"; {families}" if families else ""
    )
