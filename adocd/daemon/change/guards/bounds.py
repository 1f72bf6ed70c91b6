"""Keep every value within the bounds of the options' catalogue. Pure."""

from adocd.daemon.change.guards.guard import Beside, GuardRefusal
from adocd.model.in_words import BEYOND_ANY_SIZE, exact_size
from adocd.model.options import OPTIONS, RATE_LIMIT_FLOOR_BYTES_PER_S, OptionFacts
from adocd.model.sample import Sample
from adocd.model.values import OptionName, Values

_THREADS_MAX = 128
_SWITCH = ("true", "false")


def bounds(wanted: Values, sample: Sample, beside: Beside) -> tuple[GuardRefusal, ...]:
    """Keep every value within the bounds of the options' catalogue (adocd.model.options).

    A value that is already set is left alone: the host may have its reasons.
    """
    current = sample.values
    return tuple(
        GuardRefusal("bounds", frozenset({option}), why)
        for option, value in wanted.items()
        if current.get(option) != value and (why := out_of_bounds(option, value)) is not None
    )


def out_of_bounds(option: OptionName, value: str) -> str | None:
    """Return why adocd never sends this value; None when it may."""
    match option.scope:
        case "rate_limiter":
            return _number(option, value, RATE_LIMIT_FLOOR_BYTES_PER_S, (1 << 63) - 1, "bytes/s")
        case "thread_pool":
            return _number(option, value, 1, _THREADS_MAX, "threads")
    facts = OPTIONS.get(option.option)
    if facts is None or facts.scope != option.scope:
        return f"adocd knows no bounds for {option}; docs/safety.md lists the options that it changes"
    if not facts.live:
        return f"{option} cannot be changed while the database is open"
    return _of_its_kind(option, value, facts)


def _of_its_kind(option: OptionName, value: str, facts: OptionFacts) -> str | None:
    if facts.kind == "bool":
        return None if value in _SWITCH else f"{option} is a switch: true or false, not {value!r}"
    if facts.kind == "double":
        try:
            number = float(value)
        except ValueError:
            return f"{option} takes a number, not {value!r}"
        within = facts.minimum <= number <= facts.maximum
        return None if within else _outside(option, value, facts.minimum, facts.maximum, facts.unit)
    if facts.zero == "off" and value == "0":
        return None
    why = _number(option, value, facts.minimum, facts.maximum, facts.unit)
    return f"{why}; 0 would mean: {facts.zero}" if why is not None and facts.zero is not None and value == "0" else why


def _number(option: OptionName, value: str, minimum: int, maximum: int, unit: str) -> str | None:
    # RocksDB's parser accepts suffixes and signs, MyRocks' stops at the first letter: only plain decimals are sent.
    digits = value.removeprefix("-") if minimum < 0 else value
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 19):
        return f"{option} takes a whole number of {unit} in plain decimals, not {value!r}"
    if not minimum <= int(value) <= maximum:
        return _outside(option, value, minimum, maximum, unit)
    return None


def _outside(option: OptionName, value: str, minimum: int, maximum: int, unit: str) -> str:
    if not unit.startswith("bytes"):
        return f"{option} must be {minimum} to {maximum} {unit}, not {value}"
    said, least, most = (exact_size(int(figure)) for figure in (value, minimum, maximum))
    per_s = unit.removeprefix("bytes")
    limits = f"at least {least}{per_s}" if maximum >= BEYOND_ANY_SIZE else f"{least}{per_s} to {most}{per_s}"
    return f"{option} must be {limits}, not {said}{per_s if int(value) else ''}"
