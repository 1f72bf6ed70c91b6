"""The stability paper's two-phase evaluation, and a bisection for the highest rate that is really sustainable.

Testing phase (performance-stability-vldb19, 3.2): the maximum is the updates/s of one writer in a closed loop, after a
warm-up (the first 20 of 120 minutes). It is measured under the baseline, never under the law being tested. Running
phase: an open loop at 95 % of the maximum, judged by latencies with queueing.

The maximum may not be sustainable, because RocksDB merges as many level-0 files as there are (6.2: 30 % too high).
Bisection of the running phase finds the rate that is: a rate lasts if all operations were started and 99 % of them
ended within a second of their arrival. The paper judges by its plots; this rule is ours.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from adocd_bench.errors import BadArgument, RunFailed
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.loads.generated import GeneratedLoad
from adocd_bench.evaluation.loads.program import LoadProgram
from adocd_bench.evaluation.search import sustained
from adocd_bench.evaluation.search.sustained import Search, TriedRate
from adocd_bench.load.spec import ClosedArrivals

_WARM_UP_SHARE = 1 / 6
#: A rate lasts if at least this share of the operations ended within this time (us) of their arrival.
_LASTS_SHARE, _LASTS_US = 0.99, 1_000_000


def testing_phase(running: LoadProgram, seconds: int) -> GeneratedLoad:
    """Make the testing phase's program from the running phase's: the same work by one writer in a closed loop."""
    if not isinstance(running, GeneratedLoad):
        raise BadArgument("two phases need a workload of the load generator")
    warm_up_s = seconds * _WARM_UP_SHARE
    work = replace(running.work, arrivals=ClosedArrivals(seconds=seconds - warm_up_s), threads=1)
    warm_up = replace(work, name="warm-up", arrivals=ClosedArrivals(seconds=warm_up_s))
    return replace(running, work=work, warm_up=warm_up, seconds=round(seconds - warm_up_s), offered_per_s=None)


def maximum_per_s(run: raw.RawRun) -> float:
    """Return the testing phase's operations/s; raises RunFailed if it made none."""
    done = sum(each.count for each in run.operations)
    if not done:
        raise RunFailed("nothing was written in the testing phase")
    return done / run.measured_s


def tried(run: raw.RawRun) -> TriedRate:
    """Return the result of a running phase, with whether its rate lasts."""
    totals = [each.total for each in run.operations if each.total is not None]
    counted = sum(count for total in totals for _, _, count in total.buckets)
    late = sum(count for total in totals for low, _, count in total.buckets if low > _LASTS_US)
    done = sum(each.count for each in run.operations)
    offered = run.workload.offered_per_s or 0.0
    started = counted == done
    return TriedRate(
        offered_per_s=offered,
        done_per_s=done / run.measured_s,
        p99_total_us=max((percentile_us(total, _LASTS_SHARE) for total in totals), default=0),
        lasts=started and late <= (1 - _LASTS_SHARE) * counted,
    )


def percentile_us(histogram: raw.LatencyHistogram, share: float) -> int:
    """Return the upper end of the bucket that contains a percentile, at most the maximum; `share` is 0 to 1."""
    wanted, seen = share * sum(count for _, _, count in histogram.buckets), 0
    for _, highest, count in histogram.buckets:
        seen += count
        if seen >= wanted:
            return min(highest, histogram.max_us)
    return histogram.max_us


def search(file: Path, seconds: int, scale: int, measure: Callable[[], float]) -> Search:
    """Read the search in `file`, or call `measure` for the maximum and begin one; raises BenchError."""
    before = sustained.read(file)
    if before is None:
        return sustained.keep(file, Search(seconds, scale, measure()))
    if (before.seconds, before.scale) != (seconds, scale):
        raise BadArgument(f"{file} is for other --seconds or another --scale: give the same, or choose another --out")
    return before
