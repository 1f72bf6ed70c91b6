"""Tells a new open of the database from one whose lines RocksDB repeats.

A LOG that is rotated by size or time (max_log_file_size, log_file_time_to_roll) begins with the lines of the open
again, options included (logging/auto_roll_logger.cc, WriteHeaderInfo); the session id says which open they are of.
RocksDB before 6.13 writes no session id: there such a rotation counts as an open.
"""

from dataclasses import dataclass

from adocd.probes.log.events import HeaderLine, LogEvent, OptionsListed


@dataclass(frozen=True, slots=True)
class Opened:
    """A new open: when its first line was written, in unix seconds, and the version that this line names."""

    time_s: float
    rocksdb_version: str


class Opens:
    """Takes a LOG's events in order. An open is told once its session id is read, or cannot come any more."""

    def __init__(self) -> None:
        #: Identifies the current open; None before the first one.
        self.session: str | None = None
        #: Whether the lines now are those of the open again: the options listed there need not be in force any more.
        self.is_repeating = False
        self._first: HeaderLine | None = None

    def take(self, event: LogEvent) -> Opened | None:
        """Take the next event; return the open that it shows to be new."""
        if isinstance(event, HeaderLine):
            return self._header(event)
        if not isinstance(event, OptionsListed):
            self.is_repeating = False
        return self.settle()

    def settle(self) -> Opened | None:
        """Return the open whose session id has not come, for a caller who knows that it would have come by now."""
        return None if self._first is None else self._new(self._first, f"opened at {self._first.time_s:.6f}")

    def _header(self, event: HeaderLine) -> Opened | None:
        if event.name == "rocksdb_version":
            opened = self.settle()
            self._first, self.is_repeating = event, False
            return opened
        if event.name != "db_session_id" or self._first is None:
            return None
        if event.value != self.session:
            return self._new(self._first, event.value)
        self._first, self.is_repeating = None, True
        return None

    def _new(self, first: HeaderLine, session: str) -> Opened:
        self.session, self._first, self.is_repeating = session, None, False
        return Opened(first.time_s, first.value)
