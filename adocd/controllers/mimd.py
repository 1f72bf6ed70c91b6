"""RocksDB's auto-tuned rate limiter, from outside (RocksDB rate_limiter.cc, GenericRateLimiter::Tune; warlo 3.3.5).

The scheme that papers call RocksDB-AT: multiplicative increase and decrease of the limiter's rate by how often its
bucket ran dry. Every 100 refill periods (10 s, as a period is 100 ms by default), in integers as in the source:

    d = 100 x drains / ceil(elapsed / refill period)          percent of the periods

| d            | rate               |
|--------------|--------------------|
| 0            | max / 20           |
| 1..49        | x 100 / 105        |
| 50..90       | as it is           |
| over 90      | x 105 / 100        |

The rate is clamped to max / 20 .. max and starts at max / 2. The operator gives `max_bytes_per_s`: RocksDB advises the
device's write bandwidth. Drains are the ticker rocksdb.number.rate_limiter.drains.

Assumes that the limiter limits flushes and compactions only. Does harm where a burst follows a quiet time: an idle
database sits at a twentieth of the maximum and climbs by 5 % every 10 s, and flushes are held to that rate meanwhile
(from max / 20 to max / 2 takes 8 minutes). RocksDB behaves the same, and that is one cause of write stalls under it.

Departures: RocksDB counts drains in the limiter, for all databases that share it. A target's Statistics count only its
own, so with a shared limiter d is too low. Newer RocksDB checks at each refill whether it is time to tune; here the law
runs in its own period. Not reachable: creating the limiter (it must exist at the open), its refill period and
auto_tuned, neither of which has a getter. If the rate moves although the law has not moved it, auto_tuned is on or
somebody else turns it: the law then stops and says so, and starts anew when the policy is set again. An operator's pin
is neither case: the law declines while the pin lasts and starts anew by itself afterwards. Nor is a rate that an
earlier step found in force: the judge takes changes back to one (docs/safety.md).
"""

from collections import deque
from typing import ClassVar

from pydantic import Field

from adocd.controllers.base import Controller, Needs, Parameters
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.sample import Sample
from adocd.model.values import RATE_LIMITER

DRAINS = "rocksdb.number.rate_limiter.drains"
_REFILLS_PER_TUNE = 100
_LOW_WATERMARK_PCT = 50
_HIGH_WATERMARK_PCT = 90
_ADJUST_PCT = 5
_ALLOWED_RANGE = 20
_MICROS = 1_000_000
#: More steps than the longest trial of the judge has.
_REMEMBERED = 4096


class MimdParameters(Parameters):
    """The device's write bandwidth in bytes/s, and the limiter's refill period."""

    max_bytes_per_s: int = Field(ge=_ALLOWED_RANGE * MIB, le=1 << 50, description="what the device can write")
    refill_period_ms: int = Field(default=100, ge=1, le=10_000, description="as the limiter was made with")


class Mimd(Controller):
    """Set the rate limit by how often the limiter's bucket ran dry."""

    name = "mimd"
    summary = "RocksDB's auto-tuned rate limiter, from outside: rate limit by how often it was drained"
    source = "RocksDB rate_limiter.cc, Tune; Warlo 2018, 3.3.5"
    period_s = 10.0
    knobs = frozenset({Knob.RATE_LIMIT})
    needs = Needs(tickers=(DRAINS,))
    parameters_model: ClassVar[type[Parameters]] = MimdParameters
    device_rate = "max_bytes_per_s"

    def __init__(self, parameters: MimdParameters) -> None:
        self._max = parameters.max_bytes_per_s
        self._refill_micros = parameters.refill_period_ms * 1000
        self.period_s = _REFILLS_PER_TUNE * parameters.refill_period_ms / 1000
        #: Lower and upper bound of the expected rate: a guard may have held the last step back.
        self._expected: tuple[int, int] | None = None
        #: Whether auto_tuned or somebody else has moved the rate.
        self._moves_by_itself = False
        #: The rate before the first step, until that step has taken effect.
        self._begins_at: int | None = None
        #: Rates that earlier steps found in force.
        self._found: deque[int] = deque(maxlen=_REMEMBERED)

    def step(self, sample: Sample) -> Decision | None:
        """Tune the rate once, as GenericRateLimiter::Tune does."""
        now = sample.options.rate_limiter_bytes_per_s
        if now is None or self._moves_by_itself:
            return None
        self.declined = None
        if RATE_LIMITER in sample.pinned:
            # A pin is not auto_tuned, so forget the expected rate.
            self._expected = self._begins_at = None
            self.declined = "an operator has pinned the limiter's rate; the law starts anew when the pin ends"
            return None
        return self._step(now, sample)

    def _step(self, now: int, sample: Sample) -> Decision | None:
        if self._expected is not None and not self._expected[0] <= now <= self._expected[1] and _is_owners(now, sample):
            self._expected = None  # a pause or a restore has given the owner's rate back
        if now != self._begins_at:
            self._begins_at = None
        if self._expected is None or self._begins_at is not None:
            # A guard or a pin may have blocked the first step: then this is still the owner's rate, no base to tune on.
            self._begins_at = now if now != self._max // 2 else None
            return self._set(now, self._max // 2, "begin", "the first step", "RocksDB begins at half of the maximum")
        if not self._expected[0] <= now <= self._expected[1] and now not in self._found:
            self._moves_by_itself = True
            self.declined = (
                f"the limiter's rate is {now} bytes/s, and nothing of ours set it: its auto_tuned is on, or somebody "
                "else turns it; open the database without auto_tuned, and set the policy again"
            )
            return None
        self._found.append(now)
        drains = (sample.ticker_increases or {}).get(DRAINS)
        return None if drains is None else self._tune(now, drains, sample.interval_s)

    def _tune(self, now: int, drains: int, elapsed_s: float) -> Decision | None:
        intervals = -(-max(1, round(elapsed_s * _MICROS)) // self._refill_micros)
        drained_pct = drains * 100 // intervals
        signal = f"drained in {drained_pct} % of {intervals} refill periods"
        if drained_pct == 0:
            return self._set(now, self._least, "idle", signal, "nothing wants more, so the floor will do")
        if drained_pct < _LOW_WATERMARK_PCT:
            lower = self._clamped(now * 100 // (100 + _ADJUST_PCT))
            return self._set(now, lower, "lower", signal, "little I/O is smoothed out")
        if drained_pct > _HIGH_WATERMARK_PCT:
            higher = self._clamped(now * (100 + _ADJUST_PCT) // 100)
            return self._set(now, higher, "raise", signal, "flushes and compactions wait for the limiter")
        return None

    def _clamped(self, rate: int) -> int:
        # Apply both bounds to every step: one that a guard held back leaves the rate outside them.
        return max(self._least, min(self._max, rate))

    @property
    def _least(self) -> int:
        return self._max // _ALLOWED_RANGE

    def _set(self, now: int, wanted: int, rule: str, signal: str, reason: str) -> Decision | None:
        self._expected = (min(now, wanted), max(now, wanted))
        if wanted == now:
            return None
        return Decision((Setting(Knob.RATE_LIMIT, wanted),), signal, f"mimd.{rule}", reason)


def _is_owners(now: int, sample: Sample) -> bool:
    return sample.originals is not None and sample.originals.rate_limiter_bytes_per_s == now
