"""Formats figures for people, in a fitting unit: sizes, times, shares, and values of options and knobs."""

from decimal import Decimal

from adocd.model.knob import KNOBS, Knob
from adocd.model.options import OPTIONS, OUT_OF_THE_WAY
from adocd.model.units import unit_of
from adocd.model.values import RATE_LIMITER, RATE_LIMITER_WORD

UNKNOWN = "unknown"
_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_OF_BYTES = ("bytes", "bytes/s")
#: The limit of a field without a limit of its own; no unit makes it easier to read.
BEYOND_ANY_SIZE = 1 << 62
#: The rate limiter's rate is not a RocksDB option, and is shown under a name of its own.
_LIMITER = (RATE_LIMITER.scope, RATE_LIMITER.option, RATE_LIMITER_WORD)


def count(value: float | None) -> str:
    """Format a whole number with separators: `12,345`."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def share(fraction: float | None) -> str:
    """Format a fraction as a percentage; a small one that is not 0 keeps a digit."""
    if fraction is None:
        return UNKNOWN
    if 0 < fraction < 0.0005:
        return "< 0.1 %"
    return f"{fraction * 100:.1f} %" if 0 < fraction < 0.095 else f"{fraction * 100:.0f} %"


def duration(seconds: float) -> str:
    """Format a time roughly, in up to two units: `0.3 s`, `12 s`, `3 min`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 9.95:
        return f"{max(0.0, seconds):.1f} s"
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    minutes = round(seconds / 60)
    if minutes < 100:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    days, hours = divmod(hours, 24)
    return f"{days} d {hours} h" if hours else f"{days} d"


def span(seconds: float) -> str:
    """Format a measured time in one unit, to three digits: `661 µs`, `0.525 s`, `12.3 s`, `3.5 min`, `2.0 h`."""
    if seconds >= 7200:
        return f"{seconds / 3600:.1f} h"
    if seconds >= 120:
        minutes = seconds / 60
        return f"{minutes:.1f} min" if minutes < 99.95 else f"{minutes:.0f} min"
    return time(seconds) if 0 < seconds < 0.0995 else f"{max(0.0, seconds):.3g} s"


def time(seconds: float | None) -> str:
    """Format a latency in a fitting unit, to three digits: `6.5 µs`, `14.8 ms`, `1.2 s`."""
    if seconds is None:
        return UNKNOWN
    for unit, name in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= 0.9995 * unit:
            return f"{seconds / unit:.3g} {name}" if seconds < 999.5 * unit else f"{seconds / unit:.0f} {name}"
    return f"{seconds * 1e6:.3g} µs"


def size(value: float | None) -> str:
    """Format bytes in a fitting unit, in three digits, or the four of `1023 MiB`."""
    if value is None:
        return UNKNOWN
    figure, unit = in_unit(value)
    return f"{figure:.3g} {unit}" if abs(figure) < 999.5 else f"{figure:.0f} {unit}"


def in_unit(value: float) -> tuple[float, str]:
    """Give bytes in the unit that fits, and its name."""
    for unit, name in _UNITS:
        if abs(value) >= unit:
            return value / unit, name
    return value, "bytes"


def exact_size(value: int) -> str:
    """Format bytes for a record: in a fitting unit, followed by the exact number if that was rounded."""
    if value < 1 << 10:
        return f"{value} bytes" if value else "0"
    said = size(value)
    figure, unit = said.split()
    is_exact = Decimal(figure) * next(factor for factor, name in _UNITS if name == unit) == value
    return said if is_exact else f"{said} ({value} bytes)"


def named(name: str, value: object) -> str:
    """Format a parameter's value for a record; the unit comes from the parameter's name."""
    unit = unit_of(name)
    if type(value) is not int or unit not in _OF_BYTES or value >= BEYOND_ANY_SIZE:
        return str(value)
    return exact_size(value) + (unit.removeprefix("bytes") if value else "")


def pinned(option: str, text: str) -> str:
    """Format an option's value for a record, in the option's unit."""
    unit = _unit(option)
    if not text.isdecimal() or unit not in _OF_BYTES:
        return text
    return exact_size(int(text)) + (unit.removeprefix("bytes") if int(text) else "")


def option_value(option: str, text: str) -> str:
    """Format an option's value in its unit."""
    unit = _unit(option)
    if not text.isdecimal() or not unit:
        return text
    if unit not in _OF_BYTES:
        return "out of the way" if int(text) >= OUT_OF_THE_WAY else text
    return f"{size(int(text))}{unit.removeprefix('bytes')}" if int(text) else "0"


def knob_value(knob: str, value: int) -> str:
    """Format a knob's value in its unit; works for knobs that this version does not know."""
    facts = KNOBS[Knob(knob)] if knob in set(Knob) else None
    if facts is None:
        return str(value)
    if facts.unit == "switch":
        return "on" if value else "off"
    if value == 0 and facts.zero_is_off:
        return "off"
    if facts.unit == "percent":
        return f"{value / 100:g}"
    if facts.unit in _OF_BYTES:
        return size(value) + facts.unit.removeprefix("bytes")
    return "out of the way" if value == OUT_OF_THE_WAY else str(value)


def _unit(option: str) -> str:
    if option in _LIMITER:
        return "bytes/s"
    facts = OPTIONS.get(option)
    return "" if facts is None else facts.unit
