"""How long writes took: an agent's histogram since the open, and what it says of one window."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

Source = Literal["agent sampler", "statistics"]

#: RocksDB's own histogram of the time of writes, in microseconds (statistics.h, DB_WRITE).
WRITE_MICROS = "rocksdb.db.write.micros"
#: Upper bounds of the buckets in which metrics show write latencies, in seconds: three to each power of ten.
WRITE_BOUNDS_S = (*(float(f"{digit}e{power}") for power in range(-6, 1) for digit in (1, 2.5, 5)), 10.0)
_NS = 1e-9


@dataclass(frozen=True, slots=True)
class LatencyTotals:
    """An agent's histogram of write latencies since the open (agents/admin-api.yaml, WriteLatency).

    `values_ns` are the middles of the buckets that have values, at most 1/64 of the value wide, ascending; `counts` are
    the writes in each. A write of `slow_s` or more always counts; of the others one in `one_in` counts for as many.
    """

    one_in: int
    slow_s: float
    values_ns: tuple[int, ...] = ()
    counts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteLatency:
    """How long the writes of one window took, in seconds, from their entry into the database to their return.

    From the agent's sampler, `count` is an estimate, percentiles and maximum are within 1 % of a measured value, and
    the maximum is the worst of all writes if that took 20 ms or more. From Statistics only `count` and `mean_s` are
    known, because RocksDB's percentiles cover the whole time since the open. A figure is None if it is not known or no
    write ended in the window; `why` then says in one sentence what is missing, None if nothing is.
    """

    source: Source | None = None
    count: int | None = None
    mean_s: float | None = None
    p50_s: float | None = None
    p99_s: float | None = None
    p99_9_s: float | None = None
    max_s: float | None = None
    #: How many writes one of the sample stands for; None without a sampler.
    one_in: int | None = None
    why: str | None = None


def sampled(now: LatencyTotals, then: LatencyTotals | None) -> WriteLatency:
    """Return the latencies of the writes that ended between two readings; `then` None: since the open."""
    before: Mapping[int, int] = {} if then is None else dict(zip(then.values_ns, then.counts, strict=False))
    came = [
        (value, count - before.get(value, 0))
        for value, count in zip(now.values_ns, now.counts, strict=False)
        if count > before.get(value, 0)
    ]
    count = sum(times for _, times in came)
    if not count:
        return WriteLatency("agent sampler", 0, one_in=now.one_in)
    p50, p99, p99_9 = _percentiles(came, (0.5 * count, 0.99 * count, 0.999 * count))
    return WriteLatency(
        "agent sampler",
        count,
        mean_s=sum(value * times for value, times in came) / count * _NS,
        p50_s=p50,
        p99_s=p99,
        p99_9_s=p99_9,
        max_s=came[-1][0] * _NS,
        one_in=now.one_in,
    )


def in_buckets(totals: LatencyTotals, bounds_s: tuple[float, ...]) -> tuple[tuple[float, ...], tuple[int, ...], float]:
    """Return the bounds, the writes that exceed the bound before and not this one, and the sum of all in seconds.

    The last count, one more than there are bounds, is of those that exceed all.
    """
    counts = [0] * (len(bounds_s) + 1)
    total_s = 0.0
    for value, times in zip(totals.values_ns, totals.counts, strict=False):
        counts[bisect_left(bounds_s, value * _NS)] += times
        total_s += value * _NS * times
    return bounds_s, tuple(counts), total_s


def _percentiles(came: Iterable[tuple[int, int]], ranks: Iterable[float]) -> list[float]:
    """Return in seconds the smallest value that is not exceeded by so many; ranks ascend."""
    found: list[float] = []
    left = iter(ranks)
    rank, so_far = next(left), 0
    for value, times in came:
        so_far += times
        while so_far >= rank:
            found.append(value * _NS)
            if (following := next(left, None)) is None:
                return found
            rank = following
    return found
