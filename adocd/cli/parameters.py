"""What is typed on the command line: KEY=VALUE, and sizes, rates and times with units (adocd.model.units)."""

import json
import math

import typer

from adocd.cli.exits import Exit, fail
from adocd.model import units
from adocd.model.policy import ParameterValue
from adocd.model.units import Unit


def parse_parameters(given: list[str], option: str = "--set") -> dict[str, ParameterValue]:
    """Parse `key=value` pairs; JSON numbers and booleans keep their type, any other value is text."""
    parsed: dict[str, ParameterValue] = {}
    for pair in given:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            fail(f"{option} takes KEY=VALUE, such as {_EXAMPLES[option]}, not {pair!r}", Exit.USAGE)
        parsed[key] = _value(text)
    return parsed


def parse_pin(given: str, what: str = "an override", then: str | None = None) -> tuple[str, str]:
    """Parse `option=value`; a size or rate may have a unit, `64MiB`. `then` is the next word that was typed."""
    option, equals, value = given.partition("=")
    if not equals and then is not None and then[:1].isdigit():
        fail(f"{what} is OPTION=VALUE: write {option}={then}", Exit.USAGE)
    if not equals or not option or not value or not option.replace("_", "").isalnum():
        fail(f"{what} is OPTION=VALUE, such as write_buffer_size=128MiB, not {given!r}", Exit.USAGE)
    unit = units.unit_of(option)
    if unit is None or value.removeprefix("-").isdecimal():
        return option, value
    try:
        return option, str(units.read(value, unit))
    except units.NoQuantity as error:
        fail(f"{option} {error}", Exit.USAGE)


def parse_duration_s(given: str) -> float | None:
    """Parse `90s`, `10min`, `2h30min`, `1d`; None for `ever`."""
    if given == "ever":
        return None
    try:
        seconds = units.read_time_s(given)
    except units.NoQuantity as error:
        fail(f"--for {error}; or `ever`", Exit.USAGE)
    if seconds == 0:
        fail("--for must be more than 0 s; `ever` has no end", Exit.USAGE)
    return seconds


def seconds(given: str | float) -> float:
    """Parse an option's time; a number is in seconds."""
    return float(_read(given, "s"))


def bytes_per_s(given: str | float) -> int:
    """Parse an option's rate; a number is in bytes/s."""
    return int(_read(given, "bytes/s"))


def megabytes_per_s(given: str | float) -> float:
    """Parse an option's rate; a number is in MB/s, and `inf` is no limit."""
    try:
        return float(given)
    except ValueError:
        return _read(given, "bytes/s") / _MB


def _read(given: str | float, unit: Unit) -> int | float:
    if not isinstance(given, str):  # the option's default
        return given
    try:
        return units.read(given, unit)
    except units.NoQuantity as error:
        raise typer.BadParameter(str(error)) from None


_EXAMPLES = {"--set": "threads_max=8", "--shape": "pacing_s=5"}
_MB = 10**6


def _value(text: str) -> ParameterValue:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int) or (isinstance(value, float) and math.isfinite(value)) else text
