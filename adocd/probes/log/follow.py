"""Follows a LOG that is being written: each poll reads what is new, despite rotation, truncation and absence.

RocksDB renames `LOG` to `LOG.old.<micros>` and begins a new one at every open, and by max_log_file_size and
log_file_time_to_roll (logging/auto_roll_logger.cc). No file is kept open between polls, so that a deleted file's space
is freed. RocksDB itself is late: its logger buffers up to 64 KiB for up to 5 s (logging/env_logger.h) and flushes the
buffer in the middle of a line, so an incomplete line waits for the next poll.
"""

from collections import deque
from dataclasses import dataclass
from datetime import UTC, tzinfo
from io import FileIO
from os import SEEK_SET, fstat, pread
from os.path import exists
from pathlib import Path

from adocd.probes.log.clock import offset_in
from adocd.probes.log.events import LogEvent
from adocd.probes.log.parser import LogParser
from adocd.probes.log.read import PIECE_BYTES, logs_of_session, open_log, rotated_logs

#: Most bytes that one poll reads, because the caller has to hold their events.
POLL_BYTES_MOST = 8 << 20
#: Bytes before the read position, to tell one file from another with the same name and inode.
_MARK_BYTES = 64


@dataclass(slots=True)
class _Place:
    """A file and its read position."""

    device: int
    inode: int
    offset: int = 0
    mark: bytes = b""

    def is_in(self, file: FileIO) -> bool:
        status = fstat(file.fileno())
        return (
            (status.st_dev, status.st_ino) == (self.device, self.inode)
            and status.st_size >= self.offset
            and pread(file.fileno(), len(self.mark), self.offset - len(self.mark)) == self.mark
        )


class LogFollower:
    """Follows the LOG at `path` from its beginning; call `poll` as often as you need news.

    With `whole_session` it begins with the files of the same open that were rotated by size before. `zone` is as for
    LogParser; `parser` counts what could not be read. `error` says why the last poll could not read the file; a file
    that is not there (yet) is no error.
    """

    def __init__(
        self, path: Path, *, zone: tzinfo = UTC, poll_bytes_most: int = POLL_BYTES_MOST, whole_session: bool = False
    ) -> None:
        self.parser = LogParser(zone=zone)
        self.error: OSError | None = None
        #: Whether the last poll reached the end of the LOG.
        self.caught_up = False
        #: Polls in a row that found no file: during RocksDB's rotation there is none for a moment.
        self.missed = 0
        self.path = path
        self._most = max(1, poll_bytes_most)
        self._whole_session = whole_session
        self._place: _Place | None = None
        #: Rotated files still to be read, before the current one.
        self._backlog: deque[Path] = deque()
        #: Rotated files already known; None before the first poll, as files rotated earlier are not followed.
        self._known: set[str] | None = None

    @property
    def is_gone(self) -> bool:
        """Whether the last two polls found no file at the path: it was deleted or is not there yet."""
        return self.missed > 1

    def poll(self) -> list[LogEvent]:
        """Read what is new, at most `poll_bytes_most`; `caught_up` is False if there is more."""
        events: list[LogEvent] = []
        self.error = None
        self.caught_up = False
        left = self._most
        try:
            if self._known is None:
                rotated = rotated_logs(self.path)
                self._known = {old.name for old in rotated}
                if self._whole_session:
                    self._backlog.extend(logs_of_session(self.path, rotated))
            while left > 0 and not self.caught_up:
                left -= self._step(events, left)
        except OSError as error:
            self.error = error
        self.missed = 0 if exists(self.path) else self.missed + 1
        return events

    def _step(self, events: list[LogEvent], most: int) -> int:
        """Read from the file whose turn it is; return the number of bytes."""
        path = self._backlog[0] if self._backlog else self.path
        try:
            with open_log(path) as file:
                if self._place is not None and not self._place.is_in(file):
                    self._leave(events)
                    return 0
                if self._place is None:
                    self._arrive(file)
                    if not self._backlog and self._rotated_meanwhile():
                        self._place = None
                        return 0
                count = self._read(file, events, most)
        except OSError as error:
            if self._backlog:  # deleted by RocksDB beyond keep_log_file_num, or unreadable for us
                self._backlog.popleft()
                self._end(events)
            elif not isinstance(error, FileNotFoundError):
                raise
            elif not self._leave(events):
                self.caught_up = True
            return 0
        if count == 0:
            if self._backlog:
                self._backlog.popleft()
                self._end(events)
            else:
                self.caught_up = True
                if not self.parser.in_line:
                    events.extend(self.parser.settle())
        return count

    def _arrive(self, file: FileIO) -> None:
        status = fstat(file.fileno())
        self._place = _Place(status.st_dev, status.st_ino)

    def _read(self, file: FileIO, events: list[LogEvent], most: int) -> int:
        place = self._place
        if place is None:
            return 0
        file.seek(place.offset, SEEK_SET)
        # No more than its size: a file in /proc has size 0 and could be read for ever.
        data = file.read(max(0, min(most, PIECE_BYTES, fstat(file.fileno()).st_size - place.offset)))
        if not data:
            return 0
        if self.parser.utc_offset_s is None and (offset_s := offset_in(data)) is not None:
            self.parser.told_offset(offset_s)
        place.offset += len(data)
        place.mark = (place.mark + data)[-_MARK_BYTES:]
        events.extend(self.parser.feed(data))
        return len(data)

    def _leave(self, events: list[LogEvent]) -> bool:
        """Continue with the file under its new name, as it is no longer at the path; False if nothing is left to read.

        Puts every file rotated since into the backlog, whichever of them was being read.
        """
        if self._backlog:  # one of them was replaced, which RocksDB never does
            self._backlog.popleft()
            self._end(events)
            return True
        if self._place is None:
            return self._rotated_meanwhile()
        self._rotated_meanwhile()
        for at, old in enumerate(self._backlog):
            try:
                with open_log(old) as file:
                    if self._place.is_in(file):
                        # New files that were rotated before it no longer fit into this order.
                        for _ in range(at):
                            self._backlog.popleft()
                        return True
            except OSError:
                continue
        self._end(events)
        return True

    def _rotated_meanwhile(self) -> bool:
        """Put files rotated since the last poll into the backlog; False if there are none."""
        known = self._known if self._known is not None else set()
        now = rotated_logs(self.path)
        new = [old for old in now if old.name not in known]
        self._known = {old.name for old in now}
        self._backlog.extend(new)
        return bool(new)

    def _end(self, events: list[LogEvent]) -> None:
        """Finish the file read last, which will not grow any more."""
        events.extend(self.parser.finish())
        self._place = None
