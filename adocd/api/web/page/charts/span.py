"""The time that the charts show: the last minutes as they go on, or a part of the past, kept in the link."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

#: The ranges that a visitor can choose, in seconds, with their names.
RANGES = {900: "15 min", 3600: "1 h", 21600: "6 h", 86400: "24 h"}
#: Range in seconds that is always kept, for the text beside the charts.
SHORT_S = min(RANGES)
#: The shortest and the longest time that can be chosen: the daemon remembers a day.
_LEAST_S, _MOST_S = 5.0, 86400.0
_MINUTE_S = 60.0
_LAST_UNIX_S = 1e11


@dataclass(frozen=True, slots=True)
class ChartSpan:
    """`span_s` seconds up to now, or from `begin` to `end` in unix seconds where both are given.

    `in_minutes`: each point of a chosen time stands for a minute, not for a second.
    """

    span_s: int = SHORT_S
    begin: float | None = None
    end: float | None = None
    in_minutes: bool = False

    def in_whole_minutes(self) -> "ChartSpan":
        """Return the whole minutes that a chosen time touches; the same span if it goes on."""
        if self.begin is None or self.end is None:
            return self
        begin, end = math.floor(self.begin / _MINUTE_S), math.ceil(self.end / _MINUTE_S)
        return replace(self, begin=begin * _MINUTE_S, end=end * _MINUTE_S, in_minutes=True)

    @property
    def query(self) -> str:
        """Return it as the query of the page's link; "" for the usual one."""
        if self.begin is not None and self.end is not None:
            return f"from={self.begin:.0f}&to={self.end:.0f}"
        return "" if self.span_s == SHORT_S else f"span={self.span_s}"


def chosen(begin: object, end: object) -> ChartSpan | None:
    """Return the span between two times, which anyone may have written; None if they are none."""
    times = [_time(each) for each in (begin, end)]
    if None in times:
        return None
    first, last = times[0] or 0.0, times[1] or 0.0
    return ChartSpan(SHORT_S, first, last) if _LEAST_S <= last - first <= _MOST_S else None


def of_query(query: Mapping[str, str]) -> ChartSpan:
    """Return the span of a link; the usual one if it names none that can be shown."""
    if (between := chosen(query.get("from"), query.get("to"))) is not None:
        return between
    spans = {str(span_s): span_s for span_s in RANGES}
    return ChartSpan(spans.get(query.get("span", ""), SHORT_S))


def _time(value: object) -> float | None:
    try:
        number = float(str(value))
    except ValueError:
        return None
    return number if math.isfinite(number) and 0 < number < _LAST_UNIX_S else None
