"""Turns a sample into a chart point. Pure."""

from collections.abc import Iterable, Mapping

from adocd.daemon.watch.history import Point
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.snapshot import OptionValues
from adocd.model.stall import Cause
from adocd.probes.statistics import family_options

#: Database-wide options that laws turn, if the agent reports them.
_DATABASE = (
    "max_background_jobs",
    "max_background_flushes",
    "max_background_compactions",
    "max_subcompactions",
    "delayed_write_rate",
    "bytes_per_sync",
)
#: Column family options that laws turn, with their names in a sample.
_FAMILY = {
    "write_buffer_size": "write_buffer_size_bytes",
    "max_write_buffer_number": "max_write_buffer_number",
    "level0_file_num_compaction_trigger": "level0_file_num_compaction_trigger",
    "level0_slowdown_writes_trigger": "level0_slowdown_writes_trigger",
    "level0_stop_writes_trigger": "level0_stop_writes_trigger",
    "soft_pending_compaction_bytes_limit": "soft_pending_compaction_bytes_limit",
    "hard_pending_compaction_bytes_limit": "hard_pending_compaction_bytes_limit",
    "target_file_size_base": "target_file_size_base_bytes",
    "max_bytes_for_level_base": "max_bytes_for_level_base_bytes",
    "disable_auto_compactions": "disable_auto_compactions",
}


def charted(
    sample: Sample, unix_s: float, stalled_by_cause: Mapping[Cause, float] | None, controller: str | None
) -> Point:
    """Return the chart point of a sample taken at `unix_s`; `controller` is the law that acts, None if none does."""
    families = sample.column_families
    l0 = max(_knowing(families, "l0_files"), key=lambda cf: cf.l0_delay_trigger_count, default=None)
    pending = max(_knowing(families, "pending_compaction_bytes"), key=_nearness, default=None)
    around = None if sample.surroundings is None else sample.surroundings.point()
    read = None if around is None else around.read_bytes_per_s
    written = None if around is None else around.write_bytes_per_s
    latency = sample.write_latency
    return Point(
        unix_s=unix_s,
        interval_s=sample.interval_s,
        writes_per_s=sample.writes_per_s,
        written_bytes_per_s=sample.written_bytes_per_s,
        flush_written_bytes_per_s=sample.flush_written_bytes_per_s,
        compaction_read_bytes_per_s=sample.compaction_read_bytes_per_s,
        compaction_written_bytes_per_s=sample.compaction_written_bytes_per_s,
        stopped_fraction=sample.stopped_fraction,
        delayed_fraction=sample.delayed_fraction,
        stalled_by_cause=stalled_by_cause,
        l0_files=None if l0 is None else l0.l0_delay_trigger_count,
        l0_slowdown_trigger=None if l0 is None else l0.options.level0_slowdown_writes_trigger,
        l0_stop_trigger=None if l0 is None else l0.options.level0_stop_writes_trigger,
        immutable_memtables=max(
            (cf.immutable_memtables for cf in _knowing(families, "immutable_memtables")), default=None
        ),
        memtables_bytes=_sum(cf.memtables_bytes for cf in _knowing(families, "memtables_bytes")),
        pending_compaction_bytes=None if pending is None else pending.pending_compaction_bytes,
        soft_pending_compaction_bytes_limit=None
        if pending is None
        else pending.options.soft_pending_compaction_bytes_limit,
        hard_pending_compaction_bytes_limit=None
        if pending is None
        else pending.options.hard_pending_compaction_bytes_limit,
        device_bytes_per_s=None if read is None or written is None else read + written,
        device_busy_fraction=None if around is None else around.busy_fraction,
        write_p50_s=None if latency is None else latency.p50_s,
        write_p99_s=None if latency is None else latency.p99_s,
        write_p99_9_s=None if latency is None else latency.p99_9_s,
        write_max_s=None if latency is None else latency.max_s,
        knobs={"background_jobs": sample.background_jobs, **sample.options.once(_knobs)},
        controller=controller,
    )


def _knowing(families: Iterable[ColumnFamilySample], figure: str) -> list[ColumnFamilySample]:
    """Return the column families for which this figure is reported."""
    return [cf for cf in families if figure not in cf.unknown]


def _nearness(cf: ColumnFamilySample) -> tuple[float, int]:
    """Return how near a column family is to a stall by pending compaction bytes; a limit of 0 is off."""
    limits = (cf.options.soft_pending_compaction_bytes_limit, cf.options.hard_pending_compaction_bytes_limit)
    limit = min((limit for limit in limits if limit > 0), default=None)
    return (0.0 if limit is None else cf.pending_compaction_bytes / limit), cf.pending_compaction_bytes


def _sum(values: Iterable[int]) -> int | None:
    values = list(values)
    return sum(values) if values else None


def _knobs(options: OptionValues) -> dict[str, int | None]:
    knobs: dict[str, int | None] = {option: _integer(options.database.get(option)) for option in _DATABASE}
    families = options.once(family_options).values()
    for option, member in _FAMILY.items():
        knobs[option] = max((int(getattr(family, member)) for family in families), default=None)
    knobs["rate_limiter_bytes_per_sec"] = options.rate_limiter_bytes_per_s
    return knobs


def _integer(value: str | None) -> int | None:
    try:
        return None if value is None else int(value)
    except ValueError:
        return None
