"""The things a controller may turn."""

from dataclasses import dataclass
from enum import StrEnum

MIB = 1 << 20


class Knob(StrEnum):
    """A knob is what a law means; which RocksDB options carry it is the planner's business."""

    BATCH_SIZE = "batch_size"
    BACKGROUND_JOBS = "background_jobs"


@dataclass(frozen=True, slots=True)
class KnobFacts:
    """A knob's unit, and the bounds that no policy can leave."""

    unit: str
    minimum: int
    maximum: int


#: The batch's bounds are wider than the paper's 64 to 512 MiB, for small databases.
FACTS = {
    Knob.BATCH_SIZE: KnobFacts(
        unit="bytes",
        minimum=1 * MIB,
        maximum=4096 * MIB,
    ),
    Knob.BACKGROUND_JOBS: KnobFacts(
        unit="jobs",
        minimum=1,
        maximum=128,
    ),
}
