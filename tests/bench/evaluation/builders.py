"""Runs made up for tests, where only some of their figures matter."""

from __future__ import annotations

from dataclasses import replace

from adocd_bench.evaluation import raw
from adocd_bench.evaluation.circumstances import Circumstances
from adocd_bench.evaluation.one import WantedRun
from adocd_bench.evaluation.schemes import SCHEMES

MOVED = raw.Moved(10.0, 0, 0, 0, 0, 0, 0, 0.0)
MACHINE = raw.Machine(2, "a processor", 8 << 30, "6.1", "a system", "sda", 4e8, 4e8, 1, "0.1.0", "7.8.3", "db_bench")


def run_of(wanted: WantedRun, operations: tuple[raw.Operations, ...], measured_s: float = 10.0) -> raw.RawRun:
    """Make the record of a run that did these operations."""
    return raw.RawRun(
        format=raw.FORMAT,
        block=wanted.block,
        scheme=wanted.scheme,
        profile=wanted.profile,
        workload=wanted.workload,
        repetition=wanted.repetition,
        seed=wanted.seed,
        scale=wanted.scale,
        started_unix_s=0.0,
        wall_s=measured_s,
        machine=MACHINE,
        operations=operations,
        measured_s=measured_s,
        drain_s=None,
        seconds=(),
        samples=(),
        stalls=(),
        decisions=(),
        at_end=MOVED,
        drained=None,
        database=raw.Process(1.0, 1),
        daemon=raw.Process(1.0, 1),
        noise=raw.Noise(0.0),
        wal_outside_cap=False,
    )


def wanted_run(offered_per_s: float | None = None) -> WantedRun:
    """Make the order of a run of the baseline."""
    workload = raw.WorkloadUsed("constant", "", "adocd-load", {}, 10.0, offered_per_s)
    return WantedRun("cap-50-constant", SCHEMES["default"].used(Circumstances()), "cap-50", workload, "", 1, 1, 1)


def offered(per_s: float, total_us: dict[int, int], done: int | None = None) -> raw.RawRun:
    """Make an open loop's run with these latencies; `done` is how many ended, all of them without it."""
    buckets = tuple((us, us, count) for us, count in sorted(total_us.items()))
    histogram = raw.LatencyHistogram(buckets, max(total_us))
    count = sum(total_us.values()) if done is None else done
    run = run_of(wanted_run(per_s), (raw.Operations("write", count, histogram, histogram, histogram),))
    return replace(run, measured_s=10.0)
