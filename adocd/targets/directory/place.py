"""A database's directory on this host: which database it is, where its LOG is, and whether anybody has it open."""

import os
import platform
import re
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adocd.probes.files import text_or
from adocd.probes.lock_holder import Holder, lock_holder
from adocd.probes.options_file import OptionsFile, newest_of
from adocd.targets.errors import TargetError

#: Who hides from /proc/locks is looked for among all processes, which takes a while on a large machine.
_SEARCH_PERIOD_S = 5.0
#: A LOG that was written so long ago says nothing of now any more, where nobody is seen to hold the database.
QUIET_S = 60.0
#: It has to be written at two looks with so much time between them: a program may open a database and close it at once.
_WRITTEN_FOR_S = 1.0
_LOG_BEGINNING_BYTES = 1 << 20
_DB_ID = re.compile(rb"DB ID: *(\S+)")


class NoDatabase(TargetError):
    """There is no database, or not yet; it is followed once there is."""


@dataclass(frozen=True, slots=True)
class Place:
    """What was found in a directory.

    `id` is that of agents (agents/admin-api.yaml, Database), so what an operator has said of the database holds with
    an agent and without. `holder` is None where nobody has it open, and where who has it cannot be seen: then it counts
    as open while its LOG is written.
    """

    id: str
    path: Path
    db_identity: str
    log_path: Path
    wal_dir: Path
    holder: Holder | None
    is_open: bool

    @property
    def lock_path(self) -> Path:
        """The file that whoever has the database open has locked."""
        return self.path / "LOCK"


class DirectoryPlace:
    """Looks at one directory again and again; blocks on I/O."""

    def __init__(self, path: Path, *, proc: Path = Path("/proc"), clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._proc = proc
        self._clock = clock
        self._searched_s: float | None = None
        #: When files last came or went there, and what the newest OPTIONS file said then.
        self._options: tuple[int, dict[str, str]] | None = None
        self._log_status: tuple[int, int] | None = None
        self._written_from_s: float | None = None
        self._written_to_s = 0.0

    def look(self) -> Place:
        """See what is there now. Raises NoDatabase, with one sentence, where there is none."""
        path = Path(os.path.realpath(self._path))
        try:
            database = self._options_in(path)
        except (FileNotFoundError, NotADirectoryError):
            raise NoDatabase(f"{self._path} is no directory; a database there is followed once it is there") from None
        log = _log_path(path, database.get("db_log_dir", ""))
        identity = _identity(path, log)
        holder = self._holder(path / "LOCK")
        return Place(
            database_id(platform.node(), str(path), identity),
            path,
            identity,
            log,
            Path(os.path.realpath(path / database.get("wal_dir", ""))),
            holder,
            holder is not None or self._is_written(log),
        )

    def closed(self) -> None:
        """Take in that its LOG says so, or that nobody holds it any more: what was written before says nothing."""
        self._written_from_s = None

    def _options_in(self, path: Path) -> dict[str, str]:
        """Read where the LOG and the WAL are; RocksDB's defaults where there is no OPTIONS file."""
        # One look alone: a database that is made anew is gone for a moment, also between two of them.
        status = path.stat()
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(str(path))
        changed_ns = status.st_mtime_ns
        if self._options is None or self._options[0] != changed_ns:
            found = newest_of(path)
            self._options = changed_ns, dict(found.database) if isinstance(found, OptionsFile) else {}
        return self._options[1]

    def _holder(self, lock: Path) -> Holder | None:
        now_s = self._clock()
        searches = self._searched_s is None or now_s - self._searched_s >= _SEARCH_PERIOD_S
        if searches:
            self._searched_s = now_s
        holder = lock_holder(lock, self._proc, search=searches)
        if holder is not None:
            self.closed()  # what it writes says nothing of what comes after it
            self._log_status = None
        return holder

    def _is_written(self, log: Path) -> bool:
        try:
            status, now_s = log.stat(), self._clock()
        except OSError:  # it is being rotated
            return False
        before, self._log_status = self._log_status, (status.st_ino, status.st_size)
        if before is not None and before != self._log_status:
            if self._written_from_s is None or now_s - self._written_to_s > QUIET_S:
                self._written_from_s = now_s
            self._written_to_s = now_s
        began_s = self._written_from_s
        return (
            began_s is not None
            and self._written_to_s - began_s >= _WRITTEN_FOR_S
            and now_s - self._written_to_s <= QUIET_S
        )


def database_id(host: str, path: str, db_identity: str) -> str:
    """Hash host name, canonical path and DB identity, as the contract of agents defines it: FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in b"\0".join(part.encode("utf-8", "surrogateescape") for part in (host, path, db_identity)):
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return f"{value:016x}"


def _log_path(path: Path, log_dir: str) -> Path:
    """Find the LOG; in a directory of its own the database's path is in its name (file/filename.cc, InfoLogPrefix)."""
    log = path / "LOG"
    if log_dir and os.path.realpath(log_dir) != str(path):
        log = Path(os.path.realpath(log_dir)) / (re.sub(r"[^A-Za-z0-9._-]", "_", str(path)[1:]) + "_LOG")
    if not log.is_file():
        raise NoDatabase(f"{path} has no LOG ({log}); a RocksDB database there is followed once it is there")
    return log


def _identity(path: Path, log: Path) -> str:
    """Read the IDENTITY file, or what the LOG says where RocksDB is told to write none."""
    try:
        if identity := text_or(path / "IDENTITY"):
            return identity
        with log.open("rb") as file:
            found = _DB_ID.search(file.read(_LOG_BEGINNING_BYTES))
    except OSError as error:
        raise NoDatabase(f"{log} cannot be read: {error.strerror}") from None
    if found is None:
        raise NoDatabase(f"{path} has no IDENTITY file; the database is followed once it is there")
    return found[1].decode("utf-8", "replace")
