"""Reads a whole LOG once: the rotated files first, then the file itself."""

import os
import re
import stat
from collections.abc import Iterator
from datetime import UTC, tzinfo
from errno import EINVAL
from io import FileIO
from pathlib import Path

from adocd.probes.log.clock import offset_in
from adocd.probes.log.events import LogEvent
from adocd.probes.log.parser import LogParser

#: Bytes read at once.
PIECE_BYTES = 1 << 19
#: Bytes searched for the first EVENT_LOG_v1 line, which follows some 250 lines of options per column family.
_BEGINNING_BYTES = 4 << 20
#: Takes some seconds of one CPU.
_SESSION_BYTES_MOST = 256 << 20
#: The lines of the open begin every file.
_HEADER_BYTES = 64 << 10
_SESSION = re.compile(rb"DB Session ID: +(\S+)")
_OLD = re.compile(r"\.old\.(\d{1,20})$")


def open_log(path: Path) -> FileIO:
    """Open a file that an agent may have named; raises OSError for a FIFO or a device, which might block for ever."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # for a directory, open() raises
            raise OSError(EINVAL, "it is no regular file", str(path))
        return FileIO(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))
    except ValueError:  # a zero byte
        raise OSError(EINVAL, "it is no path") from None


def rotated_logs(path: Path) -> list[Path]:
    """Return the `LOG.old.<micros>` files beside `LOG`, oldest first; none if the directory cannot be read."""
    try:
        found = [(int(m[1]), each) for each in path.parent.iterdir() if (m := _is_rotated(path, each))]
    except OSError:
        return []
    return [each for _, each in sorted(found)]


def logs_of_session(path: Path, rotated: list[Path]) -> list[Path]:
    """Return the rotated files from the same open as `path`, oldest first.

    They are the last ones with the same session id; RocksDB before 6.13 writes none. Beyond 256 MiB in all, the older
    ones are left out.
    """
    session, left = _session_in(path), _SESSION_BYTES_MOST
    found: list[Path] = []
    for old in reversed(rotated):
        if session is None or _session_in(old) != session:
            break
        try:
            left -= old.stat().st_size
        except OSError:
            break
        if left < 0:
            break
        found.insert(0, old)
    return found


def read_log(
    path: Path, *, rotated: bool = True, zone: tzinfo = UTC, parser: LogParser | None = None
) -> Iterator[LogEvent]:
    """Yield the events of the rotated files, unless `rotated` is false, and of the LOG at `path`.

    Pass a `parser` to get its count of unread lines. `zone` is the zone of the machine that wrote the lines; it counts
    only if no EVENT_LOG_v1 line shows the offset. Raises OSError if `path` itself cannot be read; a rotated file that
    cannot be, or that RocksDB deletes meanwhile, is left out.
    """
    if parser is None:
        parser = LogParser(zone=zone)
    if rotated:
        for old in rotated_logs(path):
            try:
                yield from _events(old, parser)
            except OSError:
                continue
    yield from _events(path, parser)


def _session_in(path: Path) -> bytes | None:
    try:
        with open_log(path) as file:
            found = _SESSION.search(file.read(_HEADER_BYTES))
    except OSError:
        return None
    return None if found is None else found[1]


def _events(path: Path, parser: LogParser) -> Iterator[LogEvent]:
    with open_log(path) as file:
        offset_s = offset_in(file.read(_BEGINNING_BYTES))
        if offset_s is not None:
            parser.told_offset(offset_s)
        file.seek(0)
        while piece := file.read(PIECE_BYTES):
            yield from parser.feed(piece)
    yield from parser.finish()


def _is_rotated(path: Path, other: Path) -> re.Match[str] | None:
    return _OLD.fullmatch(other.name.removeprefix(path.name)) if other.name.startswith(path.name) else None
