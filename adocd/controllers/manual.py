"""Keep every knob that the operator gives as a parameter at its value, without measuring anything.

For comparing a setting with a law under the same guards, journal and restore, and for scripts that do the tuning.
A knob is held in every column family. For one column family, or for a limited time, pin the option instead (`adocctl
override`): a pin beats this law like any other. Units are the knob's own: bytes, bytes/s, threads, files, memtables,
percent; `auto_compaction` is a switch. Bounds are those of the options (docs/safety.md). Without parameters it holds
nothing.

Does harm exactly where the values do, because it never looks at the database. Source: none, it is the operator's word.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, ClassVar

from pydantic import Field, create_model, model_validator

from adocd.controllers.base import Controller, Parameters
from adocd.controllers.settings import Wishes
from adocd.model.decision import Decision, Setting
from adocd.model.knob import KNOBS, Knob, contend
from adocd.model.options import OPTIONS, RATE_LIMIT_FLOOR_BYTES_PER_S
from adocd.model.sample import Sample

_MOST = (1 << 63) - 1


class _Held(Parameters):
    @model_validator(mode="after")
    def _not_twice(self) -> "_Held":
        for one, other in combinations(sorted(self.held()), 2):
            if contend(one, other):
                raise ValueError(f"{one} and {other} turn the same options: give one of them")
        return self

    def held(self) -> dict[Knob, int]:
        """Return the given knobs with their values; a switch is 1 or 0."""
        given = {knob: getattr(self, knob.value) for knob in Knob}
        return {knob: int(value) for knob, value in given.items() if value is not None}


def _field(knob: Knob) -> tuple[Any, Any]:
    facts = KNOBS[knob]
    if facts.unit == "switch":
        return (bool | None, None)
    least, most = RATE_LIMIT_FLOOR_BYTES_PER_S, _MOST
    if facts.options:
        option, times = OPTIONS[facts.options[0]], 100 if facts.unit == "percent" else 1
        least, most = 0 if facts.zero_is_off else max(1, option.minimum) * times, option.maximum * times
    return (int | None, Field(default=None, ge=least, le=most, description=facts.unit))


_FIELDS: dict[str, Any] = {knob.value: _field(knob) for knob in Knob}
ManualParameters = create_model("ManualParameters", __base__=_Held, __module__=__name__, **_FIELDS)


class Manual(Controller):
    """Keep the given knobs at the given values in every column family."""

    name = "manual"
    summary = "holds the knobs that are given as parameters at their values"
    source = "none"
    period_s = 1.0
    knobs = frozenset(Knob)
    is_operators_word = True
    parameters_model: ClassVar[type[Parameters]] = ManualParameters

    def __init__(self, parameters: _Held) -> None:
        self._wishes = Wishes()
        self._held = parameters.held()
        self.knobs = frozenset(self._held)

    def step(self, sample: Sample) -> Decision | None:
        """Set the knobs whose value differs from the given one."""
        settings = self._wishes.not_there_yet(self._wanted(sample), sample)
        if not settings:
            return None
        return Decision(
            settings, f"{len(settings)} of the given knobs had another value", "manual.hold", "the operator has set it"
        )

    def _wanted(self, sample: Sample) -> Iterator[Setting]:
        for knob, value in self._held.items():
            if KNOBS[knob].scope != "column_family":
                yield Setting(knob, value)
            else:
                yield from (Setting(knob, value, cf.name) for cf in sample.column_families)
