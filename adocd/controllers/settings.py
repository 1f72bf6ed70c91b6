"""What laws say in settings: only what is not there yet, by what is there now."""

from collections.abc import Iterable

from adocd.model.decision import Setting
from adocd.model.reading import value_now
from adocd.model.sample import Sample


def not_there_yet(wanted: Iterable[Setting], sample: Sample) -> tuple[Setting, ...]:
    """Leave of what is wanted what differs from what is there; what is not reported cannot be set."""
    return tuple(
        setting
        for setting in wanted
        if value_now(setting.knob, sample, setting.column_family) not in (None, setting.value)
    )


def raised(now: int, step: int, most: int) -> int:
    """Go up by a step; a bound never turns it round: what is above `most` stays."""
    return max(now, min(most, now + step))


def halved(now: int, least: int) -> int:
    """Go down to a half; what is below `least` stays."""
    return min(now, max(least, now // 2))
