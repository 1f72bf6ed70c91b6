"""What an operator wants for one target."""

from collections.abc import Mapping
from dataclasses import dataclass, field

#: What a law's parameter can be.
ParameterValue = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Shaping:
    """Limits on how fast a law may move its knobs; each is off at 0, as the published laws have it.

    `step_factor`: a knob becomes at most so many times as large or small at once. `pacing_s`: the least time between
    two decisions. `refractory_s`: the least time before a knob moves the other way.
    """

    step_factor: float = 0.0
    pacing_s: float = 0.0
    refractory_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Policy:
    """A controller's name, its parameters and its shaping; with `dry_run` it decides, and nothing is applied."""

    controller: str
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    dry_run: bool = False
    shaping: Shaping = field(default_factory=Shaping)
