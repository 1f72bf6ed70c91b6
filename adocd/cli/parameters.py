"""KEY=VALUE on the command line."""

import json

from adocd.cli.exits import Exit, fail
from adocd.model.policy import ParameterValue


def parse_parameters(given: list[str], option: str = "--set") -> dict[str, ParameterValue]:
    """Parse `key=value` pairs; JSON numbers and booleans keep their type, any other value is text."""
    parsed: dict[str, ParameterValue] = {}
    for pair in given:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            fail(f"{option} takes KEY=VALUE, such as {_EXAMPLES[option]}, not {pair!r}", Exit.USAGE)
        parsed[key] = _value(text)
    return parsed


def parse_pin(given: str, what: str = "an override") -> tuple[str, str]:
    """Parse `option=value`; a size may have a unit, `64MiB`."""
    option, equals, value = given.partition("=")
    if not equals or not option or not value or not option.replace("_", "").isalnum():
        fail(f"{what} is OPTION=VALUE, such as write_buffer_size=128MiB, not {given!r}", Exit.USAGE)
    for unit, factor in _UNITS.items():
        number = value.removesuffix(unit).strip()
        if value.endswith(unit) and _is_number(number):
            return option, str(int(number) * factor)
    return option, value


def parse_duration_s(given: str) -> float | None:
    """Parse `90s`, `10m`, `2h`, `1d`; None for `ever`."""
    if given == "ever":
        return None
    number, unit = given[:-1], given[-1:]
    if unit not in _TIMES_S or not _is_number(number) or int(number) == 0:
        fail(f"--for takes a time such as 90s, 10m, 2h or 1d, or `ever`, not {given!r}", Exit.USAGE)
    return int(number) * _TIMES_S[unit]


_EXAMPLES = {"--set": "threads_max=8", "--shape": "pacing_s=5"}
#: More digits than any size in bytes has; Python refuses to parse numbers of thousands of digits.
_DIGITS = 20
_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
_TIMES_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < _DIGITS


def _value(text: str) -> ParameterValue:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text
