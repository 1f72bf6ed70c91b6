"""Numbers as RocksDB prints them in its statistics dump."""

from math import isfinite

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

#: AppendHumanBytes and BytesToHumanString (util/string_util.cc).
_UNITS = {b"B": 1, b"KB": KIB, b"MB": MIB, b"GB": GIB, b"TB": 1 << 40}
#: NumberToHumanString counts in thousands.
_THOUSANDS = {b"K": 1e3, b"M": 1e6, b"G": 1e9, b"T": 1e12}


def number(value: bytes) -> float | None:
    """Read 12, 3.5, 102K or 4M; None for nan, inf and anything that is not a number."""
    factor = 1.0
    try:
        found = float(value)
    except ValueError:
        factor = _THOUSANDS.get(value[-1:], 0.0)
        try:
            found = float(value[:-1])
        except ValueError:
            return None
    return found * factor if factor and isfinite(found) else None


def size_bytes(value: bytes, unit: bytes) -> float | None:
    """Read 1.73 MB; None for anything that is not a size."""
    found, factor = number(value), _UNITS.get(unit)
    return None if found is None or factor is None else found * factor


def span_s(hours: bytes, minutes: bytes, seconds: bytes) -> float | None:
    """Read 00:00:3.815 (AppendHumanMicros with H:M:S)."""
    found = [number(each) for each in (hours, minutes, seconds)]
    if found[0] is None or found[1] is None or found[2] is None:
        return None
    return found[0] * 3600 + found[1] * 60 + found[2]
