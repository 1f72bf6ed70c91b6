"""What a history says of writers, made for a test."""

from __future__ import annotations

from typing import Any

from adocd.diagnosis.held import MeasuredSpan


def measured(unix_s: float, interval_s: float = 1.0, **members: Any) -> MeasuredSpan:
    """Make a point at which nothing is held; `members` say what is else."""
    return MeasuredSpan(unix_s, interval_s, 0.0, 0.0, {}, 1000.0)._replace(**members)


def held_points(begin: int, end: int, stopped: float, delayed: float = 0.0, **members: Any) -> list[MeasuredSpan]:
    """Make a point for each second after `begin` up to `end`, with the same shares of it held by level 0."""
    shares: dict[str, Any] = {"stopped_fraction": stopped, "delayed_fraction": delayed}
    return [
        measured(t, **shares, stalled_by_cause={"l0": stopped + delayed}, **members) for t in range(begin + 1, end + 1)
    ]
