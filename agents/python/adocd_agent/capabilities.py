"""What an agent, or one of its databases, can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

Json = Any


@dataclass
class Capabilities:
    """The contract's Capabilities; the defaults describe an agent that can do nothing."""

    column_family_options: tuple[str, ...] = ()
    database_options: tuple[str, ...] = ()
    rate_limiter: bool = False
    lifts_rate_limit: bool = False
    thread_pools: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    statistics: str = "none"
    write_latency: str = "none"
    waits_for: tuple[str, ...] = ()
    responds_during_stall: bool = False

    def as_json(self) -> dict[str, Json]:
        """Write it as the contract does."""
        return {
            "column_family_options": sorted(self.column_family_options),
            "database_options": sorted(self.database_options),
            "rate_limiter": self.rate_limiter,
            "lifts_rate_limit": self.lifts_rate_limit,
            "thread_pools": list(self.thread_pools),
            "events": list(self.events),
            "statistics": self.statistics,
            "write_latency": self.write_latency,
            "waits_for": list(self.waits_for),
            "responds_during_stall": self.responds_during_stall,
        }
