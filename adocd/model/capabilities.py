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

    @property
    def can_change(self) -> bool:
        """Whether anything at all can be changed: of a database whose directory alone is seen, nothing can."""
        return bool(self.column_family_options or self.database_options or self.thread_pools or self.rate_limiter)


#: Why nothing can be changed where `can_change` is False, and the way out.
ONLY_OBSERVED = (
    "a directory is only observed: start the database's program by `adocd exec --`, or attach an agent, to change it"
)
