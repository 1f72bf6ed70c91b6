"""How much of a span of time writers were held, by which cause, and how much they wrote. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from adocd.probes.log.stalls import StallFound


class MeasuredSpan(NamedTuple):
    """A history point about writers, over the `interval_s` seconds before `unix_s`; None where unknown."""

    unix_s: float
    interval_s: float
    stopped_fraction: float | None
    delayed_fraction: float | None
    stalled_by_cause: Mapping[str, float] | None
    writes_per_s: float | None
    write_p99_s: float | None = None
    write_max_s: float | None = None
    #: The law that acted at the end; None without control.
    controller: str | None = None


@dataclass(frozen=True, slots=True)
class HeldWriters:
    """How writers fared in a span of time.

    Attributes:
        measured_s: how much of the span was measured.
        share: share of that time in which writes were stopped or delayed, 0 to 1: the larger of what stall events
            (which come late for memtables) and the stalls seen by cause say. Causes that hold different column
            families at once are added up.
        by_cause: share of the time by cause, with REST's names of causes.
        writes_per_s: mean write rate; None where nothing counts writes.
        write_p99_s: what one write in a hundred took at least, the mean of all measured windows with writes; None where
            nothing times writes.
        write_max_s: what the slowest write took; None where nothing times writes.

    """

    measured_s: float
    share: float
    by_cause: dict[str, float]
    writes_per_s: float | None
    write_p99_s: float | None = None
    write_max_s: float | None = None

    @property
    def worst_cause(self) -> str | None:
        """The cause that held writers longest; None where none did."""
        cause = max(self.by_cause, key=lambda each: self.by_cause[each], default=None)
        return cause if cause is not None and self.by_cause[cause] > 0 else None


def held(points: Iterable[MeasuredSpan], begin_unix_s: float, end_unix_s: float) -> HeldWriters:
    """Add up the points of a span, each weighted by its time; a point on the edge counts by its part inside."""
    measured = share = counted = writes = timed = p99 = 0.0
    worst: float | None = None
    causes: dict[str, float] = {}
    for point in points:
        within = min(point.unix_s, end_unix_s) - max(point.unix_s - point.interval_s, begin_unix_s)
        if within <= 0:
            continue
        measured += within
        share += within * _share(point)
        for cause, fraction in (point.stalled_by_cause or {}).items():
            causes[cause] = causes.get(cause, 0.0) + within * fraction
        if point.writes_per_s is not None:
            counted += within
            writes += within * point.writes_per_s
        if point.write_p99_s is not None:
            timed += within
            p99 += within * point.write_p99_s
        if point.write_max_s is not None:
            worst = max(worst or 0.0, point.write_max_s)
    if measured == 0:
        return HeldWriters(0.0, 0.0, {}, None)
    by_cause = {cause: total / measured for cause, total in causes.items()}
    rate, p99_s = writes / counted if counted else None, p99 / timed if timed else None
    return HeldWriters(measured, share / measured, by_cause, rate, p99_s, worst)


def without_control(points: Iterable[MeasuredSpan], until_unix_s: float, span_s: float) -> HeldWriters:
    """Add up the last `span_s` seconds of measured time before `until_unix_s` in which no law acted."""
    free = [point for point in points if point.controller is None and point.unix_s <= until_unix_s]
    measured, begin_unix_s = 0.0, until_unix_s
    for point in reversed(free):
        if measured >= span_s:
            break
        measured, begin_unix_s = measured + point.interval_s, point.unix_s - point.interval_s
    return held(free, begin_unix_s, until_unix_s)


def held_by_stalls(stalls: Iterable[StallFound], begin_unix_s: float, end_unix_s: float) -> HeldWriters:
    """Add up the parts of stalls within a span; a LOG does not count writes."""
    measured_s = max(0.0, end_unix_s - begin_unix_s)
    causes: dict[str, float] = {}
    for stall in stalls:
        within_s = min(stall.end_s, end_unix_s) - max(stall.begin_s, begin_unix_s)
        if measured_s and within_s > 0:
            stalled_s = within_s * stall.stalled_s / (stall.end_s - stall.begin_s)
            causes[stall.cause] = causes.get(stall.cause, 0.0) + stalled_s / measured_s
    return HeldWriters(measured_s, min(1.0, sum(causes.values())), causes, None)


def _share(point: MeasuredSpan) -> float:
    by_events = (point.stopped_fraction or 0.0) + (point.delayed_fraction or 0.0)
    return min(1.0, max(by_events, sum((point.stalled_by_cause or {}).values())))
