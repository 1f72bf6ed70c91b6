"""A law's decision and its settings."""

from dataclasses import dataclass

from adocd.model.knob import Knob


@dataclass(frozen=True, slots=True)
class Setting:
    """A new value for one knob, in the knob's unit; for one column family if the knob is per column family."""

    knob: Knob
    value: int
    column_family: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """New values, with what was observed (`signal`), the rule that fired and the reason, each for people to read."""

    settings: tuple[Setting, ...]
    signal: str
    rule: str
    reason: str
