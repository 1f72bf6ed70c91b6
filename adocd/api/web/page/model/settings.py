"""What an operator can set: policies and pins; and the options that differ from their originals."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from adocd.api.changed import PROCESS, Changed, changed
from adocd.daemon.change.way_back import restorable
from adocd.model import units
from adocd.model.in_words import UNKNOWN, count, named, option_value
from adocd.model.options import OPTIONS
from adocd.model.values import RATE_LIMITER_WORD, of_database

#: The durations of a pin that the page offers, in its order; None: until it is removed.
EXPIRIES: dict[str, float | None] = {
    "10 minutes": 600.0,
    "1 hour": 3600.0,
    "4 hours": 4 * 3600.0,
    "1 day": 86400.0,
    "until it is removed": None,
}
#: Most changed options that a dialog lists; the page's table has all.
_MOST_WORDS = 12
#: Most column families whose values a dialog lists.
_MOST_FAMILIES = 4
_NOT_WHILE = {"closed": "while it is closed", "silent": "while its agent does not answer"}


class InputNotUnderstood(ValueError):
    """The input is not valid; its text is one sentence that says what to type."""


def not_known(state: str) -> str:
    """Say why nothing is known of a database's options, by its state."""
    return f"not known {_NOT_WHILE.get(state, 'before it is measured')}"


def changed_in_words(detail: dict[str, Any], what: str) -> str:
    """Say of all options after `what` which are changed, or that none is, or that it is not known."""
    found = changed(detail)
    if found is None:
        return f"Which options differ from their originals is {not_known(detail['state'])}."
    return in_words(found, what) if found else "No option differs from its original now."


def left_by_restore(detail: dict[str, Any]) -> list[Changed] | None:
    """List the options that are not back after a restore; a 0 that cannot be set live is, as what stands for it."""
    found = changed(detail)
    return None if found is None else [each for each in found if not _is_stand_in(each)]


def _is_stand_in(each: Changed) -> bool:
    return each.scope == "database" and each.now == restorable(of_database(each.option), each.original)


def in_words(found: Sequence[Changed], what: str) -> str:
    """List changed options with their originals after `what`: `write_buffer_size 512 MiB (originally 64 MiB)`."""
    words = [
        f"{each.option}{'' if each.scope in ('database', PROCESS, 'default') else f' of {each.scope}'} "
        f"{option_value(each.option, each.now)} (originally {option_value(each.option, each.original)})"
        for each in found
    ]
    more = len(words) - _MOST_WORDS
    return f"{what}: {', '.join(words[:_MOST_WORDS])}{f', and {more} more' if more > 0 else ''}."


def pinnable(detail: dict[str, Any]) -> dict[str, dict[str | None, str]]:
    """List a target's pinnable options with their values now, by column family; None: the database or the process."""
    capabilities, options = detail["capabilities"], detail["options"]
    if capabilities is None or options is None:
        return {}
    found: dict[str, dict[str | None, str]] = {}
    for name, facts in sorted(OPTIONS.items()):
        places: dict[str | None, dict[str, Any]] = {**options["column_families"]}
        if facts.scope == "database":
            places = {None: options["database"]}
        values = {place: str(of[name]) for place, of in places.items() if name in of}
        if values and name in capabilities[f"{facts.scope}_options"]:
            found[name] = values
    if capabilities["rate_limiter"] and options.get("rate_limiter_bytes_per_s") is not None:
        found[RATE_LIMITER_WORD] = {None: str(options["rate_limiter_bytes_per_s"])}
    return found


def value_in_words(option: str, values: Mapping[str | None, str], family: str | None) -> str:
    """Say what an option's value is now, in one column family or, with None, in all of them, which may differ."""
    meant = {place: option_value(option, value) for place, value in values.items() if family in (None, place)}
    if len(set(meant.values())) <= 1:
        return next(iter(meant.values()), UNKNOWN)
    each = [f"{value} in {place}" for place, value in meant.items()]
    more = len(each) - _MOST_FAMILIES
    return f"{', '.join(each[:_MOST_FAMILIES])}{f', and {more} more' if more > 0 else ''}"


def of_a_column_family(option: str) -> bool:
    """Whether each column family has its own value of this option."""
    facts = OPTIONS.get(option)
    return facts is not None and facts.scope == "column_family"


