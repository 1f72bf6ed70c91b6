"""One run: a fresh database under a scheme, a load and a daemon, and everything of `raw.Run`."""

import os
import shutil
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from adocd.controllers import registry
from adocd.model.policy import Policy
from adocd.model.sample import Sample
from adocd_bench.errors import CapUnavailable
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.circumstances import owners_options
from adocd_bench.evaluation.counted import Counted
from adocd_bench.evaluation.cpu_looks import CpuLooks
from adocd_bench.evaluation.device_count import DeviceCount
from adocd_bench.evaluation.drained import drain_s_of, see_room, settled_of
from adocd_bench.evaluation.loads.program import LoadJob, LoadOutcome, LoadProgram
from adocd_bench.host.cap import Cap
from adocd_bench.host.device import block_device_of, parse_profile
from adocd_bench.host.noise import CpuTimes, others_cpu
from adocd_bench.host.own_devices import OwnDevices
from adocd_bench.host.usage import Usage
from adocd_bench.run.observe import AgentProgram, ObservedRun, Tick, Watched, changes_of, observe, settings_of
from adocd_bench.run.settle import Settlement, Settling
from adocd_bench.run.workspace import run_directory

_DISAGREE = 0.02
#: Counts are cumulative, so none is lost between two polls; polling more often takes CPU time from the database.
_LOOK_S = 0.5
#: After so long without it the reads begin all the same: a safety guard may hold the pin back, and the samples show it.
#: A change alone can take 25 s where a small device merges hundreds of files. The program waits a minute (phase.cc).
_PINNED_WITHIN_S = 45.0
#: Told the newest sample of a run in progress; None before the first.
OnLook = Callable[[Sample | None], None]
#: Told that a run has prepared; returns whether its measured phase may begin.
MayBegin = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class WantedRun:
    """What one run is to be; its names are the record's."""

    block: str
    scheme: raw.SchemeUsed
    profile: str
    workload: raw.WorkloadUsed
    program_version: str
    repetition: int
    seed: int
    scale: int
    at_once: int = 1


def run(
    wanted: WantedRun,
    program: LoadProgram,
    cap: Cap,
    machine: raw.Machine,
    devices: OwnDevices,
    on_look: OnLook = lambda _: None,
    may_begin: MayBegin = lambda: True,
) -> raw.RawRun:
    """Run it in a new directory on the cap's device, which is gone afterwards. Raises BenchError."""
    database = cap.directory / "database"
    shutil.rmtree(database, ignore_errors=True)
    if not cap.dedicated:
        os.sync()  # earlier writes must not slow this run
    disk = cap.disk.name if cap.disk else _device_of(cap.directory)
    device, whole = DeviceCount(cap.device.name if cap.device else disk, cap.dedicated), DeviceCount(disk)
    processors = CpuLooks()
    cpu_before, whole_before = processors.take(), whole.written_bytes()
    device.look()  # a load may begin before the first look that is taken while it is watched
    begun_unix_s, begun_s = time.time(), time.monotonic()
    group_before, own_before = cap.written_bytes(), devices.written_bytes()
    try:
        with run_directory() as room:
            job = LoadJob(database, room, round(wanted.workload.seconds), wanted.seed, wanted.scheme)
            started = AgentProgram(
                program.name, program.command(job), database, program.at_most_s(job), program.environment()
            )
            policy = Policy(wanted.scheme.policy, wanted.scheme.parameters)
            preparing, reading = _Preparing(cap, program, job, policy, may_begin), _Reading(program, job)

            def looked(seen: Watched) -> None:
                device.look()
                processors.look()
                on_look(seen.newest)

            with Settling(room, database, owners_options(wanted.scale)) as settling:

                def polled(seen: Watched) -> None:
                    preparing.look(seen)
                    reading.look(seen)
                    if program.is_settling(job):
                        settling.look(seen)
                        if settling.is_over(seen):
                            program.release(job)

                observed = observe(
                    started,
                    preparing.policy,
                    cap,
                    room,
                    tick_s=wanted.scheme.tick_s,
                    safety=wanted.scheme.safety,
                    look_s=_LOOK_S,
                    on_look=looked,
                    on_poll=polled,
                    stop=lambda: program.ends_by_itself and settling.is_cut_off(),
                )
            see_room(database)
            outcome = program.outcome(job, observed)
    finally:
        shutil.rmtree(database, ignore_errors=True)
    own = devices.written_bytes() - own_before
    if not cap.dedicated and group_before is not None:
        own += (cap.written_bytes() or 0) - group_before
    cpu_after = processors.take()
    begin_s, end_s = outcome.begin_monotonic_s, outcome.begin_monotonic_s + outcome.measured_s
    others = others_cpu(cpu_before, cpu_after)
    noise = raw.Noise(
        others_cpu_fraction=others.user,
        other_device_bytes=_others_bytes(cap, observed, own, whole_before, whole.written_bytes()),
        others_kernel_fraction=others.kernel,
        bench_cpu_fraction=_bench_cpu(cpu_before, cpu_after, observed),
        bench_device_bytes=own if cap.dedicated else None,
        measured_others_fraction=processors.others_between(begin_s, end_s),
        others_signed_fraction=others.signed,
    )
    took = (begun_unix_s, time.monotonic() - begun_s)
    made = assembled(wanted, machine, observed, outcome, noise, took, settling.seen)
    imposed_s, law_s = preparing.imposed_monotonic_s, preparing.law_monotonic_s
    return replace(
        made,
        device=device.between(begin_s, end_s),
        capped_at_s=None if imposed_s is None else imposed_s - begin_s,
        law_at_s=None if law_s is None else law_s - begin_s,
    )


