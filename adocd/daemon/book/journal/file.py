"""Locks, creates, opens and checks the journal's file. Blocking; for the journal's own thread."""

import fcntl
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import BinaryIO

from adocd.daemon.book import own_file
from adocd.daemon.book.journal.documents import KINDS
from adocd.daemon.book.journal.errors import (
    SQLITE_ERRORS,
    JournalDamaged,
    JournalForeign,
    JournalLocked,
    JournalUnopenable,
    JournalUnwritable,
    in_our_words,
    is_damage,
)
from adocd.daemon.book.journal.schema import APPLICATION_ID, MIGRATIONS, Migration, migrate, transaction
from adocd.daemon.book.state_dir import sync_directory

#: How long SQLite waits for another tool that is reading the file.
_BUSY_S = 0.5
#: A write-ahead log larger than this is truncated at the next checkpoint.
_WAL_BYTES = 4 << 20
#: sqlite.org/fileformat.html, 1.3
_HEADER_BYTES = 100
_SIDES = ("-wal", "-shm")


def lock(path: Path) -> int:
    """Lock the journal's lock file and return its descriptor; closing that, or the process's end, releases the lock.

    The lock is a separate file that is never removed, because closing any descriptor of the database itself would
    drop SQLite's own locks (sqlite.org/howtocorrupt.html, 2.2). Raises JournalLocked and JournalUnopenable.
    """
    try:
        with suppress(FileExistsError):  # if it is not a directory, the open below says so
            path.parent.mkdir(mode=0o700, parents=True)
        if path.is_dir():
            raise JournalUnopenable(f"the journal {path} is a directory")
        descriptor = own_file.opened(beside(path, ".lock"), os.O_RDWR | os.O_CREAT)
    except OSError as error:
        raise JournalUnopenable(f"the journal {path} cannot be opened for writing: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        with os.fdopen(descriptor, "rb") as holder:
            pid = holder.read(20).strip()
        if not isinstance(error, BlockingIOError):
            raise JournalUnopenable(f"the journal {path} cannot be locked: {error.strerror}") from None
        raise JournalLocked(path, int(pid) if pid.isdigit() else None) from None
    with suppress(OSError):  # on a full disk the lock file cannot name our process
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def open_checked(path: Path, migrations: tuple[Migration, ...] = MIGRATIONS) -> sqlite3.Connection:
    """Open an existing, locked journal, check all its content and migrate its schema.

    With an up-to-date schema nothing is written, so this works on a full disk. Raises JournalDamaged,
    JournalForeign, JournalTooNew, JournalUnopenable, JournalLocked and JournalUnwritable.
    """
    _see_that_it_is_ours(path)
    if not os.access(path, os.R_OK | os.W_OK):
        raise JournalUnopenable(f"the journal {path} cannot be opened for writing: its permissions forbid it")
    _check_header(path)
    try:
        connection = connect(path)
    except JournalDamaged:
        raise JournalDamaged(f"the journal {path} is damaged") from None
    try:
        _check(connection, path, "PRAGMA quick_check(1)")
        migrate(connection, path, migrations)
        _check(connection, path, "PRAGMA integrity_check(documents)")
        _verify_checksums(connection)
    except SQLITE_ERRORS as error:
        connection.close()
        if is_damage(error) or _says_no_such_thing(error):
            raise JournalDamaged(f"the journal {path} is damaged ({error})") from None
        raise in_our_words(error, path) from None
    except BaseException:
        connection.close()
        raise
    return connection


def create(path: Path, fill: Callable[[sqlite3.Connection], None]) -> None:
    """Create a journal at `path`, filled by `fill`, completely or not at all. Raises JournalUnwritable."""
    making = beside(path, ".making")
    try:
        for left_over in (making, *(beside(making, side) for side in (*_SIDES, "-journal"))):
            left_over.unlink(missing_ok=True)
        # SQLite gives the log the database's file mode.
        os.close(own_file.opened(making, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    except OSError as error:
        raise JournalUnopenable(f"the journal {path} cannot be made: {error.strerror}") from None
    try:
        with closing(connect(making, path)) as connection:
            migrate(connection, making)
            with transaction(connection):
                fill(connection)
            # Checkpoint now: the rename moves the database without its log, and close would hide a full disk.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except BaseException as error:
        with suppress(OSError):
            making.unlink()
        if isinstance(error, SQLITE_ERRORS):
            raise in_our_words(error, path) from None
        raise
    try:
        making.rename(path)
        sync_directory(path.parent)
    except OSError as error:
        raise JournalUnwritable(f"the journal {path} cannot be made: {error.strerror}") from None


def connect(path: Path, called: Path | None = None) -> sqlite3.Connection:
    """Connect with settings that make commits durable; transactions are begun explicitly.

    Raises JournalError, which names `called` if given, else `path`.
    """
    _see_that_it_is_ours(path)
    connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
    # Invalid UTF-8 is damage like any other: the checksum reveals it.
    connection.text_factory = decode_text
    try:
        # Exclusive locking before the first read keeps the WAL index in our memory instead of a shared file, so that
        # the journal can be opened and read on a full disk (sqlite.org/wal.html, 8).
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    except SQLITE_ERRORS as error:
        connection.close()
        raise in_our_words(error, called or path) from None
    return connection


def open_to_read(path: Path) -> BinaryIO:
    """Open one of the journal's files for reading; follow a link only if nobody else can have made it."""
    own_file.check(path, of_anyone=True)
    return os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # a FIFO would block


def _see_that_it_is_ours(path: Path) -> None:
    """Check the owner before SQLite opens the files by name. SQLite itself follows no link to its log."""
    try:
        for each in with_sides(path):
            own_file.check(each)
    except OSError as error:
        raise JournalUnopenable(f"the journal {path} cannot be opened: {error.strerror}") from None


def decode_text(text: bytes) -> str:
    """Decode any bytes, invalid UTF-8 included."""
    return text.decode("utf-8", "replace")


def beside(path: Path, suffix: str) -> Path:
    """Return the path of a file beside the journal."""
    return path.with_name(path.name + suffix)


def with_sides(path: Path) -> tuple[Path, ...]:
    """Return the database's files, the log first: it is never read without its database, so it can move first."""
    return (*(beside(path, side) for side in _SIDES), path)


def _check_header(path: Path) -> None:
    """Check the header before SQLite opens the file and writes to another program's database, or to a tiny file."""
    with open_to_read(path) as stream:
        header = stream.read(_HEADER_BYTES)
    if not header:
        raise JournalDamaged(f"the journal {path} is empty")  # `create` never leaves such a file
    if len(header) < _HEADER_BYTES or not header.startswith(b"SQLite format 3\0"):
        raise JournalDamaged(f"the journal {path} is damaged (its header is not a database's)")
    if int.from_bytes(header[68:72], "big") == APPLICATION_ID:
        return
    names = set()
    with (
        suppress(*SQLITE_ERRORS),
        closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1", uri=True)) as connection,
    ):
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    if names and "documents" not in names:
        raise JournalForeign(f"{path} is a database of another program, and no journal of adocd's")
    raise JournalDamaged(f"the journal {path} is damaged (its header is not a journal's)")


def _check(connection: sqlite3.Connection, path: Path, pragma: str) -> None:
    (found,) = connection.execute(pragma).fetchone()
    if found != "ok":
        first = str(found).strip().splitlines()[-1]
        raise JournalDamaged(f"the journal {path} is damaged ({first})")


def _verify_checksums(connection: sqlite3.Connection) -> None:
    for kind in KINDS.values():
        kind.all(connection)
    connection.execute("SELECT target, run, sequence, unix_s, content FROM decisions LIMIT 1").fetchone()


def _says_no_such_thing(error: Exception) -> bool:
    return str(error).startswith(("no such table", "no such column"))
