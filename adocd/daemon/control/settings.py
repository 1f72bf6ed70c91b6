"""What all loops of a daemon share."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.control.neighbours import Neighbours
from adocd.daemon.watch.events import Events
from adocd.daemon.watch.observation import LOOKS_AT_ONCE
from adocd.daemon.watch.vitals import LoopVitals
from adocd.probes.shared import Shared


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What all loops of a daemon share. `clock` is monotonic seconds, `wall_clock` seconds since the epoch."""

    holder: str
    tick_s: float
    lease_ttl_s: float
    #: How many samples are kept.
    history: int
    compaction: CompactionLimits
    clock: Callable[[], float]
    wall_clock: Callable[[], float]
    #: How long a law may take to decide; None: no limit, and it is asked in the loop itself, where time is virtual.
    step_limit_s: float | None = None
    #: Whether each target has a moment of its own in the tick; where one is alone, its ticks follow its beginning.
    spreads: bool = True
    #: Whose turn it is to look at LOG, device and process.
    looks: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LOOKS_AT_ONCE))
    #: What their looks have in common.
    shared: Shared = field(default_factory=Shared)
    #: The memory and the processes that targets have in common.
    neighbours: Neighbours = field(default_factory=Neighbours)
    #: Where they tell what happens.
    events: Events = field(default_factory=Events)
    vitals: LoopVitals = field(default_factory=LoopVitals)