def bounds_in_words(option: str) -> str:
    """Describe the values that an option may have; "" if adocd does not know them."""
    facts = OPTIONS.get(option)
    if facts is None or facts.kind != "int":
        return "true or false" if facts is not None and facts.kind == "bool" else ""
    limits, is_bytes = (facts.minimum, facts.maximum), facts.unit.startswith("bytes")
    least, most = (option_value(option, str(limit)) if is_bytes else count(limit) for limit in limits)
    return f"{facts.unit}; from {least} to {most}" if facts.maximum < 1 << 62 else f"{facts.unit}; {least} or more"


def parameter(words: str) -> bool | int | float | str:
    """Parse a law's parameter as `adocctl` does: a JSON number or boolean, else text."""
    try:
        value = json.loads(words)
    except ValueError:
        return words
    return value if isinstance(value, bool | int | float) else words


@dataclass(frozen=True, slots=True)
class ParameterField:
    """A parameter of a law as a field: its name in a policy, what it may be, its default, and its value in force."""

    name: str
    hint: str
    default: str
    value: str
    is_switch: bool


def fields_of(controller: str, laws: Mapping[str, dict[str, Any]], given: Mapping[str, Any]) -> list[ParameterField]:
    """List the parameters of a law, or of several joined by +, whose parameters then begin with the law's name."""
    names = controller.split("+")
    return [
        _field(f"{name}.{parameter}" if len(names) > 1 else parameter, parameter, default, laws[name], given)
        for name in names
        if name in laws
        for parameter, default in laws[name]["parameters"].items()
    ]


def check_law(controller: str, laws: Mapping[str, dict[str, Any]]) -> None:
    """Raise InputNotUnderstood for a law without fields here: setting it would drop the parameters that it has."""
    for name in controller.split("+"):
        if not name:
            raise InputNotUnderstood("choose a law")
        if name not in laws:
            raise InputNotUnderstood(f"the daemon does not list the law {name}, so its parameters would be lost")


def _field(name: str, parameter: str, default: Any, law: dict[str, Any], given: Mapping[str, Any]) -> ParameterField:
    least, most = law["limits"].get(parameter, (None, None))
    bounds = "" if least is None else f"from {named(parameter, _whole(least))}"
    bounds += "" if most is None else f" to {named(parameter, _whole(most))}"
    usual = "no default" if default is None else f"default {_shown_as(parameter, default)}"
    is_switch = isinstance(default, bool)
    hint = "; ".join(filter(None, [_unit_of(parameter), "" if is_switch else bounds.strip(), usual]))
    return ParameterField(
        name, hint, "" if default is None else _shown_as(parameter, default),
        _typed_as(parameter, given[name]) if name in given else "", is_switch,
    )  # fmt: skip


def parameters(typed: Mapping[str, str]) -> dict[str, bool | int | float | str]:
    """Read what was typed into the fields; an empty one keeps its default."""
    return {name: parameter(words) for name, words in typed.items() if words.strip()}


def _unit_of(name: str) -> str:
    for suffix, unit in (("_bytes_per_s", "bytes/s, or such as 64 MiB"), ("_bytes", "bytes, or such as 64 MiB"),
                         ("_fraction", "a share from 0 to 1"), ("_s", "seconds")):  # fmt: skip
        if name.endswith(suffix):
            return unit
    return ""


def _whole(value: float) -> float:
    return int(value) if value == int(value) else value


def _shown_as(name: str, value: Any) -> str:
    return json.dumps(value) if isinstance(value, bool) else named(name, value).removesuffix("/s")


def _typed_as(name: str, value: Any) -> str:
    """Write a value as somebody could type it: in words where those are read as exactly this value."""
    words, unit = _shown_as(name, value), units.unit_of(name)
    if unit is None or isinstance(value, bool):
        return words
    try:
        return words if units.read(words, unit) == value else str(value)
    except units.NoQuantity:
        return str(value)


def difference_in_words(difference: dict[str, Any]) -> list[str]:
    """Describe the changes that a policy would make, one line each."""
    lines = [f"{each['field']}: {_shown(each['now'])} → {_shown(each['wanted'])}" for each in difference["changes"]]
    return lines or ["This policy is already in force: nothing would change."]


def _shown(value: object) -> str:
    return "default" if value is None else json.dumps(value) if isinstance(value, bool) else str(value)
