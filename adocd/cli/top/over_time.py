"""The last 15 minutes of one target, divided into the columns of a terminal. Pure."""

from collections.abc import Callable, Mapping, Sequence
from math import floor
from typing import Any

#: How long the daemon keeps a point per second, so that `top` can show the time before it was started.
SPAN_S = 900.0

Point = Mapping[str, Any]
Slots = list[list[Point]]


def slots(points: Sequence[Point], now_unix_s: float, columns: int) -> Slots:
    """Put points into columns of equal length; the last column is now.

    Columns begin at multiples of their length, so that a column's figure moves to the left without changing.
    """
    width_s = SPAN_S / columns
    first = floor(now_unix_s / width_s) - columns + 1
    found: Slots = [[] for _ in range(columns)]
    for point in points:
        at = floor(point["unix_s"] / width_s) - first
        if 0 <= at < columns:
            found[at].append(point)
    return found


def mean(points: Slots, name: str) -> list[float | None]:
    """Return each column's mean, weighted by time; None for a column without values."""

    def one(column: list[Point]) -> float | None:
        known = [(each[name], each["interval_s"]) for each in column if each[name] is not None and each["interval_s"]]
        total_s = sum(interval_s for _, interval_s in known)
        return sum(value * interval_s for value, interval_s in known) / total_s if known else None

    return [one(column) for column in points]


def most(points: Slots, figure: Callable[[Point], float | None]) -> list[float | None]:
    """Return each column's largest value, so that a short stall stays visible; None for a column without values."""
    return [max((value for each in column if (value := figure(each)) is not None), default=None) for column in points]


def marks(times_unix_s: Sequence[float], now_unix_s: float, columns: int) -> str:
    """Mark the columns that contain one of these times with ^."""
    done = slots([{"unix_s": unix_s} for unix_s in times_unix_s], now_unix_s, columns)
    return "".join("^" if column else " " for column in done)
