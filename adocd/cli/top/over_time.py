"""The last quarter of an hour of one target, in as many columns as a terminal has. Pure."""

from collections.abc import Callable, Mapping, Sequence
from math import floor
from typing import Any

#: As far as the daemon remembers by the second, which it has done since long before `top` was opened.
SPAN_S = 900.0

Point = Mapping[str, Any]
Slots = list[list[Point]]


def slots(points: Sequence[Point], now_unix_s: float, columns: int) -> Slots:
    """Put points into columns of equal time, the last one is now.

    Columns begin at the same times at every look, so that a figure moves to the left and does not change on its way.
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
    """Give each column's mean, weighted by time; None where nothing is known."""

    def one(column: list[Point]) -> float | None:
        known = [(each[name], each["interval_s"]) for each in column if each[name] is not None and each["interval_s"]]
        total_s = sum(interval_s for _, interval_s in known)
        return sum(value * interval_s for value, interval_s in known) / total_s if known else None

    return [one(column) for column in points]


def most(points: Slots, figure: Callable[[Point], float | None]) -> list[float | None]:
    """Give each column's largest value: a short stall must not vanish in it."""
    return [max((value for each in column if (value := figure(each)) is not None), default=None) for column in points]


def marks(times_unix_s: Sequence[float], now_unix_s: float, columns: int) -> str:
    """Mark the columns in which something was done."""
    done = slots([{"unix_s": unix_s} for unix_s in times_unix_s], now_unix_s, columns)
    return "".join("^" if column else " " for column in done)
