"""KEY=VALUE on the command line."""

import json

from adocd.cli.exits import Exit, fail
from adocd.daemon.config import ParameterValue


def parse_parameters(given: list[str]) -> dict[str, ParameterValue]:
    """Parse `key=value` pairs; a value that is a JSON number or boolean is one, anything else is text."""
    parsed: dict[str, ParameterValue] = {}
    for pair in given:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            fail(f"--set takes KEY=VALUE, such as threads_max=8, not {pair!r}", Exit.USAGE)
        parsed[key] = _value(text)
    return parsed


def _value(text: str) -> ParameterValue:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text
