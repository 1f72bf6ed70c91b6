"""Figures as a person reads them, with the unit that fits."""

from adocd.model.options import OPTIONS, OUT_OF_THE_WAY
from adocd.model.values import RATE_LIMITER, RATE_LIMITER_WORD

_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_OF_BYTES = ("bytes", "bytes/s")
#: The rate limiter's rate is no option of RocksDB's, and has a name of its own wherever it is said.
_LIMITER = (RATE_LIMITER.scope, RATE_LIMITER.option, RATE_LIMITER_WORD)


def size(value: float) -> str:
    """Say bytes by the unit that fits, in three digits, or the four of `1023 MiB`."""
    for unit, name in _UNITS:
        if value >= unit:
            figure = value / unit
            return f"{figure:.3g} {name}" if figure < 999.5 else f"{figure:.0f} {name}"
    return f"{value:.0f} bytes"


def exact_size(value: int) -> str:
    """Say bytes for a record: by the unit that fits, and all of them where that leaves something out."""
    if value < 1 << 10:
        return f"{value} bytes" if value else "0"
    said = size(value)
    figure, unit = said.split()
    is_all = float(figure) * next(each for each, name in _UNITS if name == unit) == value
    return said if is_all else f"{said} ({value} bytes)"


def named(name: str, value: object) -> str:
    """Say a parameter's value for a record; its name says its unit."""
    rate = "/s" if name.endswith("_bytes_per_s") else ""
    if type(value) is not int or not (rate or name.endswith("_bytes")):
        return str(value)
    return exact_size(value) + (rate if value else "")


def pinned(option: str, text: str) -> str:
    """Say an option's value for a record, by the option's unit."""
    unit = _unit(option)
    if not text.isdecimal() or unit not in _OF_BYTES:
        return text
    return exact_size(int(text)) + (unit.removeprefix("bytes") if int(text) else "")


def option_value(option: str, text: str) -> str:
    """Say an option's value by its unit."""
    unit = _unit(option)
    if not text.isdecimal() or not unit:
        return text
    if unit not in _OF_BYTES:
        return "out of the way" if int(text) >= OUT_OF_THE_WAY else text
    return f"{size(int(text))}{unit.removeprefix('bytes')}" if int(text) else "0"


def _unit(option: str) -> str:
    if option in _LIMITER:
        return "bytes/s"
    facts = OPTIONS.get(option)
    return "" if facts is None else facts.unit
