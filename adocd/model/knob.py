"""The things a controller may turn."""

from enum import StrEnum

MIB = 1 << 20


class Knob(StrEnum):
    """A knob is what a law means; which RocksDB options carry it is the planner's business."""

    BATCH_SIZE = "batch_size"
    BACKGROUND_JOBS = "background_jobs"
