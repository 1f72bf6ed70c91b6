"""Which target a line of the log is about: set once by each loop's task, read by whoever writes the log."""

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class About:
    """A target's id and path."""

    target: str
    path: str


#: None outside of a target's loop.
ABOUT: ContextVar[About | None] = ContextVar("adocd_about", default=None)
