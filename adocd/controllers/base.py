"""The one interface of every law."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from adocd.model.decision import Decision
from adocd.model.knob import Knob
from adocd.model.sample import Sample


class Parameters(BaseModel):
    """Parameters of a law: strict, so that a misspelt one fails instead of being ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Controller(ABC):
    """A control law: samples and its own state in, a decision out; no clock, no I/O.

    Time reaches a law only inside the sample (`monotonic_s`, `interval_s`), so that the same samples always give
    the same decisions.
    """

    name: ClassVar[str]
    #: One line for a list of laws.
    summary: ClassVar[str]
    #: Paper and section, or the RocksDB source, that the law comes from.
    source: ClassVar[str]
    #: How often `step` wants to be called, in seconds.
    period_s: ClassVar[float]
    #: What it turns with its parameters; empty for a law that only watches.
    knobs: frozenset[Knob]
    #: The parameter that takes a knob away from the law, for a target on which that knob cannot be turned.
    switches: ClassVar[Mapping[Knob, str]] = {}
    parameters_model: ClassVar[type[Parameters]] = Parameters

    @abstractmethod
    def step(self, sample: Sample) -> Decision | None:
        """Decide what to change, or None for nothing."""
