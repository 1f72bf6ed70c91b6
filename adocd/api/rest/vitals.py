"""The figures behind `/metrics`: the daemon and all its targets in one answer."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass, field

from fastapi import FastAPI, Response
from pydantic import TypeAdapter

from adocd import __version__
from adocd.api.own_process import ProcessVitals, measured
from adocd.api.rest.document import errors
from adocd.daemon.book.book import Book
from adocd.daemon.change.guards.guard import NAMES
from adocd.daemon.control.status import State
from adocd.daemon.control.target_loop import TargetLoop
from adocd.daemon.fleet.fleet import Fleet
from adocd.daemon.watch.vitals import TimeHistogram
from adocd.diagnosis.stalls import StallNow
from adocd.model.labels import labels_of
from adocd.model.latency import WRITE_BOUNDS_S, LatencyTotals, WriteLatency, in_buckets
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.snapshot import Counters
from adocd.model.values import RATE_LIMITER


@dataclass(frozen=True, slots=True)
class HistogramView:
    """A histogram; `counts` are per bucket, not cumulative; the last bucket is for values above all bounds."""

    bounds_s: tuple[float, ...]
    counts: tuple[int, ...]
    sum_s: float

    @classmethod
    def of(cls, histogram: TimeHistogram) -> "HistogramView":
        """Show a histogram."""
        return cls(histogram.bounds, tuple(histogram.counts), histogram.sum)


@dataclass(frozen=True, slots=True)
class DecisionsCount:
    """Decisions of one rule with one outcome."""

    rule: str
    outcome: str
    count: int


@dataclass(frozen=True, slots=True)
class StallsCount:
    """How often RocksDB delayed or stopped a column family's writes since the daemon began to follow the target."""

    column_family: str
    cause: str
    condition: str
    count: int


@dataclass(frozen=True, slots=True)
class StallInProgress:
    """How a cause holds writes now; `unknown` where no cause can be named."""

    condition: str
    cause: str


@dataclass(frozen=True, slots=True)
class FamilyVitals:
    """A column family's figures and limits; null: the agent does not report it; a limit of 0 is off."""

    name: str
    l0_files: int | None
    immutable_memtables: int | None
    memtables_bytes: int | None
    pending_compaction_bytes: int | None
    write_buffer_size_bytes: int
    l0_compaction_trigger_files: int
    l0_slowdown_trigger_files: int
    l0_stop_trigger_files: int
    soft_pending_compaction_limit_bytes: int
    hard_pending_compaction_limit_bytes: int
    auto_compactions_disabled: bool


@dataclass(frozen=True, slots=True)
class DeviceVitals:
    """A block device that holds files of the database."""

    device: str
    read_bytes_per_s: float
    written_bytes_per_s: float
    busy_fraction: float
    at_limit: bool


@dataclass(frozen=True, slots=True)
class SampleVitals:
    """The figures of the last sample; counters are cumulative since the database was opened."""

    unix_s: float | None
    counters: Counters
    waited_s: float | None
    stopped_s: float
    delayed_s: float
    background_jobs: int | None
    rate_limit_bytes_per_s: int | None
    #: Of the last window; and since the database was opened, null if no agent times its writes.
    write_latency: WriteLatency | None
    write_latency_since_open: HistogramView | None
    families: tuple[FamilyVitals, ...]
    devices: tuple[DeviceVitals, ...]


@dataclass(frozen=True, slots=True)
class TargetVitalsView:
    """One target, and what the daemon has done to it since the daemon started."""

    id: str
    path: str
    state: State
    controller: str
    dry_run: bool
    labels: Mapping[str, str]
    paused: bool
    fell_back: bool
    #: This daemon holds the lease and may change the target; or another daemon holds it.
    lease_held: bool
    lease_held_by_other: bool
    stalls_in_progress: tuple[StallInProgress, ...]
    decisions: tuple[DecisionsCount, ...]
    guard_refusals: Mapping[str, int]
    deviations: Mapping[str, int]
    reversals: Mapping[str, int]
    stalls: tuple[StallsCount, ...]
    actuation: HistogramView
    agent_answer: HistogramView
    sample: SampleVitals | None


@dataclass(frozen=True, slots=True)
class OverrideVitals:
    """An override; `target` null: all targets; `expires_unix_s` null: until it is removed."""

    target: str | None
    path: str | None
    option: str
    column_family: str | None
    expires_unix_s: float | None


@dataclass(frozen=True, slots=True)
class VitalsView:
    """Everything that `/metrics` shows, in one answer."""

    version: str
    python_version: str
    tick_s: float
    process: ProcessVitals
    tick_duration: HistogramView
    tick_lateness: HistogramView
    garbage_collection: HistogramView
    socket_problems: int
    journal_writable: bool
    journal_lost_decisions: int
    journal_unsaved: int
    configured: bool
    configured_unix_s: float | None
    event_clients: int
    overrides: tuple[OverrideVitals, ...]
    targets: tuple[TargetVitalsView, ...] = field(default=())


_VIEW = TypeAdapter(VitalsView)
_DEVIATIONS = ("reverted-by-engine", "changed-by-someone-else")


def install(app: FastAPI, fleet: Fleet, book: Book) -> None:
    """Add the route."""

    @app.get(
        "/v1/vitals",
        summary="All figures of the daemon and its targets, as /metrics shows them",
        response_model=VitalsView,
        responses=errors(),
    )
    async def vitals() -> Response:
        """Read everything in one request, so that a scrape of many targets costs the control loop next to nothing."""
        view = of(fleet, book)
        # Serialized here: the framework would walk it twice, in the process that runs the control loop.
        return Response(_VIEW.dump_json(view), media_type="application/json")


