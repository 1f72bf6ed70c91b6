"""The stability paper's two-phase evaluation, and which rates are really sustainable.

Testing phase (performance-stability-vldb19, 3.2): the maximum is the updates/s of one writer in a closed loop, after a
warm-up (the first 20 of 120 minutes). It is measured under the baseline, never under the law being tested. Running
phase: an open loop at 95 % of the maximum, judged by latencies with queueing.

The maximum may not be sustainable, because RocksDB merges as many level-0 files as there are (6.2: 30 % too high), and
under a law that does better a higher rate may be. A search of running phases finds the rate that is (sustained.py): a
rate lasts if all operations were started and 99 % of them ended within a second of their arrival. The paper judges by
its plots; this rule is ours.
"""

from dataclasses import replace

from adocd_bench.errors import BadArgument, RunFailed
from adocd_bench.evaluation import raw
from adocd_bench.evaluation.loads.generated import GeneratedLoad
from adocd_bench.evaluation.loads.program import LoadProgram
from adocd_bench.evaluation.report.disturbed import by_others
from adocd_bench.evaluation.search.sustained import TriedRate
from adocd_bench.load.spec import ClosedArrivals

_WARM_UP_SHARE = 1 / 6
#: A rate lasts if at least this share of the operations ended within this time (us) of their arrival.
_LASTS_SHARE, _LASTS_US = 0.99, 1_000_000


def testing_phase(asked: LoadProgram, seconds: int) -> GeneratedLoad:
    """Make the testing phase of the running phase that is asked: the same work by one writer in a closed loop."""
    running = running_phase(asked)
    warm_up_s = seconds * _WARM_UP_SHARE
    work = replace(running.work, arrivals=ClosedArrivals(seconds=seconds - warm_up_s), threads=1)
    warm_up = replace(work, name="warm-up", arrivals=ClosedArrivals(seconds=warm_up_s))
    return replace(running, work=work, warm_up=warm_up, seconds=round(seconds - warm_up_s), offered_per_s=None)


def running_phase(asked: LoadProgram) -> GeneratedLoad:
    """Make a search's running phase: it is judged by its latencies alone, so it is not drained."""
    if not isinstance(asked, GeneratedLoad):
        raise BadArgument("two phases need a workload of the load generator")
    return replace(asked, drained=False)


def maximum_per_s(run: raw.RawRun) -> float:
    """Return the testing phase's operations/s; raises RunFailed if it made none."""
    done = sum(each.count for each in run.operations)
    if not done:
        raise RunFailed("nothing was written in the testing phase")
    return done / run.measured_s


def tried(run: raw.RawRun, offered_per_s: float) -> TriedRate:
    """Return the result of a running phase at this rate, with whether it lasts, and what it left in its last sample."""
    totals = [each.total for each in run.operations if each.total is not None]
    counted = sum(count for total in totals for _, _, count in total.buckets)
    late = sum(count for total in totals for low, _, count in total.buckets if low > _LASTS_US)
    done = sum(each.count for each in run.operations)
    started = counted == done
    last = max((each for each in run.samples if each.at_s <= run.measured_s), key=lambda each: each.at_s, default=None)
    return TriedRate(
        offered_per_s=offered_per_s,
        done_per_s=done / run.measured_s,
        p99_total_us=max((percentile_us(total, _LASTS_SHARE) for total in totals), default=0),
        lasts=started and late <= (1 - _LASTS_SHARE) * counted,
        seed=run.seed,
        disturbed=by_others(run),
        l0_files=None if last is None else last.l0_files,
        pending_compaction_bytes=None if last is None else last.pending_compaction_bytes,
    )


def percentile_us(histogram: raw.LatencyHistogram, share: float) -> int:
    """Return the upper end of the bucket that contains a percentile, at most the maximum; `share` is 0 to 1."""
    wanted, seen = share * sum(count for _, _, count in histogram.buckets), 0
    for _, highest, count in histogram.buckets:
        seen += count
        if seen >= wanted:
            return min(highest, histogram.max_us)
    return histogram.max_us
