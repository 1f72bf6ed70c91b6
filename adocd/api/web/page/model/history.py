"""What a target's history says, as REST gives it: of writers, and of knobs."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from adocd.diagnosis.held import HeldWriters, MeasuredSpan, held

Point = dict[str, Any]

#: RocksDB's causes in words (adocd.model.stall.Cause).
CAUSES = {"memtable": "memtables", "l0": "level-0 files", "pending_bytes": "pending compaction", "other": "other"}
_OF_WRITERS = itemgetter(*MeasuredSpan._fields)
#: The knobs that the page draws first, where they are known; the others follow by name.
_FIRST_KNOBS = ("background_jobs", "write_buffer_size", "rate_limiter_bytes_per_sec")
#: What `background_jobs` says already, as far as it is in force, and what RocksDB takes for "not set".
_SAME_AS_JOBS, _NOT_SET = "max_background_jobs", -1


def measured(points: Iterable[Point]) -> list[MeasuredSpan]:
    """Take of REST's points what they say of writers."""
    return [MeasuredSpan(*_OF_WRITERS(point)) for point in points]


def slots(points: Sequence[Point], begin_unix_s: float, end_unix_s: float, number: int) -> list[HeldWriters]:
    """Cut a span into so many equal parts, for a small chart."""
    step = (end_unix_s - begin_unix_s) / number
    parts: list[list[MeasuredSpan]] = [[] for _ in range(number)]
    for point in measured(points):
        first = int((point.unix_s - point.interval_s - begin_unix_s) // step)
        last = int((point.unix_s - begin_unix_s) // step)
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
