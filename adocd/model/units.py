"""Reads the sizes, rates and times that people write; the only place that does. `in_words` formats them.

| what | units |
|---|---|
| size | B; KB or kB, MB, GB, TB (powers of 1000); KiB, MiB, GiB, TiB (powers of 1024, in any case) |
| rate | a size, or a size followed by /s |
| time | ms, s, min or m, h, d; several from the largest to the smallest, as in `2h30min` or `2 h 30 min` |

A number without a unit is in bytes, bytes/s, or the unit that the name says (`pacing_s`, `refill_period_ms`). Refused
as ambiguous: K, M and G alone (RocksDB and systemd mean 1024 by them, disk makers 1000), and a small b (bits).

No library does this: bitmath reads `8Mb` as bits, humanfriendly is not maintained, pytimeparse reads `1:30` and commas.
"""

import re
from decimal import Decimal
from typing import Literal

from adocd.model.knob import KNOBS, Knob
from adocd.model.options import OPTIONS

Unit = Literal["bytes", "bytes/s", "s", "ms"]

_DECIMAL = {"B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_BINARY = {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
_MS = {"ms": 1, "s": 1000, "min": 60_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
#: More digits than any figure here has, so that nobody makes us compute with thousands of them.
_NUMBER = r"[0-9]{1,20}(?:\.[0-9]{1,9})?"
_SIZE = re.compile(rf"({_NUMBER}) ?([A-Za-z]*)(/s)?")
_TIME = re.compile(rf"({_NUMBER}) ?([A-Za-z]+) ?")
#: What fits the grammar, for documents; the case of a unit is checked by the parser.
SIZE_PATTERN = rf"^{_NUMBER} ?(B|kB|[KMGT]B|[KMGT]iB)?$"
TIME_PATTERN = rf"^{_NUMBER} ?(ms|s|min|m|h|d)?$"


class NoQuantity(ValueError):
    """What is written is no such quantity; the message is the rest of a sentence: "must be a size ..."."""


def unit_of(name: str) -> Unit | None:
    """Return the unit of a parameter, option, knob or key by its name; None if it is neither size, rate nor time."""
    name = name.rpartition(".")[2]
    unit = KNOBS[Knob(name)].unit if name in set(Knob) else OPTIONS[name].unit if name in OPTIONS else None
    if unit is not None:
        return "bytes" if unit == "bytes" else "bytes/s" if unit == "bytes/s" else None
    if name.endswith("_bytes_per_s"):
        return "bytes/s"
    if "bytes" in name.split("_"):
        return "bytes"
    if name.endswith("unix_s"):  # a point in time
        return None
    return "s" if name.endswith("_s") else "ms" if name.endswith("_ms") else None


def read(text: str, unit: Unit) -> int | float:
    """Return a quantity in this unit: bytes and rates as whole numbers, times exactly. Raises NoQuantity."""
    text = text.strip()
    if unit in ("bytes", "bytes/s"):
        return _size(text, is_rate=unit == "bytes/s")
    ms = Decimal(text) * (1000 if unit == "s" else 1) if re.fullmatch(_NUMBER, text) else _ms(text)
    figure = ms / 1000 if unit == "s" else ms
    return int(figure) if figure == figure.to_integral_value() else float(figure)


def read_time_s(text: str) -> float:
    """Return a time in seconds; it must have a unit, because nothing else says which is meant. Raises NoQuantity."""
    return float(_ms(text.strip()) / 1000)


def _size(text: str, *, is_rate: bool) -> int:
    found = _SIZE.fullmatch(text)
    what = "a rate such as 8MB/s, 8MiB/s" if is_rate else "a size such as 64MB, 64MiB"
    if found is None:
        raise NoQuantity(f"must be {what} or a number of bytes{'/s' * is_rate}, not {text[:80]!r}")
    number, unit, per_s = found[1], found[2], found[3]
    if per_s and not is_rate:
        raise NoQuantity(f"must be {what}: {text!r} is a rate")
    factor = 1 if not unit else _DECIMAL.get(unit) or _BINARY.get(unit.lower())
    if factor is None:
        raise NoQuantity(_unknown_size(text, number, unit, what))
    figure = Decimal(number) * factor
    if factor == 1 and figure != figure.to_integral_value():
        raise NoQuantity(f"must be a whole number of bytes, not {text!r}")
    return int(figure)


def _unknown_size(text: str, number: str, unit: str, what: str) -> str:
    letter = unit[:1].upper()
    if letter in "KMGT" and unit[1:].lower() in ("", "b"):
        decimal, binary = (
            f"{Decimal(number) * f:,.0f} bytes" for f in (_DECIMAL[f"{letter}B"], _BINARY[f"{letter}ib".lower()])
        )
        why = "a small b is for bits" if unit[1:] else "this may mean either"
        return f"must be {number}{letter}B ({decimal}) or {number}{letter}iB ({binary}), not {text!r}: {why}"
    return f"must be {what}, not {text!r}: there is no unit {unit!r}; there are B, KB, MB, GB, TB, KiB, MiB, GiB, TiB"


def _ms(text: str) -> Decimal:
    place, found, before = 0, Decimal(0), float("inf")
    while (part := _TIME.match(text, place)) is not None:
        factor = _MS.get(part[2])
        if factor is None or factor >= before:
            break
        found, place, before = found + Decimal(part[1]) * factor, part.end(), factor
    if place != len(text) or not text:
        raise NoQuantity(f"must be a time such as 500ms, 30s, 5min, 2h, 1d or 2h30min, not {text[:80]!r}")
    return found
