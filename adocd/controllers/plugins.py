"""Laws of other packages, found by their entry points; a faulty one is reported in a sentence and raises nothing."""

import itertools
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from typing import Any

from adocd.controllers.base import Controller, Needs, Parameters
from adocd.model.knob import Knob
from adocd.model.policy import ParameterValue

GROUP = "adocd.controllers"
#: Most characters quoted from a plugin's error.
_WORDS_MAX = 300
#: A law's name is part of policies, parameters and rules: `adoc+mimd`, `mimd.max_bytes_per_s`.
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class FoundLaws:
    """The usable laws by name, and the problems of the others by entry point."""

    laws: Mapping[str, type[Controller]]
    problems: Mapping[str, str]


def load(entry_points: Iterable[EntryPoint], taken: Collection[str]) -> FoundLaws:
    """Load the laws that entry points name; `taken` are the names of adocd's own laws."""
    laws: dict[str, type[Controller]] = {}
    problems: dict[str, str] = {}
    for entry_point in sorted(entry_points, key=lambda point: (point.name, point.value)):
        where = f"{entry_point.name} of {_package(entry_point)}"
        if entry_point.name in taken:
            problems[where] = f"{where}: the name {entry_point.name!r} is one of adocd's own laws: choose another"
        elif entry_point.name in laws:
            problems[where] = f"{where}: another package has a law {entry_point.name!r} already: remove one of them"
        else:
            law, why = _load(entry_point)
            if law is None:
                problems[where] = f"{where}: {why}"
            else:
                laws[entry_point.name] = law
    return FoundLaws(laws, problems)


def _load(entry_point: EntryPoint) -> tuple[type[Controller] | None, str]:
    try:
        loaded = entry_point.load()
        why = _what_is_wrong(loaded, entry_point)
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # a plugin may do anything at import, even exit
        return None, f"{entry_point.value} cannot be loaded: {in_words(error)}"
    return (None, why) if why is not None else (loaded, "")


def _what_is_wrong(law: Any, entry_point: EntryPoint) -> str | None:
    what = entry_point.value
    if not _is_law(law):
        return f"{what} is not a subclass of adocd.controllers.base.Controller"
    if law.__abstractmethods__:
        return f"{what} has no {', '.join(sorted(law.__abstractmethods__))}"
    name = getattr(law, "name", None)
    if name != entry_point.name or not _NAME.fullmatch(entry_point.name):
        return f"{what} is named {name!r}: it must be the entry point's name, in small letters, digits and dashes"
    wrong = itertools.chain(wrong_attributes(law), _wrong_model(law))
    return next((f"{what}.{attribute} {why}" for attribute, why in wrong), None)


def _is_law(law: object) -> bool:
    return isinstance(law, type) and issubclass(law, Controller)


def wrong_attributes(law: Any) -> Iterator[tuple[str, str]]:
    """Return each wrong attribute of a law's class, or of a law that was made, and what it must be."""
    for attribute in ("summary", "source"):
        if not isinstance(getattr(law, attribute, None), str):
            yield attribute, "must be text"
    period_s = getattr(law, "period_s", None)
    if isinstance(period_s, bool) or not isinstance(period_s, int | float) or not 0 < period_s < math.inf:
        yield "period_s", f"must be a time in seconds, not {period_s!r}"
    for attribute in ("knobs", "optional_knobs", "reads"):
        if (why := _wrong_knobs(getattr(law, attribute, None))) is not None:
            yield attribute, why
    if not isinstance(law.wakes, frozenset) or not all(isinstance(kind, str) for kind in law.wakes):
        yield "wakes", "must be a frozenset of kinds of events"
    if not isinstance(law.switches, Mapping):
        yield "switches", "must say by knob which parameter takes it away"
    if not isinstance(law.needs, Needs):
        yield "needs", "must be an adocd.controllers.base.Needs"


def _wrong_model(law: Any) -> Iterator[tuple[str, str]]:
    model = law.parameters_model
    if not (isinstance(model, type) and issubclass(model, Parameters)):
        yield "parameters_model", "must be a subclass of adocd.controllers.base.Parameters"
    elif (wrong := next((n for n, default in defaults_of(law).items() if not _is_plain(default)), None)) is not None:
        yield "parameters_model", f"must have only numbers, text and switches as defaults, but {wrong} has another"


def defaults_of(law: type[Controller]) -> dict[str, ParameterValue | None]:
    """Return every parameter of a law with its default; None where it has none."""
    fields = law.parameters_model.model_fields.items()
    return {name: None if f.is_required() else f.get_default(call_default_factory=True) for name, f in fields}


def limits_of(law: type[Controller]) -> dict[str, tuple[float | None, float | None]]:
    """Return the least and the largest value of each parameter that has such bounds; None where it is open."""
    limits = {}
    for name, field in law.parameters_model.model_fields.items():
        least, most = (
            next(
                (found for each in field.metadata for key in keys if (found := getattr(each, key, None)) is not None),
                None,
            )
            for keys in (("ge", "gt"), ("le", "lt"))
        )
        if (
            isinstance(least, int | float | None)
            and isinstance(most, int | float | None)
            and (least, most) != (None, None)
        ):
            limits[name] = least, most
    return limits


def _is_plain(default: object) -> bool:
    return default is None or isinstance(default, str) or (isinstance(default, int | float) and math.isfinite(default))


def _wrong_knobs(knobs: object) -> str | None:
    if isinstance(knobs, frozenset) and all(isinstance(knob, Knob) for knob in knobs):
        return None
    return "must be a frozenset of adocd.model.knob.Knob"


def in_words(error: BaseException) -> str:
    """Describe a plugin's exception in one line; its own __str__ may fail."""
    try:
        words = " ".join(str(error).split())[:_WORDS_MAX]
    except Exception:
        words = ""
    return f"{type(error).__name__}: {words}" if words else type(error).__name__


def _package(entry_point: EntryPoint) -> str:
    return "an unknown package" if entry_point.dist is None else f"{entry_point.dist.name} {entry_point.dist.version}"