class _Preparing:
    """Lets a program prepare at the device's own speed and without the law, since preparation is not measured.

    A law that postpones compactions would otherwise begin the measured phase with the debt of the loading, or with
    options that it took for that.
    """

    def __init__(self, cap: Cap, program: LoadProgram, job: LoadJob, policy: Policy, may_begin: MayBegin) -> None:
        self._cap, self._program, self._job, self._wanted = cap, program, job, policy
        self._may_begin = may_begin
        is_preparing = program.is_preparing(job)
        self._lifted = cap.profile.capped and is_preparing
        #: The policy to begin with.
        self.policy = Policy(registry.WATCHING) if is_preparing else policy
        self._in_force = self.policy
        self.imposed_monotonic_s: float | None = None
        self.law_monotonic_s: float | None = None
        if self._lifted:
            cap.lift()

    def look(self, seen: Watched) -> None:
        """Let the measured phase begin when it may; as soon as it has begun, impose the cap and set the policy."""
        if self._program.is_gathered(self._job) and self._may_begin():
            self._program.begin(self._job)
        if not (self._lifted or self._in_force != self._wanted) or self._program.is_preparing(self._job):
            return
        if self._lifted:
            self._cap.impose()
            self._lifted, self.imposed_monotonic_s = False, time.monotonic()
        if self._in_force != self._wanted and seen.is_found():
            seen.set_policy(self._wanted)
            self._in_force, self.law_monotonic_s = self._wanted, time.monotonic()


class _Reading:
    """Pins compaction off before the reads after the phase, and lets them begin when it is.

    They are to find what the law has left, and a law that wants compaction on would switch it on again.
    """

    def __init__(self, program: LoadProgram, job: LoadJob) -> None:
        self._program, self._job = program, job
        self._pinned_s: float | None = None

    def look(self, seen: Watched) -> None:
        """Take the next step, where the program waits for one."""
        if not self._program.is_to_read(self._job):
            return
        if self._pinned_s is None:
            seen.pin("disable_auto_compactions", "true")
            self._pinned_s = time.monotonic()
        newest = seen.newest
        is_new = newest is not None and newest.monotonic_s > self._pinned_s
        is_off = newest is not None and all(cf.options.disable_auto_compactions for cf in newest.column_families)
        if (is_new and is_off) or time.monotonic() > self._pinned_s + _PINNED_WITHIN_S:
            self._program.admit_reads(self._job)


def assembled(
    wanted: WantedRun,
    machine: raw.Machine,
    observed: ObservedRun,
    outcome: LoadOutcome,
    noise: raw.Noise,
    took: tuple[float, float],
    settlement: Settlement,
) -> raw.RawRun:
    """Put a run together; `took` is when it began, in unix seconds, and for how long it went on.

    Raises RunFailed where the program ended before the originals were restored.
    """
    counted, end_s = Counted(observed.ticks, outcome.begin_monotonic_s), outcome.measured_s
    settled = settled_of(outcome, settlement)
    drain_s = None if settled is None else drain_s_of(settled, observed, outcome)
    last_s = observed.ticks[-1].sample.monotonic_s - outcome.begin_monotonic_s
    return raw.RawRun(
        format=raw.FORMAT,
        block=wanted.block,
        scheme=wanted.scheme,
        profile=wanted.profile,
        workload=wanted.workload,
        repetition=wanted.repetition,
        seed=wanted.seed,
        scale=wanted.scale,
        started_unix_s=took[0],
        wall_s=took[1],
        machine=replace(
            machine,
            rocksdb_version=outcome.rocksdb_version,
            program_version=wanted.program_version,
            program_hash=outcome.program_hash,
        ),
        operations=outcome.operations,
        measured_s=end_s,
        drain_s=drain_s,
        seconds=outcome.seconds,
        samples=tuple(_sampled(tick, outcome.begin_monotonic_s) for tick in _since(observed, outcome)),
        stalls=tuple(_stalls(observed, outcome)),
        decisions=tuple(_decisions(observed, outcome.begin_monotonic_s)),
        at_end=counted.moved(end_s, end_s),
        drained=_drained(settled, drain_s, counted, last_s),
        database=_process(observed, outcome),
        daemon=raw.Process(observed.daemon.cpu_s, observed.daemon.peak_rss_bytes),
        noise=noise,
        wal_outside_cap=parse_profile(wanted.profile).wal_outside,
        warnings=tuple(_warnings(outcome, counted, last_s)),
        after=outcome.after,
        after_span_s=_after_span_s(outcome),
        settled=settled,
        at_once=wanted.at_once,
    )


def _drained(settled: raw.Settled | None, drain_s: float | None, counted: Counted, last_s: float) -> raw.Moved | None:
    """Give the counts of the last sample, where it is after the drain: nothing has moved since."""
    if settled is None or drain_s is None or last_s < settled.clients_ended_s + drain_s:
        return None
    return replace(counted.moved(last_s), at_s=settled.clients_ended_s + drain_s)


def _since(observed: ObservedRun, outcome: LoadOutcome) -> list[Tick]:
    return [tick for tick in observed.ticks if tick.sample.monotonic_s >= outcome.begin_monotonic_s]


def _sampled(tick: Tick, begin_s: float) -> raw.Sampled:
    sample, families = tick.sample, tick.sample.column_families
    return raw.Sampled(
        at_s=sample.monotonic_s - begin_s,
        condition=sample.condition,
        stalled_fraction=sample.stalled_fraction,
        l0_files=max((cf.l0_files for cf in families), default=0),
        immutable_memtables=max((cf.immutable_memtables for cf in families), default=0),
        memtables_bytes=sum(cf.memtables_bytes for cf in families),
        pending_compaction_bytes=sum(cf.pending_compaction_bytes for cf in families),
        background_jobs=sample.background_jobs,
        write_buffer_size_bytes=max((cf.options.write_buffer_size_bytes for cf in families), default=0),
        compaction_enabled=not any(cf.options.disable_auto_compactions for cf in families),
        rate_limit_bytes_per_s=sample.options.rate_limiter_bytes_per_s,
        written_bytes_per_s=sample.written_bytes_per_s,
        flush_written_bytes_per_s=sample.flush_written_bytes_per_s,
        compaction_written_bytes_per_s=sample.compaction_written_bytes_per_s,
    )


def _stalls(observed: ObservedRun, outcome: LoadOutcome) -> Iterator[raw.RawStall]:
    """Return the stalls that reach into the measured phase or come after it."""
    begin_unix_s = outcome.begin_monotonic_s + observed.unix_minus_monotonic_s
    for stall in observed.stalls:
        begin_s, end_s = stall.begin_s - begin_unix_s, stall.end_s - begin_unix_s
        if end_s < 0:
            continue
        measured_s = min(end_s, outcome.measured_s) - max(begin_s, 0.0)
        yield raw.RawStall(begin_s, end_s, stall.condition, stall.cause, max(0.0, measured_s))


def _decisions(observed: ObservedRun, begin_s: float) -> Iterator[raw.RawDecision]:
    for each in observed.decisions:
        at_s, settings = each.monotonic_s - begin_s, settings_of(each)
        yield raw.RawDecision(at_s, each.rule, each.signal, settings, each.outcome, each.elapsed_s, changes_of(each))


def _process(observed: ObservedRun, outcome: LoadOutcome) -> raw.Process:
    last = list(observed.usage.values())[-1] if observed.usage else Usage(0.0, 0, 0)
    measured_s = None
    if observed.usage:
        end = outcome.begin_monotonic_s + outcome.measured_s
        measured_s = _cpu_s(observed.usage, end) - _cpu_s(observed.usage, outcome.begin_monotonic_s)
    return raw.Process(
        last.cpu_s, max((used.peak_rss_bytes for used in observed.usage.values()), default=0), measured_s
    )


def _cpu_s(usage: Mapping[float, Usage], monotonic_s: float) -> float:
    """Interpolate processor seconds; a process has none before it is first seen, or as many as then."""
    times = list(usage)
    after = bisect_left(times, monotonic_s)
    if after in {0, len(times)}:
        return usage[times[-1]].cpu_s if after else 0.0
    low, high = usage[times[after - 1]].cpu_s, usage[times[after]].cpu_s
    return low + (high - low) * (monotonic_s - times[after - 1]) / (times[after] - times[after - 1])


def _after_span_s(outcome: LoadOutcome) -> tuple[float, float] | None:
    if outcome.after_span_monotonic_s is None:
        return None
    begin_s, end_s = outcome.after_span_monotonic_s
    return begin_s - outcome.begin_monotonic_s, end_s - outcome.begin_monotonic_s


def _warnings(outcome: LoadOutcome, counted: Counted, last_s: float) -> Iterator[str]:
    if last_s < outcome.measured_s:
        yield "the daemon saw nothing after the measured phase, so the counts at its end are those of its last second"
    writes = sum(each.count for each in outcome.operations if each.kind == "write")
    ticked = counted.at_end_of(outcome.measured_s, "writes")
    if ticked is not None and abs(ticked - writes) > _DISAGREE * max(writes, 1):
        yield f"the program counted {writes} writes and RocksDB's ticker {ticked:.0f}, more than {_DISAGREE:.0%} apart"


def _device_of(place: Path) -> str | None:
    try:
        return block_device_of(place).name
    except CapUnavailable:
        return None


def _bench_cpu(before: CpuTimes, after: CpuTimes, observed: ObservedRun) -> float | None:
    """Say which share of all processors the bench had beside this run's database and daemon; 0 to 1."""
    all_s = after.all_s - before.all_s
    if all_s <= 0 or not observed.usage:
        return None
    ours_s = after.our_user_s + after.our_kernel_s - before.our_user_s - before.our_kernel_s
    run_s = list(observed.usage.values())[-1].cpu_s + observed.daemon.cpu_s
    return min(max((ours_s - run_s) / all_s, 0.0), 1.0)


def _others_bytes(cap: Cap, observed: ObservedRun, own: int, before: int | None, after: int | None) -> int | None:
    """Say what others wrote to the disk: all that was written but the bench's own.

    On devices of the runs' own, `own` is what those counted. Else it is what the program's process dirtied and did not
    delete before it reached the device, or what the capped group wrote, whichever is more: on cgroup v1 the group's
    count lacks the write-ahead log.
    """
    if before is None or after is None or not observed.usage:
        return None
    if not cap.dedicated:
        own = max(own, *(used.written_bytes for used in observed.usage.values()))
    return max(0, after - before - own)
