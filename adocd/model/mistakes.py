"""Says in plain words what is wrong with a value, from what a validator found (pydantic's `errors()`)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from adocd.model.in_words import duration, named
from adocd.model.nearest import unknown
from adocd.model.printable import printable
from adocd.model.units import unit_of

#: The rest of the sentence by the kind of error, where it needs nothing else.
_MUST_BE = {
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "must be a smaller number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "finite_number": "must be a finite number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be text",
    "string_unicode": "must be text",
    "dict_type": "must be a table of names and values",
    "model_type": "must be a table of names and values",
    "model_attributes_type": "must be a table of names and values",
    "dataclass_type": "must be a table of names and values",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
    "string_pattern_mismatch": "has characters that it may not have",
}
_LIMITS = {
    "greater_than_equal": ("at least", "ge"),
    "less_than_equal": ("at most", "le"),
    "greater_than": ("more than", "gt"),
    "less_than": ("less than", "lt"),
}
_NOT_EMPTY = "must not be empty"
_QUOTED_MAX = 80
#: From here on a limit is easier to read in minutes, hours or days.
_LONG_S = 100
#: Far below the largest float, 1.8e308: an integer may be larger than that, and then no float can be made of it.
_TOO_LARGE = 1e300


def sentence(error: Mapping[str, Any], name: str, known: Iterable[str] = (), what: str = "key") -> str:
    """Return one sentence about an error of the value called `name`; "" is the whole of what was given.

    `known` are the names that could stand in the place of an unknown one, and `what` is what they name.
    """
    kind, context = error["type"], error.get("ctx", {})
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        before, _, last = name.rpartition(".")
        return (f"{before}: " if before else "") + unknown(what, last, known)
    it = name or "it"
    if kind == "missing":
        return f"{it} is missing"
    if kind == "json_invalid":
        return f"it is no JSON: {context.get('error', 'it cannot be read')}"
    if kind in ("value_error", "assertion_error"):
        said = str(context.get("error") or error["msg"])
        return f"{it} {said}" if said.startswith("must ") else f"{name}: {said}" if name else said
    must = _must(kind, context, name)
    return f"{it} {must}" if must == _NOT_EMPTY else f"{it} {must}, not {_figure(name, error.get('input'))}"


def names_beside(model: Any, location: Sequence[int | str]) -> list[str]:
    """Return the names that could stand at this place of a pydantic model, in the order in which it has them."""
    for part in location[:-1]:
        if isinstance(part, int):
            continue
        field = getattr(model, "model_fields", {}).get(part)
        inner = None if field is None else field.annotation
        model = next((one for one in (inner, *get_args(inner)) if hasattr(one, "model_fields")), None)
    return list(getattr(model, "model_fields", {}))


def quoted(value: object) -> str:
    """Quote a value as one writes it in JSON or TOML, shortened."""
    words = {True: "true", False: "false", None: "nothing"}.get(value) if _is_word(value) else None  # type: ignore[call-overload]
    if words is None:
        try:
            words = repr(value) if isinstance(value, str | int | float) else f"a {_kind_of(value)}"
        except ValueError:  # it was written in hexadecimal, and Python writes no more than 4300 digits
            words = "a number of thousands of digits"
    words = printable(words)
    return words if len(words) <= _QUOTED_MAX else f"{words[:_QUOTED_MAX]}..."


def _must(kind: str, context: Mapping[str, Any], name: str) -> str:
    if kind in _LIMITS:
        how, key = _LIMITS[kind]
        return f"must be {how} {_figure(name, context[key])}"
    if kind in ("literal_error", "enum"):
        return f"must be {str(context['expected']).replace(chr(39), '')}"
    if kind in ("too_long", "string_too_long"):
        unit = "entries" if kind == "too_long" else "characters"
        return f"must have at most {context['max_length']} {unit}"
    if kind in ("too_short", "string_too_short"):
        unit = "entries" if kind == "too_short" else "characters"
        return _NOT_EMPTY if context["min_length"] == 1 else f"must have at least {context['min_length']} {unit}"
    return _MUST_BE.get(kind, "must be something else")


def _figure(name: str, value: Any) -> str:
    """Quote a value; a number in the unit that its name says."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _TOO_LARGE:
        return quoted(value)
    if unit_of(name) == "s":
        return duration(value) if value >= _LONG_S else f"{value:g} s"
    return named(name, int(value) if value == int(value) else value)


def _is_word(value: object) -> bool:
    return value is None or isinstance(value, bool)


def _kind_of(value: object) -> str:
    return (
        "table" if isinstance(value, Mapping) else "list" if isinstance(value, list | tuple) else "date or other value"
    )
