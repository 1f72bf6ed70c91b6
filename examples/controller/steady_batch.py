"""A law of your own: memtables that last a given time at the rate at which they are written.

    batch = written bytes/s x seconds, within bounds; moved by a quarter or more, or not at all

Bytes. Few writes make small memtables and early flushes, many make large ones. It does harm where writes come in
bursts shorter than a memtable lasts. All column families get the same, for the rate is the whole database's.
"""

from typing import ClassVar

from pydantic import Field

from adocd.controllers.base import Controller, Parameters
from adocd.model.decision import Decision, Setting
from adocd.model.knob import MIB, Knob
from adocd.model.reading import value_now
from adocd.model.sample import Sample


class SteadyBatchParameters(Parameters):
    """How long a memtable should last, and bounds."""

    seconds: float = Field(default=2.0, gt=0, le=600, description="how long a memtable should last")
    least_bytes: int = Field(default=8 * MIB, ge=MIB)
    most_bytes: int = Field(default=256 * MIB, ge=MIB, le=4096 * MIB)


class SteadyBatch(Controller):
    """Batch size by the rate of writes."""

    name = "steady-batch"
    summary = "memtables that last a given time at the rate at which they are written"
    source = "the example of docs/writing-a-controller.md"
    period_s = 5.0
    knobs = frozenset({Knob.BATCH_SIZE})
    parameters_model: ClassVar[type[Parameters]] = SteadyBatchParameters

    def __init__(self, parameters: SteadyBatchParameters) -> None:
        """Begin without history: every open of a database gets a new instance."""
        self._parameters = parameters

    def step(self, sample: Sample) -> Decision | None:
        """Follow the rate of writes."""
        rate = sample.written_bytes_per_s
        if rate is None:  # this agent cannot count them
            return None
        p = self._parameters
        wanted = max(p.least_bytes, min(p.most_bytes, int(rate * p.seconds) // MIB * MIB))
        settings = []
        for cf in sample.column_families:
            now = value_now(Knob.BATCH_SIZE, sample, cf.name)
            if now is not None and abs(wanted - now) * 4 >= now:
                settings.append(Setting(Knob.BATCH_SIZE, wanted, cf.name))
        if not settings:
            return None
        return Decision(
            tuple(settings),
            signal=f"{rate / MIB:.0f} MiB/s are written",
            rule="steady-batch.follow",
            reason=f"a memtable should last {p.seconds:g} s",
        )
