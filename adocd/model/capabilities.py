"""What can be changed and observed of a database (agents/admin-api.yaml, schema `Capabilities`)."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an agent, or one of its databases, can change and observe."""

    column_family_options: tuple[str, ...] = ()
    database_options: tuple[str, ...] = ()
    rate_limiter: bool = False
    #: Whether the agent gives a rate limit back to its owner while a call waits; False before protocol 1.8.
    lifts_rate_limit: bool = False
    thread_pools: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    statistics: str = "none"
    #: "sampled": the agent times writes; "off": switched off in the program; "none": it cannot, or before protocol 1.4.
    write_latency: str = "none"
    #: The kinds of events that it can wait for; none before protocol 1.5.
    waits_for: tuple[str, ...] = ()
    #: False if the agent shares the GIL with stalled writers, so that its silence may mean a stall.
    responds_during_stall: bool = True

    @property
    def can_change(self) -> bool:
        """Whether anything can be changed; False for a database observed by its directory alone."""
        return bool(self.column_family_options or self.database_options or self.thread_pools or self.rate_limiter)


#: Why nothing can be changed if `can_change` is False, and the remedy.
ONLY_OBSERVED = (
    "a directory is only observed: start the database's program by `adocd exec --`, or attach an agent, to change it; "
    "docs/attach.md says which programs have an agent, and MyRocks has none"
)
