"""Figures as a person reads them: few digits, and the unit beside each."""

import math
import re
from html import escape

_SIZES = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) *([KMGT]iB)")
UNKNOWN = "unknown"


def count(value: float | None) -> str:
    """Write a whole number with separators: `12,345`."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def size(value: float | None) -> str:
    """Write bytes: `64 MiB`, `1.5 GiB`."""
    if value is None:
        return UNKNOWN
    for unit, factor in _SIZES:
        if abs(value) >= factor:
            return f"{_short(value / factor)} {unit}"
    return f"{value:.0f} B"


def share(fraction: float | None) -> str:
    """Write a fraction in per cent; one that is small and not nothing keeps a digit."""
    if fraction is None:
        return UNKNOWN
    if 0 < fraction < 0.0005:
        return "< 0.1 %"
    return f"{fraction * 100:.1f} %" if 0 < fraction < 0.095 else f"{fraction * 100:.0f} %"


def duration(seconds: float) -> str:
    """Write a time span: `0.3 s`, `12 s`, `3 min`, `2 h 5 min`, `3 d 4 h`."""
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


def option_value(option: str, value: str) -> str:
    """Write an option's value; one that is a number of bytes as such."""
    if not value.isdecimal():
        return value
    number = int(value)
    is_bytes = any(word in option for word in ("size", "bytes", "delayed_write_rate"))
    if not is_bytes or number < 1 << 10 or "multiplier" in option:
        return value if number < 10_000 else f"{number:,}"
    return size(number) + ("/s" if "rate" in option else "")


def as_rocksdb_writes(words: str) -> str:
    """Turn `96 MiB` into `100663296`; anything else stays as it is, for the daemon to judge."""
    if (found := _SIZE.fullmatch(words.strip())) is None:
        return words.strip()
    number, unit = found.groups()
    return str(math.floor(float(number) * dict(_SIZES)[unit]))


def text(words: object) -> str:
    """Write what others named so that no browser takes it for markup."""
    return escape(str(words))


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 99.5 or value == round(value) else f"{value:.3g}"
