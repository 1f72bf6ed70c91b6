"""What a target's history says: how much of a span writers were held, for what, and how much they wrote."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Point = dict[str, Any]

#: RocksDB's causes in words (adocd.model.stall.Cause).
CAUSES = {"memtable": "memtables", "l0": "level-0 files", "pending_bytes": "pending compaction", "other": "other"}
#: The knobs that the page draws first, where they are known; the others follow by name.
_FIRST_KNOBS = ("background_jobs", "write_buffer_size", "rate_limiter_bytes_per_sec")
#: What `background_jobs` says already, as far as it is in force, and what RocksDB takes for "not set".
_SAME_AS_JOBS, _NOT_SET = "max_background_jobs", -1


@dataclass(frozen=True, slots=True)
class Held:
    """How writers fared in a span of time.

    Attributes:
        measured_s: how much of the span was measured.
        share: share of that time in which writes were stopped or delayed, 0 to 1, as far as either tells: stall events
            (which come late for memtables) or the stalls that were seen by cause. Causes that hold different column
            families at once are added up.
        by_cause: share of the time by cause, as REST names causes.
        writes_per_s: mean of what was written; None where nobody counts writes.

    """

    measured_s: float
    share: float
    by_cause: dict[str, float]
    writes_per_s: float | None

    @property
    def worst_cause(self) -> str | None:
        """The cause that held them longest; None where nothing did."""
        cause = max(self.by_cause, key=lambda each: self.by_cause[each], default=None)
        return cause if cause is not None and self.by_cause[cause] > 0 else None


def held(points: Iterable[Point], begin_unix_s: float, end_unix_s: float) -> Held:
    """Add up the points of a span, each by the time it measured; one on its edge by the part within."""
    measured = share = counted = writes = 0.0
    causes: dict[str, float] = {}
    for point in points:
        end = point["unix_s"]
        begin = end - point["interval_s"]
        within = min(end, end_unix_s) - max(begin, begin_unix_s)
        if within <= 0:
            continue
        measured += within
        share += within * _share(point)
        for cause, fraction in (point["stalled_by_cause"] or {}).items():
            causes[cause] = causes.get(cause, 0.0) + within * (fraction or 0.0)
        if point["writes_per_s"] is not None:
            counted += within
            writes += within * point["writes_per_s"]
    if measured == 0:
        return Held(0.0, 0.0, {}, None)
    by_cause = {cause: total / measured for cause, total in causes.items()}
    return Held(measured, share / measured, by_cause, writes / counted if counted else None)


def _share(point: Point) -> float:
    by_events = (point["stopped_fraction"] or 0.0) + (point["delayed_fraction"] or 0.0)
    by_causes = sum(fraction or 0.0 for fraction in (point["stalled_by_cause"] or {}).values())
    return min(1.0, max(by_events, by_causes))


def slots(points: Sequence[Point], begin_unix_s: float, end_unix_s: float, number: int) -> list[Held]:
    """Cut a span into so many equal parts, for a small chart."""
    step = (end_unix_s - begin_unix_s) / number
    parts: list[list[Point]] = [[] for _ in range(number)]
    for point in points:
        first = int((point["unix_s"] - point["interval_s"] - begin_unix_s) // step)
        last = int((point["unix_s"] - begin_unix_s) // step)
        for index in range(max(0, first), min(number - 1, last) + 1):
            parts[index].append(point)
    return [held(part, begin_unix_s + i * step, begin_unix_s + (i + 1) * step) for i, part in enumerate(parts)]


def knob_names(points: Sequence[Point]) -> list[str]:
    """List the knobs that have a value in any point, the usual ones first."""
    names = dict.fromkeys(
        name for point in points for name, value in knobs(point).items() if value not in (None, _NOT_SET)
    )
    if "background_jobs" in names:
        names.pop(_SAME_AS_JOBS, None)
    return [name for name in _FIRST_KNOBS if name in names] + sorted(set(names) - set(_FIRST_KNOBS))


def knobs_to_draw(points: Sequence[Point], most: int) -> list[str]:
    """Choose the knobs of a chart: those that were turned, and where none was the first that there are."""
    names = knob_names(points)
    turned = [name for name in names if len({knobs(point).get(name) for point in points} - {None}) > 1]
    return (turned or names[:2])[:most]


def knobs(point: Point) -> dict[str, float | None]:
    """Give a point's knobs; none where they are not known."""
    return point["knobs"] or {}


def joined(older: Sequence[Point], newer: Sequence[Point], since_unix_s: float) -> list[Point]:
    """Put newer points behind older ones, and forget what ends before `since_unix_s`.

    The daemon's last point may still grow, so an older one that a newer one covers gives way to it.
    """
    begin = newer[0]["unix_s"] - newer[0]["interval_s"] / 2 if newer else float("inf")
    kept = [*(point for point in older if point["unix_s"] < begin), *newer]
    return [point for point in kept if point["unix_s"] >= since_unix_s]
