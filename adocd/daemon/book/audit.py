"""The audit trail: who did what, durable in the journal and published as events."""

from collections.abc import Callable

from adocd.daemon.book.book import Book
from adocd.daemon.book.journal.records import What
from adocd.daemon.watch.events import Events


class Audit:
    """Records operations. `wall_clock` is seconds since the epoch."""

    def __init__(self, book: Book, events: Events, wall_clock: Callable[[], float]) -> None:
        self._book = book
        self._events = events
        self._wall_clock = wall_clock

    def note(self, what: What, who: str, sentence: str, *, target: str | None = None, path: str | None = None) -> None:
        """Record what somebody has just done to a target, or to all; never fails, never waits."""
        operation = self._book.operated(what, who, sentence, target=target, path=path)
        self._events.publish("operation", self._wall_clock(), target=target, path=path, operation=operation)
