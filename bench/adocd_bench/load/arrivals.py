"""Arrival rates over time: every load shape consists of steps of a constant rate. Pure, except for `trace`."""

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from adocd_bench.errors import BadArgument

_HEADER = ["seconds", "operations_per_s"]


class ArrivalStep(NamedTuple):
    """A number of seconds at a constant rate of operations per second."""

    seconds: float
    operations_per_s: float


Steps = tuple[ArrivalStep, ...]


def constant(rate_per_s: float, seconds: float) -> Steps:
    """Keep one rate."""
    return (ArrivalStep(seconds, rate_per_s),)


def sine(
    low_per_s: float,
    swing_per_s: float,
    period_s: float,
    *,
    quiet_per_s: float = 0.0,
    until_s: float | None = None,
    step_s: float = 1.0,
) -> Steps:
    """Make Warlo's wave (thesis, 3.4.2): swing sin(2 pi/period x + 3 pi/2) + low + swing, one period long.

    The thesis has 50 MB/s, 75 MB/s and 350 s, and, for its runs of 700 and 1000 s, 10 MB/s from the period's end on.
    A step has the wave's mean over it, so that all of them together offer exactly what the wave does.
    """
    angle = 2 * math.pi / period_s
    steps = []
    for begin_s, end_s in _cut(period_s, step_s):
        mean_of_cosine = (math.sin(angle * end_s) - math.sin(angle * begin_s)) / (angle * (end_s - begin_s))
        rate_per_s = low_per_s + swing_per_s * (1 - mean_of_cosine)
        steps.append(ArrivalStep(end_s - begin_s, max(0.0, rate_per_s)))
    if until_s is not None and until_s > period_s:
        steps.append(ArrivalStep(until_s - period_s, quiet_per_s))
    return tuple(steps)


def burst(
    low_per_s: float = 2000.0,
    high_per_s: float = 8000.0,
    low_s: float = 25 * 60.0,
    high_s: float = 5 * 60.0,
    seconds: float = 7200.0,
) -> Steps:
    """Alternate between a normal and a high rate, the normal one first.

    The defaults are those of Luo and Carey, "On Performance Stability in LSM-based Storage Systems" (VLDB 2019),
    figure 12 and the text beside it, whose running phase is 2 hours long.
    """
    return _alternate(ArrivalStep(low_s, low_per_s), ArrivalStep(high_s, high_per_s), seconds)


def peaks(
    peak_s: float,
    seconds: float,
    valley_s: float = 10.0,
    valley_per_s: float = 10_000.0,
    peak_per_s: float = 40_000.0,
) -> Steps:
    """Alternate between valleys and peaks, a valley first.

    The defaults are those of Balmau et al., "SILK" (ATC 2019), 6.4, where peaks last 10, 50 and 100 s.
    """
    return _alternate(ArrivalStep(valley_s, valley_per_s), ArrivalStep(peak_s, peak_per_s), seconds)


def trace(file: Path) -> Steps:
    """Read steps from a CSV file with the columns seconds and operations_per_s. Raises BadArgument."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = list(csv.reader(lines))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no CSV text"
        raise BadArgument(f"the trace {file} cannot be read: {reason}") from None
    if not rows or [cell.strip() for cell in rows[0]] != _HEADER:
        raise BadArgument(f"the trace {file} must begin with the line {','.join(_HEADER)}")
    steps = tuple(_traced(file, number, row) for number, row in enumerate(rows[1:], start=2) if row)
    if mean_per_s(steps) <= 0:
        raise BadArgument(f"the trace {file} has no operation in it: give it a line with a rate above 0")
    return steps


def scaled(steps: Steps, factor: float) -> Steps:
    """Multiply all rates, and leave the times as they are."""
    return tuple(ArrivalStep(step.seconds, step.operations_per_s * factor) for step in steps)


def total_s(steps: Steps) -> float:
    """Say how long they take."""
    return sum(step.seconds for step in steps)


def mean_per_s(steps: Steps) -> float:
    """Say how many operations a second they offer on average; 0 without a step."""
    offered = sum(step.seconds * step.operations_per_s for step in steps)
    return offered / total_s(steps) if steps else 0.0


def _cut(seconds: float, step_s: float) -> Iterator[tuple[float, float]]:
    for index in range(math.ceil(seconds / step_s)):
        yield index * step_s, min((index + 1) * step_s, seconds)


def _alternate(first: ArrivalStep, second: ArrivalStep, seconds: float) -> Steps:
    steps: list[ArrivalStep] = []
    left_s = seconds
    while left_s > 0:
        step = (first, second)[len(steps) % 2]
        steps.append(step._replace(seconds=min(step.seconds, left_s)))
        left_s -= step.seconds
    return tuple(steps)


def _traced(file: Path, number: int, row: list[str]) -> ArrivalStep:
    try:
        seconds, rate_per_s = (float(cell) for cell in row)
    except ValueError:
        raise BadArgument(f"line {number} of the trace {file} must be two numbers: {','.join(_HEADER)}") from None
    if not (math.isfinite(seconds) and seconds > 0 and math.isfinite(rate_per_s) and rate_per_s >= 0):
        raise BadArgument(f"line {number} of the trace {file}: seconds must be above 0, operations_per_s 0 or more")
    return ArrivalStep(seconds, rate_per_s)
