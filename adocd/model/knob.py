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
    """What every surface says about a knob."""

    unit: str
    minimum: int
    maximum: int
    per_column_family: bool
    options: tuple[str, ...]


#: Bounds that no policy can leave. The batch's are wider than the paper's 64 to 512 MiB, for small databases.
FACTS = {
    Knob.BATCH_SIZE: KnobFacts(
        unit="bytes",
        minimum=1 * MIB,
        maximum=4096 * MIB,
        per_column_family=True,
        options=("write_buffer_size", "target_file_size_base", "max_bytes_for_level_base"),
    ),
    Knob.BACKGROUND_JOBS: KnobFacts(
        unit="jobs",
        minimum=1,
        maximum=128,
        per_column_family=False,
        options=("max_background_jobs",),
    ),
}
