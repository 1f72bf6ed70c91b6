"""Evaluates a target's history from REST: how long writers were held, and the knobs' values."""

from collections.abc import Iterable, Sequence
from operator import itemgetter
from typing import Any

from adocd.diagnosis.held import HeldWriters, MeasuredSpan, held
from adocd.model.options import BYTES_PER_SYNC_OFF

Point = dict[str, Any]

#: Points, of about a second each, that a target's state is told from.
LATELY_POINTS = 180

#: The colour of each cause (static/page.css).
CAUSE_COLOURS = {"memtable": "violet", "l0": "amber", "pending_bytes": "red", "other": "grey"}
_OF_WRITERS = itemgetter(*MeasuredSpan._fields)
#: The knobs that the page draws first if they are known; the others follow by name.
_FIRST_KNOBS = ("background_jobs", "write_buffer_size", "rate_limiter_bytes_per_sec")
#: The option whose value in force `background_jobs` shows already, and RocksDB's value for "not set".
_SAME_AS_JOBS, _NOT_SET = "max_background_jobs", -1


def measured(points: Iterable[Point]) -> list[MeasuredSpan]:
    """Return the part of REST's points that is about writers."""
    return [MeasuredSpan(*_OF_WRITERS(point)) for point in points]


def lately(points: Sequence[Point]) -> list[MeasuredSpan]:
    """Return what the last points, enough for a target's state, measured of writers."""
    return measured(points[-LATELY_POINTS:])


def slots(points: Sequence[Point], begin_unix_s: float, end_unix_s: float, number: int) -> list[HeldWriters]:
    """Cut a time span into `number` equal parts, for a small chart."""
    step = (end_unix_s - begin_unix_s) / number
    parts: list[list[MeasuredSpan]] = [[] for _ in range(number)]
    for point in measured(points):
        first = int((point.unix_s - point.interval_s - begin_unix_s) // step)
        last = int((point.unix_s - begin_unix_s) // step)
        for index in range(max(0, first), min(number - 1, last) + 1):
            parts[index].append(point)
    return [held(part, begin_unix_s + i * step, begin_unix_s + (i + 1) * step) for i, part in enumerate(parts)]


def knob_names(points: Sequence[Point]) -> list[str]:
    """List the knobs that have a value in any point; the usual ones come first."""
    names = dict.fromkeys(
        name for point in points for name, value in knobs(point).items() if value not in (None, _NOT_SET)
    )
    if "background_jobs" in names:
        names.pop(_SAME_AS_JOBS, None)
    return [name for name in _FIRST_KNOBS if name in names] + sorted(set(names) - set(_FIRST_KNOBS))


def knobs_to_draw(points: Sequence[Point]) -> list[str]:
    """Choose the knobs of a chart: those that changed, or if none did, the first two."""
    names = knob_names(points)
    turned = [name for name in names if len({_in_force(knobs(point).get(name)) for point in points} - {None}) > 1]
    return turned or names[:2]


def _in_force(value: float | None) -> float | None:
    """Return the value; that which switches bytes_per_sync off without an effect of its own is 0, which is off too."""
    return 0 if value == BYTES_PER_SYNC_OFF else value


def knobs(point: Point) -> dict[str, float | None]:
    """Return a point's knobs; empty if they are not known."""
    return point["knobs"] or {}


def joined(older: Sequence[Point], newer: Sequence[Point], since_unix_s: float) -> list[Point]:
    """Append newer points to older ones, and drop those that end before `since_unix_s`.

    The daemon's last point may still grow, so a newer point replaces an older one that it covers.
    """
    begin = newer[0]["unix_s"] - newer[0]["interval_s"] / 2 if newer else float("inf")
    kept = [*(point for point in older if point["unix_s"] < begin), *newer]
    return [point for point in kept if point["unix_s"] >= since_unix_s]
