"""The errors of a journal; each error's text is one sentence for the operator.

JournalError
  JournalUnopenable    cannot be opened: a directory, permissions, a read-only file system
  JournalLocked        another process has it open
  JournalForeign       another program's database
  JournalTooNew        written by a newer adocd
  JournalDamaged       its content is broken; the next open sets it aside and reads what can be read
  JournalUnwritable    this write failed; a later one may succeed
    JournalFull        because the disk is full
    JournalTampered    because somebody else truncated, wrote to, removed or replaced the file
  JournalClosed        used after its close
  PolicyNotUnderstood  it holds a policy that this version does not know
"""

import sqlite3
from pathlib import Path


class JournalError(Exception):
    """The journal cannot carry out a request."""


class JournalUnopenable(JournalError):
    """The file or its directory cannot be opened or created."""


class JournalLocked(JournalError):
    """Another process has the journal open; `pid` is that process, None if unknown."""

    def __init__(self, path: Path, pid: int | None) -> None:
        self.pid = pid
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(f"the journal {path} is in use by {holder}")


class JournalForeign(JournalError):
    """The file is an SQLite database, but not a journal."""


class JournalTooNew(JournalError):
    """The file's schema is newer than this version of adocd knows."""


class JournalDamaged(JournalError):
    """The file's content is broken."""


class JournalUnwritable(JournalError):
    """A write failed and changed nothing; a later one may succeed."""


class JournalFull(JournalUnwritable):
    """A write failed because the disk is full."""


class JournalTampered(JournalUnwritable):
    """Somebody else truncated, wrote to, removed or replaced the file or its log."""


class JournalClosed(JournalError):
    """The journal was used after its close."""


class PolicyNotUnderstood(JournalError):
    """The journal holds a policy that this version does not know."""


#: What the sqlite3 module raises when SQLite fails. A message can quote the damaged file and so be invalid UTF-8.
SQLITE_ERRORS = (sqlite3.Error, UnicodeDecodeError)
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_LOCKED = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_UNWRITABLE = (
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_NOMEM,
)


def is_damage(error: sqlite3.Error | UnicodeDecodeError) -> bool:
    """Whether SQLite reports that the file's content is broken."""
    return isinstance(error, UnicodeDecodeError) or _primary_code(error) in _DAMAGE


def in_our_words(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> JournalError:
    """Turn an SQLite error into a JournalError."""
    if isinstance(error, UnicodeDecodeError) or is_damage(error):
        return JournalDamaged(f"the journal {path} is damaged ({error})")
    code = _primary_code(error)
    if code == sqlite3.SQLITE_FULL:
        return JournalFull(f"the journal {path} cannot be written: the disk is full")
    if code in _LOCKED:
        return JournalLocked(path, None)
    if code in _UNWRITABLE:
        return JournalUnwritable(f"the journal {path} cannot be written: {error}")
    return JournalError(f"the journal {path} cannot do this: {error}")  # a bug in the caller


def _primary_code(error: sqlite3.Error) -> int:
    # Extended result codes hold the primary one in their low byte (sqlite.org/rescode.html). Errors raised by the
    # Python module itself have none.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF
