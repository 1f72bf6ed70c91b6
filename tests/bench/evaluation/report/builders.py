"""Raw results with sensible values, so that a test names only what it is about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from adocd_bench.evaluation.raw import (
    FORMAT,
    LatencyHistogram,
    Machine,
    Moved,
    Noise,
    Operations,
    Process,
    RawDecision,
    RawRun,
    RawStall,
    Sampled,
    SchemeUsed,
    Second,
    Settled,
    WorkloadUsed,
)
from adocd_bench.evaluation.report.mechanisms import MECHANISMS

MIB = 1 << 20
#: 2026-01-01 00:00 UTC.
NEW_YEAR_UNIX_S = 1_767_225_600.0

MACHINE = Machine(
    cpus=2,
    cpu_model="A <processor>",
    memory_bytes=8 << 30,
    kernel="6.1.0",
    distribution="Debian 12",
    device="sda",
    device_write_bytes_per_s=1.5e9,
    device_read_bytes_per_s=2e9,
    cgroup_version=1,
    adocd_version="0.1.0",
    rocksdb_version="7.8.3",
    program_version="db_bench 7.8.3",
)


def histogram(*buckets: tuple[int, int, int], max_us: int | None = None) -> LatencyHistogram:
    """Buckets of (lowest, highest, count); the largest value is the last one's highest."""
    return LatencyHistogram(buckets, buckets[-1][1] if max_us is None else max_us)


def at(latency_us: int, count: int = 1) -> LatencyHistogram:
    """All operations took the same."""
    return histogram((latency_us, latency_us, count))


def held(seconds: float, *, begin_s: float = 1.0, condition: str = "stopped", cause: str = "memtable") -> RawStall:
    """One stall in the measured phase."""
    return RawStall(begin_s, begin_s + seconds, condition, cause, seconds)


def decided(at_s: float, rule: str = "l0", outcome: str = "applied", elapsed_s: float | None = 0.02) -> RawDecision:
    """One decision."""
    return RawDecision(at_s, rule, "L0 files 21", {"background_jobs": 4}, outcome, elapsed_s)


def turned(at_s: float, rule: str = "adoc.memory", /, **settings: int) -> RawDecision:
    """One applied decision that turned these knobs."""
    return RawDecision(at_s, rule, "a signal", settings, "applied")


def acting(runs: Iterable[RawRun]) -> list[RawRun]:
    """Let every law do what a claim about it needs, from the phase's begin on; its knobs have no value at open."""
    made = []
    for each in runs:
        found = MECHANISMS.get("adoc, both knobs" if each.scheme.name == "adoc" else each.scheme.name)
        settings = {knob: 0 for part in found.needed for knob in part.knobs} if found else {}
        decisions = (turned(0.1, f"{each.scheme.name}.rule", **settings),) if settings else ()
        made.append(replace(each, decisions=(*each.decisions, *decisions)))
    return made


def moved(user_bytes: int = 100 * MIB, amplification: float = 5.0, **members: Any) -> Moved:
    """RocksDB's own counts: a fifth of what was written is flushed."""
    written = round(user_bytes * amplification)
    whole = Moved(
        at_s=10.0,
        user_written_bytes=user_bytes,
        wal_bytes=user_bytes,
        flush_written_bytes=user_bytes,
        compaction_written_bytes=written - user_bytes,
        compaction_read_bytes=written,
        pending_compaction_bytes=64 * MIB,
        stalled_s=1.0,
    )
    return replace(whole, **members)


def settled(clients_ended_s: float = 10.0, **members: Any) -> Settled:
    """The owner's options are back after a second, and nothing is due after five."""
    at_s = clients_ended_s
    whole = Settled(at_s, at_s + 0.1, at_s + 0.9, at_s + 1.0, {}, at_s + 5.0, 0, 0, 0, 0, 0, 0)
    return replace(whole, **members)


def sampled(at_s: float, **members: Any) -> Sampled:
    """A sample of a quiet database."""
    whole = Sampled(at_s, "normal", 0.0, 1, 0, 0, 0, 2, 64 * MIB, True, None, None, None, None)
    return replace(whole, **members)


def used(name: str, **members: Any) -> SchemeUsed:
    """A scheme that is its law; the default has none."""
    policy = "fixed" if name == "default" else name
    whole = SchemeUsed(name, f"The scheme {name}", {}, None, False, policy, {})
    return replace(whole, **members)


def run(
    scheme: str = "default",
    repetition: int = 1,
    *,
    per_s: int = 1000,
    seconds: int = 10,
    workload: str = "fillrandom",
    profile: str = "cap-210",
    offered_per_s: float | None = None,
    stalls: Sequence[RawStall] = (),
    processing: LatencyHistogram | None = None,
    total: LatencyHistogram | None = None,
    queueing: LatencyHistogram | None = None,
    **members: Any,
) -> RawRun:
    """A quiet run of writes with so many in each of its seconds, except for `members`."""
    offered = None if offered_per_s is None else round(offered_per_s)
    whole = RawRun(
        format=FORMAT,
        block=f"{profile}-{workload}",
        scheme=used(scheme),
        profile=profile,
        workload=WorkloadUsed(workload, f"The workload {workload}", "db_bench", {}, float(seconds), offered_per_s),
        repetition=repetition,
        seed=repetition,
        scale=1,
        started_unix_s=NEW_YEAR_UNIX_S + 100 * repetition,
        wall_s=20.0,
        machine=MACHINE,
        operations=(Operations("write", per_s * seconds, processing or at(10, per_s * seconds), queueing, total),),
        measured_s=float(seconds),
        drain_s=5.0,
        seconds=tuple(Second(at_s, per_s, 0, offered, 2000) for at_s in range(seconds)),
        samples=(),
        stalls=tuple(stalls),
        decisions=(),
        at_end=moved(),
        drained=moved(amplification=6.0),
        database=Process(cpu_s=10.0, peak_rss_bytes=200 * MIB, measured_cpu_s=5.0),
        daemon=Process(cpu_s=0.2, peak_rss_bytes=80 * MIB),
        noise=Noise(0.01, 0),
        wal_outside_cap=False,
        settled=settled(float(seconds)),
    )
    return replace(whole, **members)


def repeated(scheme: str, per_s: Sequence[int], **members: Any) -> list[RawRun]:
    """One run a repetition, with so many operations/s."""
    return [run(scheme, repetition, per_s=each, **members) for repetition, each in enumerate(per_s, 1)]


def block(of: Mapping[str, Sequence[int]], **members: Any) -> list[RawRun]:
    """A block: each scheme's operations/s by repetition."""
    return [found for scheme, per_s in of.items() for found in repeated(scheme, per_s, **members)]


def stalling(scheme: str, per_s: Sequence[int], stalled_s: Sequence[float], **members: Any) -> list[RawRun]:
    """Repetitions with operations/s, and seconds that writes were stopped for memtables, of 10."""
    return [
        run(scheme, repetition, per_s=each, stalls=[held(seconds)] if seconds else [], **members)
        for repetition, (each, seconds) in enumerate(zip(per_s, stalled_s, strict=True), 1)
    ]
