"""Helpers with which laws build settings: they leave out values already in force."""

from collections.abc import Iterable

from adocd.model.decision import Setting
from adocd.model.reading import value_now
from adocd.model.sample import Sample


def not_there_yet(wanted: Iterable[Setting], sample: Sample) -> tuple[Setting, ...]:
    """Return the wanted values that differ from those in force; an option that is not reported cannot be set."""
    return tuple(
        setting
        for setting in wanted
        if value_now(setting.knob, sample, setting.column_family) not in (None, setting.value)
    )


def raised(now: int, step: int, most: int) -> int:
    """Add a step, up to `most`; a value already above `most` stays."""
    return max(now, min(most, now + step))


def halved(now: int, least: int) -> int:
    """Halve the value, down to `least`; a value already below `least` stays."""
    return min(now, max(least, now // 2))
