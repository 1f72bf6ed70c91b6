"""Tide's parameters."""

from pydantic import Field

from adocd.controllers.base import Parameters
from adocd.model.knob import MIB


class TideParameters(Parameters):
    """The owner's budgets."""

    memory_max_bytes: int = Field(
        default=512 * MIB,
        ge=MIB,
        le=1 << 50,
        description="most memory for the memtables of all column families that are written",
    )
    pay_back_s: float = Field(
        default=600.0,
        ge=1,
        le=86400,
        description="how long the device may need to merge what a flood leaves in level 0",
    )
    debt_max_bytes: int = Field(default=32 << 30, ge=MIB, le=1 << 50, description="most bytes in level 0")
    files_max: int = Field(default=300, ge=8, le=10_000, description="most level-0 files while nobody reads")
    reads_share: float = Field(
        default=0.001,
        ge=0,
        le=1,
        description="reads, as a share of writes, from which on level 0 keeps the owner's slowdown and stop",
    )
    memtables: int = Field(default=4, ge=2, le=64, description="memtables among which the memory is divided")
    flush_slots: int = Field(default=3, ge=1, le=32)
    limiter: bool = Field(
        default=False,
        description="in peaks of clients whose reads reach the disks, turn the rate limiter and put merges off; not "
        "with its auto_tuned, nor where databases share it",
    )
    subcompactions: int = Field(default=4, ge=1, le=64, description="width of a merge out of level 0")
