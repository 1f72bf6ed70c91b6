"""A directory as `adocd bench run` leaves it, with everything in it that the report has to show."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from adocd_bench.evaluation import raw
from adocd_bench.evaluation.plan import FAILURES, FailedRun
from adocd_bench.evaluation.raw import DeviceBytes, Noise, Operations, RawRun, Second

from tests.bench.evaluation.report.builders import at, decided, held, histogram, run, used

#: Of the run's own, 60 GB as whole sectors, under a cap of 210 MB/s for 20 s.
_DEVICE = DeviceBytes("loop0", True, 4_100_000_000, 2_000_000_000, 214e6, 60_000_000_000 // 512 * 512)
_PER_S = {"default": 1000, "auto-tuned": 900, "adoc": 1500, "silk": 1400, "bad": 100}


def written(directory: Path) -> Path:
    """Keep a closed block of five schemes, six times, one run of them disturbed, and an open one of two, twice.

    The open one is from before there were devices of the run's own: its log is outside the cap, its name without that.
    """
    (directory / "runs").mkdir(parents=True)
    (directory / "failed").mkdir()
    failed = FailedRun("cap-210-fillrandom-mimd-1", "db_bench failed with status 1: no space left", 3)
    FAILURES.write(directory / "failed" / f"{failed.run}.json", failed)
    for each in (*_closed(), *_open()):
        raw.write(directory / "runs" / f"{each.block}-{each.scheme.name}-{each.repetition}.json", each)
    return directory


def _closed() -> list[RawRun]:
    runs = []
    for name, per_s in _PER_S.items():
        for repetition in range(1, 7):
            each = run(name, repetition, per_s=per_s + 10 * repetition, seconds=20, scale=4)
            each = replace(
                each,
                scheme=_used(name),
                device=_DEVICE,
                stalls=(
                    held(2.0 if name == "default" else 0.5, begin_s=3, cause="l0"),
                    held(1.0, begin_s=9, condition="delayed", cause="pending_bytes"),
                ),
                decisions=(decided(3.5), decided(9.5, "mmo | <b>", "refused", None)) if name == "adoc" else (),
                operations=(Operations("write", each.operations[0].count, _latencies(name, each.operations[0].count)),),
            )
            runs.append(each)
    runs[-1] = replace(runs[-1], noise=Noise(0.4))
    return runs


def _open() -> list[RawRun]:
    runs = []
    for name in ("default", "silk"):
        for repetition in (1, 2):
            late = at(90_000 if name == "default" else 900, 10_000)
            each = run(name, repetition, workload="peaks-100", offered_per_s=1000, scale=4)
            kinds = tuple(Operations(kind, 5_000, at(40, 5_000), late, late) for kind in ("write", "read"))
            rows = tuple(Second(at_s, 500, 500, 1000, 900) for at_s in range(10))
            runs.append(replace(each, scheme=_used(name), operations=kinds, seconds=rows, wal_outside_cap=True))
    return runs


def _used(name: str) -> raw.SchemeUsed:
    limiter = 210_000_000 if name in ("auto-tuned", "silk") else None
    return used(name, rate_limiter_bytes_per_s=limiter, auto_tuned=name == "auto-tuned")


def _latencies(name: str, count: int) -> raw.LatencyHistogram:
    slow = count // 50
    return histogram((5, 9, count - slow), (1000, 90_000 if name == "bad" else 2000, slow))