def of(fleet: Fleet, book: Book) -> VitalsView:
    """Show the daemon and all its targets."""
    settings = fleet.settings
    ticks = settings.vitals
    offset_s = settings.wall_clock() - settings.clock()
    return VitalsView(
        version=__version__,
        python_version=platform.python_version(),
        tick_s=settings.tick_s,
        process=measured(),
        tick_duration=HistogramView.of(ticks.duration),
        tick_lateness=HistogramView.of(ticks.lateness),
        garbage_collection=HistogramView.of(ticks.garbage),
        socket_problems=len(fleet.problems | fleet.directories.problems),
        journal_writable=book.problem is None,
        journal_lost_decisions=book.lost_decisions,
        journal_unsaved=book.unsaved,
        configured=ticks.is_configured,
        configured_unix_s=ticks.configured_unix_s,
        event_clients=fleet.events.readers,
        overrides=tuple(
            OverrideVitals(o.target, o.path, o.option, o.column_family, o.expires_unix_s) for o in book.overrides
        ),
        targets=tuple(_target(loop, fleet.holder, offset_s) for loop in fleet.loops.values()),
    )


def _target(loop: TargetLoop, holder: str, offset_s: float) -> TargetVitalsView:
    status, vitals = loop.status, loop.remembered.vitals
    held_by = None if status.lease is None else status.lease.holder
    sampled_s = vitals.sampled_s
    return TargetVitalsView(
        id=status.id,
        path=status.path,
        state=status.state,
        controller=status.policy.controller,
        dry_run=status.policy.dry_run,
        labels=dict(labels_of(status.path)),
        paused=status.paused is not None,
        fell_back=status.fell_back is not None,
        lease_held=held_by == holder,
        lease_held_by_other=held_by not in (None, holder),
        stalls_in_progress=_in_progress(status.stall),
        decisions=tuple(DecisionsCount(*key, count) for key, count in vitals.decisions.items()),
        guard_refusals=dict.fromkeys(NAMES, 0) | vitals.refusals,
        deviations=dict.fromkeys(_DEVIATIONS, 0) | vitals.deviations,
        reversals=dict(vitals.reversals),
        stalls=tuple(StallsCount(*key, count) for key, count in vitals.stalls.items()),
        actuation=HistogramView.of(vitals.actuation),
        agent_answer=HistogramView.of(vitals.answer),
        sample=None
        if status.sample is None
        else _sample(
            status.sample,
            None if sampled_s is None else sampled_s + offset_s,
            None if status.snapshot is None else status.snapshot.write_latency,
        ),
    )


def _in_progress(stall: StallNow | None) -> tuple[StallInProgress, ...]:
    """Return each cause once by how it holds writes: a milder one, of another column family, is not the worst one's."""
    if stall is None:
        return ()
    is_guess = stall.condition == "possibly"
    held: list[tuple[str, str]] = [
        (stall.condition if is_guess else each.condition, each.cause) for each in stall.causes
    ]
    return tuple(StallInProgress(*each) for each in dict.fromkeys(held or [(stall.condition, "unknown")]))


def _sample(sample: Sample, unix_s: float | None, latency: LatencyTotals | None) -> SampleVitals:
    around = sample.surroundings
    limited = set() if around is None else {limit.device for limit in around.limits}
    rate = sample.values.get(RATE_LIMITER)
    return SampleVitals(
        unix_s=unix_s,
        counters=sample.counters,
        waited_s=sample.waited_s,
        stopped_s=sample.stopped_s,
        delayed_s=sample.delayed_s,
        background_jobs=sample.background_jobs,
        rate_limit_bytes_per_s=None if rate is None else int(rate),
        write_latency=sample.write_latency,
        write_latency_since_open=None if latency is None else HistogramView(*in_buckets(latency, WRITE_BOUNDS_S)),
        families=tuple(_family(cf) for cf in sample.column_families),
        devices=tuple(
            DeviceVitals(
                device=each.device,
                read_bytes_per_s=each.reads.bytes_per_s,
                written_bytes_per_s=each.writes.bytes_per_s,
                busy_fraction=each.busy_fraction,
                at_limit=each.device in limited,
            )
            for each in (() if around is None else around.devices)
        ),
    )


def _family(cf: ColumnFamilySample) -> FamilyVitals:
    options = cf.options

    def known(name: str, value: int) -> int | None:
        return None if name in cf.unknown else value

    return FamilyVitals(
        name=cf.name,
        l0_files=known("l0_files", cf.l0_files),
        immutable_memtables=known("immutable_memtables", cf.immutable_memtables),
        memtables_bytes=known("memtables_bytes", cf.memtables_bytes),
        pending_compaction_bytes=known("pending_compaction_bytes", cf.pending_compaction_bytes),
        write_buffer_size_bytes=options.write_buffer_size_bytes,
        l0_compaction_trigger_files=options.level0_file_num_compaction_trigger,
        l0_slowdown_trigger_files=options.level0_slowdown_writes_trigger,
        l0_stop_trigger_files=options.level0_stop_writes_trigger,
        soft_pending_compaction_limit_bytes=options.soft_pending_compaction_bytes_limit,
        hard_pending_compaction_limit_bytes=options.hard_pending_compaction_bytes_limit,
        auto_compactions_disabled=options.disable_auto_compactions,
    )
