"""Helpers with which laws build settings: they leave out values that are already in force and wanted."""

from collections.abc import Iterable

from adocd.model.decision import Setting
from adocd.model.knob import Knob
from adocd.model.reading import value_now
from adocd.model.sample import Sample


class Wishes:
    """What a law has asked for.

    The daemon may hold a value back for a while, such as a base level until no memtable is being flushed, and what was
    asked for last stands until then. So a law that has changed its mind says so, even if what it wants is in force.
    """

    def __init__(self) -> None:
        self._asked: dict[tuple[Knob, str | None], int | float] = {}

    def not_there_yet(self, wanted: Iterable[Setting], sample: Sample) -> tuple[Setting, ...]:
        """Return the wanted values that are not in force, or not what was asked for last.

        An option that is not reported cannot be set.
        """
        return tuple(setting for setting in wanted if self._is_new(setting, sample))

    def _is_new(self, setting: Setting, sample: Sample) -> bool:
        now = value_now(setting.knob, sample, setting.column_family)
        if now is None:
            return False
        of = setting.knob, setting.column_family
        if setting.value == now == self._asked.get(of, now):
            return False
        self._asked[of] = setting.value
        return True


def raised(now: int, step: int, most: int) -> int:
    """Add a step, up to `most`; a value already above `most` stays."""
    return max(now, min(most, now + step))


def halved(now: int, least: int) -> int:
    """Halve the value, down to `least`; a value already below `least` stays."""
    return min(now, max(least, now // 2))
