"""Which target a log line is about: each loop's task sets it once, the log formatter reads it."""

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoggedTarget:
    """A target's id and path."""

    target: str
    path: str


#: None outside a target's loop.
ABOUT: ContextVar[LoggedTarget | None] = ContextVar("adocd_about", default=None)
