"""RocksDB's rate limiter as a fluid model: by priority, in refills of 100 ms (util/rate_limiter.cc)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from adocd.model.knob import MIB
from adocd.simulator.shares import fair_shares

#: Env::IO_USER, IO_HIGH and IO_LOW. A file gets its priority when it is opened, and keeps it: IO_USER while writes are
#: delayed or stopped, otherwise IO_HIGH for a flush and IO_LOW for a compaction. A flush writes one file, a compaction
#: opens several (FlushJob::GetRateLimiterPriorityForWrite, CompactionJob::GetRateLimiterPriority and
#: OpenCompactionOutputFile).
Priority = Literal["user", "high", "low"]
#: options.h, NewGenericRateLimiter: refill_period_us and fairness.
REFILL_PERIOD_S = 0.1
FAIRNESS = 10
#: options.h, writable_file_max_buffer_size: a thread requests this many bytes at once, and waits until it has them.
REQUEST_BYTES = MIB


@dataclass(frozen=True, slots=True)
class LimiterDemand:
    """The total rate in bytes/s at which some threads want to write files of one priority."""

    priority: Priority
    bytes_per_s: float
    threads: float = 1.0


@dataclass(slots=True)
class RateLimiter:
    """Limits what flushes and compactions write, but not the WAL or reads (rate_limiter.h, Mode::kWritesOnly).

    A request that finds the period's bytes used up waits for the next refill and counts one drain, however many wait
    with it: while demand exceeds the rate there is one drain per period (GenericRateLimiter::Request).

    Priorities apply to waiting threads, and each thread waits with one request. At a refill IO_USER always comes first.
    Then IO_HIGH is served before IO_LOW, except in one of `FAIRNESS` refills, so that IO_HIGH never starves IO_LOW
    (GeneratePriorityIterationOrder). The rest goes to whoever asks first when nobody waits any more: with a low rate
    priorities decide everything, with a high one almost nothing.
    """

    bytes_per_s: int
    _drained_s: float = 0.0

    @property
    def drains(self) -> int:
        """Return how often the limiter ran dry (ticker rocksdb.number.rate_limiter.drains)."""
        return int(self._drained_s / REFILL_PERIOD_S)

    def share(self, wants: Sequence[LimiterDemand]) -> list[float]:
        """Divide the rate among the demands, in bytes/s."""
        request = min(REQUEST_BYTES / REFILL_PERIOD_S, self.bytes_per_s)
        waits = [min(each.bytes_per_s, each.threads * request) for each in wants]
        of: dict[Priority, list[int]] = {"user": [], "high": [], "low": []}
        for index, each in enumerate(wants):
            of[each.priority].append(index)
        user, high, low = (sum(waits[index] for index in indices) for indices in of.values())
        user = min(user, self.bytes_per_s)
        left = self.bytes_per_s - user
        high = min(high, left - min(low, left / FAIRNESS))
        granted = list(waits)
        for indices, available in zip(of.values(), (user, high, left - high), strict=True):
            threads = [wants[index].threads for index in indices]
            shares = fair_shares([waits[index] for index in indices], available, threads)
            for index, share in zip(indices, shares, strict=True):
                granted[index] = share
        more = [each.bytes_per_s - share for each, share in zip(wants, granted, strict=True)]
        rest = min(1.0, max(0.0, self.bytes_per_s - sum(granted)) / max(1.0, sum(more)))
        return [share + rest * wanted for share, wanted in zip(granted, more, strict=True)]

    def is_short(self, wanted: float) -> bool:
        """Whether some thread has to wait at this total demand, in bytes/s."""
        return wanted > self.bytes_per_s

    def drain(self, seconds: float) -> None:
        """Count time in which some thread waited."""
        self._drained_s += seconds
