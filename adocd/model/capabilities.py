"""What can be changed and seen of a database (agents/admin-api.yaml, schema `Capabilities`)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an agent, or one of its databases, offers."""

    column_family_options: tuple[str, ...] = ()
    database_options: tuple[str, ...] = ()
    rate_limiter: bool = False
    thread_pools: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    statistics: str = "none"
    #: False where the agent shares an interpreter lock with stalled writers: its silence may mean a stall.
    responds_during_stall: bool = True
