"""RocksDB's rate limiter, as a fluid: flushes before compactions, in refills of 100 ms (util/rate_limiter.cc)."""

from dataclasses import dataclass

#: options.h, NewGenericRateLimiter: refill_period_us and fairness.
REFILL_PERIOD_S = 0.1
FAIRNESS = 10


@dataclass(slots=True)
class RateLimiter:
    """What flushes and compactions may write together; not the WAL, nor reads (rate_limiter.h, Mode::kWritesOnly).

    A request that finds the period's bytes used up waits for the next refill and counts one drain, whoever else
    waits with it: while more is wanted than flows there is one drain a period (GenericRateLimiter::Request). At a
    refill flushes (IO_HIGH) come first, but in one refill of `FAIRNESS` compactions (IO_LOW) do, so that they never
    starve.
    """

    bytes_per_s: int
    _drained_s: float = 0.0

    @property
    def drains(self) -> int:
        """Count how often the limiter ran dry (ticker rocksdb.number.rate_limiter.drains)."""
        return int(self._drained_s / REFILL_PERIOD_S)

    def share(self, flush_wants: float, compaction_wants: float) -> tuple[float, float]:
        """Divide the rate between what flushes and compactions want to write, all in bytes/s."""
        if not self.is_short(flush_wants, compaction_wants):
            return flush_wants, compaction_wants
        reserved = min(compaction_wants, self.bytes_per_s / FAIRNESS)
        flush = min(flush_wants, self.bytes_per_s - reserved)
        return flush, min(compaction_wants, self.bytes_per_s - flush)

    def is_short(self, flush_wants: float, compaction_wants: float) -> bool:
        """Whether somebody has to wait."""
        return flush_wants + compaction_wants > self.bytes_per_s

    def drain(self, seconds: float) -> None:
        """Take note of time in which somebody waited."""
        self._drained_s += seconds
