"""The one interface of every law."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from adocd.model.decision import Decision
from adocd.model.knob import Knob
from adocd.model.sample import Sample


class Parameters(BaseModel):
    """Parameters of a law: strict, so that a misspelt one fails instead of being ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a law must be able to measure, beyond the knobs it turns; a target without it is refused.

    `tickers` are RocksDB's names (statistics.h), `events` the agent's words in Capabilities.events.
    """

    tickers: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    #: Bytes of each level.
    level_bytes: bool = False
    #: Bytes/s that flushes and compactions write.
    background_rates: bool = False
    level_compaction: bool = False

    def __str__(self) -> str:
        words = [f"ticker {ticker}" for ticker in self.tickers] + [f"{event} events" for event in self.events]
        words += ["bytes of each level"] * self.level_bytes + ["flush and compaction rates"] * self.background_rates
        return ", ".join(words + ["level compaction"] * self.level_compaction) or "nothing"


class Controller(ABC):
    """A control law: samples and its own state in, a decision out; no clock, no I/O.

    Time reaches a law only inside the sample (`monotonic_s`, `interval_s`), so that the same samples always give
    the same decisions. A law is made with its parameters as the only argument.
    """

    name: str
    #: One line for a list of laws.
    summary: str
    #: Paper and section, or the RocksDB source, that the law comes from.
    source: str
    #: How often `step` wants to be called, in seconds.
    period_s: float
    #: What it decides by is a mean over so many seconds, where that is longer than its period; None elsewhere.
    window_s: ClassVar[float | None] = None
    #: What it turns with its parameters, and of the class with any; empty for a law that only watches.
    knobs: frozenset[Knob]
    #: Those of `knobs` that it turns where that is possible, and does without elsewhere.
    optional_knobs: frozenset[Knob] = frozenset()
    #: What it judges a column family by and does not turn: beside a law that turns one of these for ends of its own it
    #: is shown the owner's value (adocd.controllers.beside).
    reads: frozenset[Knob] = frozenset()
    #: Whether what it sets is what an operator has said, by which other laws judge, too.
    is_operators_word: ClassVar[bool] = False
    #: The parameter that takes a knob away from the law, for a target on which that knob cannot be turned.
    switches: ClassVar[Mapping[Knob, str]] = {}
    #: What it must be able to measure with its parameters, and of the class with its defaults.
    needs: Needs = Needs()
    parameters_model: ClassVar[type[Parameters]] = Parameters
    #: The parameter that says what the device can write, in bytes/s. An operator must name it; a simulation knows it.
    device_rate: ClassVar[str | None] = None
    #: Why the last step decided nothing on purpose, and what to do about it, in one sentence; what the law has set is
    #: then given back. None while nothing is in its way.
    declined: str | None = None

    @abstractmethod
    def step(self, sample: Sample) -> Decision | None:
        """Decide what to change, or None for nothing."""
