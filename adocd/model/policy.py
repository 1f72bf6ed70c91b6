"""The policy for one target: its controller and parameters, and its shaping."""

from collections.abc import Mapping
from dataclasses import dataclass, field

#: The types that a law's parameter can have.
ParameterValue = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Shaping:
    """Limits on how fast a law may move its knobs; 0 means no limit, as in the published laws.

    `step_factor`: the largest factor by which a knob may grow or shrink at once. `pacing_s`: the least time between two
    decisions. `refractory_s`: the least time before a knob reverses direction. `judge_s`: the time over which changes
    are judged, to take back those that made things worse.
    """

    step_factor: float = 0.0
    pacing_s: float = 0.0
    refractory_s: float = 0.0
    judge_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Priority:
    """How a target's claim compares with those of others that share disks or memory with it.

    `weight` is relative; `floor` is a share, 0 to 1, that it gets before others if it needs it.
    """

    weight: float = 1.0
    floor: float = 0.0


@dataclass(frozen=True, slots=True)
class Policy:
    """A controller's name, its parameters and its shaping; with `dry_run` it decides, but nothing is applied."""

    controller: str
    parameters: Mapping[str, ParameterValue] = field(default_factory=dict)
    dry_run: bool = False
    shaping: Shaping = field(default_factory=Shaping)

    @property
    def acts(self) -> bool:
        """Whether it can change something: it is no dry run, and not the law that only watches."""
        return not self.dry_run and self.controller != "fixed"
