"""What can be the matter with a journal; each error's text is one sentence for the operator.

JournalError
  JournalUnopenable    not a file that we may open: a directory, permissions, a read-only file system
  JournalLocked        another process has it
  JournalForeign       a database of another program
  JournalTooNew        written by a newer adocd
  JournalDamaged       its content is broken; the next open sets it aside and reads what can be read
  JournalUnwritable    this write failed, a later one may succeed
    JournalFull        because the disk is full
    JournalTampered    because somebody else truncated, wrote to, removed or replaced the file
  JournalClosed        used after its close
  PolicyNotUnderstood  a policy in it is not one of this version's
"""

import sqlite3
from pathlib import Path


class JournalError(Exception):
    """The journal cannot do what was asked."""


class JournalUnopenable(JournalError):
    """The file or its directory cannot be opened or made."""


class JournalLocked(JournalError):
    """Another process has it; `pid` is that process, where it is known."""

    def __init__(self, path: Path, pid: int | None) -> None:
        self.pid = pid
        holder = "another process" if pid is None else f"process {pid}"
        super().__init__(f"the journal {path} is in use by {holder}")


class JournalForeign(JournalError):
    """The file is an SQLite database, but no journal."""


class JournalTooNew(JournalError):
    """The file's schema is newer than this version's."""


class JournalDamaged(JournalError):
    """The file's content is broken."""


class JournalUnwritable(JournalError):
    """A write failed and left everything as it was; a later one may succeed."""


class JournalFull(JournalUnwritable):
    """A write failed because the disk is full."""


class JournalTampered(JournalUnwritable):
    """Somebody else truncated, wrote to, removed or replaced the file or its log."""


class JournalClosed(JournalError):
    """The journal was used after its close."""


class PolicyNotUnderstood(JournalError):
    """A policy in the journal is not one of this version's."""


#: What the sqlite3 module raises when SQLite fails. Its message can quote the damaged file, and then it is no UTF-8.
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
    """Whether SQLite says that the file's content is broken."""
    return isinstance(error, UnicodeDecodeError) or _primary_code(error) in _DAMAGE


def in_our_words(error: sqlite3.Error | UnicodeDecodeError, path: Path) -> JournalError:
    """Turn an error of SQLite's into ours."""
    if isinstance(error, UnicodeDecodeError) or is_damage(error):
        return JournalDamaged(f"the journal {path} is damaged ({error})")
    code = _primary_code(error)
    if code == sqlite3.SQLITE_FULL:
        return JournalFull(f"the journal {path} cannot be written: the disk is full")
    if code in _LOCKED:
        return JournalLocked(path, None)
    if code in _UNWRITABLE:
        return JournalUnwritable(f"the journal {path} cannot be written: {error}")
    return JournalError(f"the journal {path} cannot do this: {error}")  # a mistake of the caller's


def _primary_code(error: sqlite3.Error) -> int:
    # Extended result codes keep the primary one in their low byte (sqlite.org/rescode.html). Errors that the Python
    # module finds itself have none.
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF
