"""Formats quantities for a reader."""

from typing import Any

from adocd.model.in_words import size
from adocd.model.knob import MIB
from adocd_bench.demo.figures import DecisionNote


def knob_text(knob: str, value: Any) -> str:
    """Write a knob's new value; whole MiB are sizes."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= MIB and value % MIB == 0:
        return f"{knob} {size(value)}"
    return f"{knob} {value}"


def change_text(before: float, after: float) -> str:
    """Write how a figure changed, in percent of what it was."""
    if before == 0:
        return "none before" if after else ""
    return f"{after / before - 1:+.0%}"


def settings_text(note: DecisionNote) -> str:
    """Write what a decision set."""
    return ", ".join(knob_text(knob, value) for knob, value in note.settings.items()) or "no knob"


def as_intended(note: DecisionNote) -> bool:
    """Whether a decision's outcome needs no mention: applied, or unknown."""
    return note.outcome in (None, "applied", "in-flight")
