"""Detects changes to the files since the journal's last write. Blocking; for the journal's own thread.

SQLite trusts its cache: it does not notice when somebody truncates, overwrites or removes the database or its log, and
goes on writing to files that no restart could read.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from adocd.daemon.book.journal import file
from adocd.daemon.book.journal.errors import JournalTampered

#: sqlite.org/fileformat.html, 1.3.1 and 4.1; the last bit of the log's magic gives its checksums' byte order.
_DATABASE_MAGIC = b"SQLite format 3\0"
_LOG_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")


@dataclass(frozen=True, slots=True)
class FileStamp:
    """One file: its identity, size and modification time."""

    device: int
    inode: int
    size_bytes: int
    written_ns: int


@dataclass(frozen=True, slots=True)
class Stamp:
    """The state of the database and of its log; None for a missing file."""

    database: FileStamp | None
    log: FileStamp | None


def take(path: Path) -> Stamp:
    """Record the state of the journal's files at `path`: two system calls, whatever their size."""
    return Stamp(_seen(path), _seen(log_of(path)))


def compare(path: Path, before: Stamp) -> None:
    """Raise JournalTampered if the files have changed since `before`."""
    now = take(path)
    for what, known, found in (
        (f"the journal {path}", before.database, now.database),
        (f"the log {log_of(path)} of the journal", before.log, now.log),
    ):
        if known != found:
            raise JournalTampered(f"{what} was {_done(known, found)} by somebody else")


def after_writing(path: Path, descriptor: int, before: Stamp) -> Stamp:
    """Record the files' state after our own write, during which somebody else may have changed them, too.

    A file that our write cannot have left this way keeps its state from `before`, so that the next check notices it.
    `descriptor` is the database's: closing another one would drop SQLite's locks (sqlite.org/howtocorrupt.html, 2.2).
    """
    now = take(path)
    return Stamp(
        now.database if _is_our_database(before.database, now.database, descriptor) else before.database,
        now.log if _is_our_log(before.log, now.log, log_of(path)) else before.log,
    )


def _is_our_database(before: FileStamp | None, now: FileStamp | None, descriptor: int) -> bool:
    """Whether it is the same file, has its header, and has not shrunk, because SQLite never shrinks it."""
    if before is None or now is None or not _is_same(before, now) or now.size_bytes < before.size_bytes:
        return False
    return os.pread(descriptor, len(_DATABASE_MAGIC), 0) == _DATABASE_MAGIC


def _is_our_log(before: FileStamp | None, now: FileStamp | None, path: Path) -> bool:
    """Whether it is the same file, or the first one, and is empty or has its header."""
    if now is None or (before is not None and not _is_same(before, now)):
        return False
    if now.size_bytes == 0:  # SQLite never empties it (PRAGMA journal_size_limit keeps some)
        return before is None or before.size_bytes == 0
    try:
        with path.open("rb") as log:
            return log.read(4) in _LOG_MAGIC
    except OSError:
        return False


def log_of(path: Path) -> Path:
    """Return the path of the write-ahead log."""
    return file.beside(path, "-wal")


def _done(known: FileStamp | None, found: FileStamp | None) -> str:
    if found is None:
        return "removed"
    if known is None or not _is_same(known, found):
        return "replaced"
    return "truncated" if found.size_bytes < known.size_bytes else "written to"


def _is_same(known: FileStamp, found: FileStamp | None) -> bool:
    return found is not None and (known.device, known.inode) == (found.device, found.inode)


def _seen(path: Path) -> FileStamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return FileStamp(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
