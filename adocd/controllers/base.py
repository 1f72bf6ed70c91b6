"""The interface that every control law implements."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from adocd.model.decision import Decision
from adocd.model.knob import Knob
from adocd.model.sample import Sample


class Parameters(BaseModel):
    """Parameters of a law. The model is strict: a misspelt parameter fails instead of being ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


@dataclass(frozen=True, slots=True)
class Needs:
    """What a law must be able to measure, beyond the knobs it turns; adocd refuses a target that lacks it.

    `tickers` are RocksDB's names (statistics.h), `events` are names from the agent's Capabilities.events.
    """

    tickers: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    #: Whether it needs the bytes of each level.
    level_bytes: bool = False
    #: Whether it needs the bytes/s that flushes and compactions write.
    background_rates: bool = False
    level_compaction: bool = False

    def __str__(self) -> str:
        words = [f"ticker {ticker}" for ticker in self.tickers] + [f"{event} events" for event in self.events]
        words += ["bytes of each level"] * self.level_bytes + ["flush and compaction rates"] * self.background_rates
        return ", ".join(words + ["level compaction"] * self.level_compaction) or "nothing"


class Controller(ABC):
    """A control law: it turns samples and its own state into decisions, without clock or I/O.

    A law knows the time only from the sample (`monotonic_s`, `interval_s`), so the same samples always give the same
    decisions. Its constructor takes its parameters as the only argument.
    """

    name: str
    #: One line that describes it in a list of laws.
    summary: str
    #: The paper and section, or the RocksDB source, that the law comes from.
    source: str
    #: Seconds between calls of `step`.
    period_s: float
    #: Seconds of the mean that it decides by, where that is longer than its period; None otherwise.
    window_s: ClassVar[float | None] = None
    #: On an instance: the knobs it turns with its parameters. On the class: the knobs it may turn with any parameters.
    #: Empty for a law that only watches.
    knobs: frozenset[Knob]
    #: The subset of `knobs` that it can do without where a target does not support them.
    optional_knobs: frozenset[Knob] = frozenset()
    #: Events at which it is also asked at once, with the short window until then, where the agent can wait for them:
    #: "stall" (writes are delayed, stopped, or free again) and "memtables_wait" (a memtable is full while another one
    #: still waits for its flush). Its period goes on as before. Such windows may be a twentieth of a second long.
    wakes: ClassVar[frozenset[str]] = frozenset()
    #: Options by which it judges a column family and which it does not turn. If another law turns one of them at the
    #: same time, this law is shown the owner's value (adocd.controllers.beside).
    reads: frozenset[Knob] = frozenset()
    #: Whether its values are the operator's own word, so that other laws judge by them too.
    is_operators_word: ClassVar[bool] = False
    #: By knob, the parameter that makes the law leave that knob alone, for a target that cannot change it.
    switches: ClassVar[Mapping[Knob, str]] = {}
    #: On an instance: what it must be able to measure with its parameters. On the class: the same with its defaults.
    needs: Needs = Needs()
    parameters_model: ClassVar[type[Parameters]] = Parameters
    #: The parameter for the device's write bandwidth in bytes/s. An operator must give it; a simulation knows it.
    device_rate: ClassVar[str | None] = None
    #: One sentence: why the last step declined to decide, and what to do about it. While it is set, adocd restores the
    #: values that the law has changed. None while the law works normally.
    declined: str | None = None

    @abstractmethod
    def step(self, sample: Sample) -> Decision | None:
        """Decide what to change; None to change nothing."""
