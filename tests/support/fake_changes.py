"""What the fake agent can do: everything, unless a test narrows it."""

from __future__ import annotations

from dataclasses import dataclass

from adocd_agent.capabilities import Capabilities

from tests.support.fake_options import COLUMN_FAMILY_OPTIONS, DATABASE_OPTIONS


@dataclass
class FakeCapabilities(Capabilities):
    """What the fake agent can do; narrow it to stand in for an agent that can do less (as the Python agent)."""

    column_family_options: tuple[str, ...] = tuple(COLUMN_FAMILY_OPTIONS)
    database_options: tuple[str, ...] = tuple(DATABASE_OPTIONS)
    rate_limiter: bool = True
    lifts_rate_limit: bool = True
    thread_pools: tuple[str, ...] = ("low", "high", "bottom")
    events: tuple[str, ...] = ("flush", "compaction", "stall", "background_error", "database", "memtable")
    statistics: str = "all"
    write_latency: str = "sampled"
    waits_for: tuple[str, ...] = ("stall", "memtables_wait")
    responds_during_stall: bool = True
