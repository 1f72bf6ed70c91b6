"""Quantities as a reader wants them."""

from typing import Any

from adocd_bench.demo.figures import DecisionNote

_MIB = 1 << 20


def size_text(size_bytes: int) -> str:
    """Write a size; powers of two as RocksDB's options have them, in MiB or GiB."""
    if size_bytes >= 1 << 30 and size_bytes % (1 << 29) == 0:
        return f"{size_bytes / (1 << 30):g} GiB"
    if size_bytes >= _MIB:
        return f"{size_bytes / _MIB:.0f} MiB"
    return f"{size_bytes} B"


def knob_text(knob: str, value: Any) -> str:
    """Write a knob's new value; whole MiB are sizes."""
    if isinstance(value, int) and not isinstance(value, bool) and value >= _MIB and value % _MIB == 0:
        return f"{knob} {size_text(value)}"
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
    """Say whether the decision's outcome needs no mention: applied, or not known to be anything else."""
    return note.outcome in (None, "applied", "in-flight")
