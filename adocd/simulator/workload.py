"""Workloads of clients that write: constant, closed loop, sine, burst, peaks and valleys."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from adocd.model.nearest import unknown
from adocd.simulator.device import CLIENT_BYTES_PER_S, MB

#: A sine is a staircase of this many steps per period.
_SINE_STEPS = 60


class BadWorkload(ValueError):
    """An unknown workload, or one with invalid values; the message is one sentence."""


class WriteDemand(Protocol):
    """Bytes per second that clients want to write: constant between its changes."""

    @property
    def closed(self) -> bool:
        """Whether clients wait for a write before they start the next, so that writes never queue."""

    def rate(self, time_s: float) -> float:
        """Return the bytes/s that arrive from this time until the next change."""

    def next_change_s(self, time_s: float) -> float:
        """Return the time of the next change; always later, infinity for never."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Writes arrive at a constant rate, whether or not the previous ones are done."""

    bytes_per_s: float
    closed: bool = False

    def rate(self, time_s: float) -> float:
        """See WriteDemand."""
        del time_s
        return self.bytes_per_s

    def next_change_s(self, time_s: float) -> float:
        """See WriteDemand."""
        del time_s
        return math.inf


@dataclass(frozen=True, slots=True)
class ClosedLoop(Constant):
    """Clients that write as fast as they can, like db_bench."""

    bytes_per_s: float = CLIENT_BYTES_PER_S
    closed: bool = True


@dataclass(frozen=True, slots=True)
class Sine:
    """Writes arrive at a rate that swings between 0 and twice its mean."""

    bytes_per_s: float
    period_s: float = 600.0
    closed: bool = False

    def rate(self, time_s: float) -> float:
        """See WriteDemand."""
        middle = (self._step(time_s) + 0.5) / _SINE_STEPS
        return self.bytes_per_s * (1 - math.cos(2 * math.pi * middle))

    def next_change_s(self, time_s: float) -> float:
        """See WriteDemand."""
        return (self._step(time_s) + 1) * self.period_s / _SINE_STEPS

    def _step(self, time_s: float) -> int:
        return _steps(time_s, self.period_s / _SINE_STEPS)


@dataclass(frozen=True, slots=True)
class Alternating:
    """Writes arrive at two alternating rates: `low` first, then `high` for a share of the period.

    A small share with a low rate of 0 is a burst; equal shares are peaks and valleys (warlo-auto-tuning, 4.2).
    """

    low_bytes_per_s: float
    high_bytes_per_s: float
    period_s: float
    high_share: float
    closed: bool = False

    def rate(self, time_s: float) -> float:
        """See WriteDemand."""
        return self.high_bytes_per_s if self._is_high(time_s) else self.low_bytes_per_s

    def next_change_s(self, time_s: float) -> float:
        """See WriteDemand."""
        period = _steps(time_s, self.period_s)
        ends = period + 1 if self._is_high(time_s) else period + 1 - self.high_share
        return ends * self.period_s

    def _is_high(self, time_s: float) -> bool:
        # The same product as in next_change_s, so that both agree on the edge to the last bit.
        period = _steps(time_s, self.period_s)
        return time_s >= (period + 1 - self.high_share) * self.period_s


def workload(name: str, bytes_per_s: float | None = None) -> WriteDemand:
    """Make a workload by its name. `bytes_per_s` is its mean rate, or the clients' highest rate for the closed loop.

    Raises BadWorkload.
    """
    make = _WORKLOADS.get(name)
    if make is None:
        raise BadWorkload(unknown("workload", name, _WORKLOADS))
    mean = (
        bytes_per_s if bytes_per_s is not None else CLIENT_BYTES_PER_S if name == "closed-loop" else _MEAN_BYTES_PER_S
    )
    if not 0 < mean < math.inf:
        raise BadWorkload(f"a workload's rate is more than 0 bytes/s, not {mean:g}")
    return make(mean)


def _burst(mean: float) -> WriteDemand:
    low = mean / 2
    return Alternating(low, low + (mean - low) / _BURST_SHARE, _BURST_PERIOD_S, _BURST_SHARE)


def _peaks(mean: float) -> WriteDemand:
    return Alternating(mean / 4, mean * 7 / 4, _PEAKS_PERIOD_S, 0.5)


def _steps(time_s: float, length_s: float) -> int:
    """Count whole steps by edges computed as n * length, as elsewhere, and not by adding up lengths."""
    count = int(time_s / length_s)
    if (count + 1) * length_s <= time_s:
        return count + 1
    return count - 1 if count * length_s > time_s else count


_MEAN_BYTES_PER_S = 30 * MB
_BURST_PERIOD_S, _BURST_SHARE = 300.0, 0.1
_PEAKS_PERIOD_S = 600.0
_WORKLOADS: Mapping[str, Callable[[float], WriteDemand]] = {
    "closed-loop": ClosedLoop,
    "constant": Constant,
    "sine": Sine,
    "burst": _burst,
    "peaks": _peaks,
}
#: All workloads, by name.
WORKLOADS = tuple(_WORKLOADS)
