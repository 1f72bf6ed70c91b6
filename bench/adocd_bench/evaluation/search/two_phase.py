"""The stability paper's evaluation in two phases, and the highest rate that really lasts.

Testing phase (performance-stability-vldb19, 3.2): how many updates a second a closed loop of one writer makes, under
the baseline and never under the law that is tested, after a warm-up (its first 20 of 120 minutes are left out).
Running phase: as an open loop at 95 % of that, judged by latencies with queueing.

That maximum may not last, for RocksDB merges as many files of level 0 as there are (6.2: 30 % too high). Bisection of
the running phase finds what does: a rate lasts where all operations were started and 99 % of them ended within a
second of their arrival. The paper judges by its plots; this rule is ours.
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
#: A rate lasts where so many of the operations took no longer than so many seconds from their arrival on.
_LASTS_SHARE, _LASTS_US = 0.99, 1_000_000


def testing_phase(running: LoadProgram, seconds: int) -> GeneratedLoad:
    """Make the testing phase's program: the running phase's work in a closed loop of one writer."""
    if not isinstance(running, GeneratedLoad):
        raise BadArgument("only what the load generator does has two phases")
    warm_up_s = seconds * _WARM_UP_SHARE
    work = replace(running.work, arrivals=ClosedArrivals(seconds=seconds - warm_up_s), threads=1)
    warm_up = replace(work, name="warm-up", arrivals=ClosedArrivals(seconds=warm_up_s))
    return replace(running, work=work, warm_up=warm_up, seconds=round(seconds - warm_up_s), offered_per_s=None)


def maximum_per_s(run: raw.RawRun) -> float:
    """Read the testing phase's maximum; raises RunFailed where there is none."""
    done = sum(each.count for each in run.operations)
    if not done:
        raise RunFailed("nothing was written in the testing phase")
    return done / run.measured_s


def tried(run: raw.RawRun) -> TriedRate:
    """Say whether a running phase's rate lasts."""
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
    """Give the upper end of the bucket that a percentile falls into."""
    wanted, seen = share * sum(count for _, _, count in histogram.buckets), 0
    for _, highest, count in histogram.buckets:
        seen += count
        if seen >= wanted:
            return min(highest, histogram.max_us)
    return histogram.max_us


def search(file: Path, seconds: int, scale: int, measure: Callable[[], float]) -> Search:
    """Read the search so far, or measure the maximum now and begin one; raises BenchError."""
    before = sustained.read(file)
    if before is None:
        return sustained.keep(file, Search(seconds, scale, measure()))
    if (before.seconds, before.scale) != (seconds, scale):
        raise BadArgument(f"{file} is for other --seconds or another --scale: give the same, or choose another --out")
    return before
