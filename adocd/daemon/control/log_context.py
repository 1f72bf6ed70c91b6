"""Which target a log line is about: each loop's task sets it once, operators' requests too; the formatter reads it."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LoggedTarget:
    """A target's id and path."""

    target: str
    path: str


#: None outside a target's loop.
ABOUT: ContextVar[LoggedTarget | None] = ContextVar("adocd_about", default=None)


@contextmanager
def about(target: str, path: str) -> Iterator[None]:
    """Say what the log lines of this block are about, outside a target's loop."""
    token = ABOUT.set(LoggedTarget(target, path))
    try:
        yield
    finally:
        ABOUT.reset(token)
