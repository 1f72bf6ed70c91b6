"""What all loops of a daemon share."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from adocd.daemon.change.guards.compaction import CompactionLimits
from adocd.daemon.control.neighbours import Neighbours
from adocd.daemon.watch.events import Events
from adocd.daemon.watch.observation import LOOKS_AT_ONCE
from adocd.daemon.watch.vitals import LoopVitals
from adocd.model.policy import Priority
from adocd.probes.shared import Shared


@dataclass(frozen=True, slots=True)
class LoopSettings:
    """What all loops of a daemon share. `clock` is monotonic seconds, `wall_clock` seconds since the epoch."""

    holder: str
    tick_s: float
    lease_ttl_s: float
    #: Number of samples kept.
    history: int
    compaction: CompactionLimits
    clock: Callable[[], float]
    wall_clock: Callable[[], float]
    #: How long a law may take to decide; None under a simulated clock: no limit, and the law runs in the loop's thread.
    step_limit_s: float | None = None
    #: Whether each target has its own moment in the tick; a single target's ticks count from its start instead.
    spreads: bool = True
    #: Limits how many targets look at LOG, device and process at once.
    looks: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(LOOKS_AT_ONCE))
    #: Observations that all targets share.
    shared: Shared = field(default_factory=Shared)
    #: The memory and the processes that targets share.
    neighbours: Neighbours = field(default_factory=Neighbours)
    #: The weight and the floor of a target, by its path.
    priority_of: Callable[[str], Priority] = field(default=lambda _path: Priority())
    #: Where the loops publish events.
    events: Events = field(default_factory=Events)
    vitals: LoopVitals = field(default_factory=LoopVitals)
