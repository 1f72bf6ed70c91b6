"""A database's directory on this host: which database it holds, where its LOG is, and whether it is open."""

import os
import platform
import re
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from adocd.probes.files import text_or
from adocd.probes.lock_holder import LockHolder, lock_holder
from adocd.probes.options_file import OptionsFile, newest_of
from adocd.targets.errors import TargetError

#: How often to search all processes for a lock holder missing from /proc/locks; slow on a large machine.
_SEARCH_PERIOD_S = 5.0
#: If no lock holder can be seen, a database whose LOG has not been written for this long counts as closed.
QUIET_S = 60.0
#: It counts as open when its LOG was written at two checks this far apart; a program may open and close it at once.
_WRITTEN_FOR_S = 1.0
_LOG_BEGINNING_BYTES = 1 << 20
_DB_ID = re.compile(rb"DB ID: *(\S+)")


class NoDatabase(TargetError):
    """There is no database in the directory yet; it is followed once there is."""


@dataclass(frozen=True, slots=True)
class Place:
    """What was found in a directory.

    `id` is computed as agents do (agents/admin-api.yaml, Database), so that an operator's settings apply with and
    without an agent. `holder` is None if nobody has the database open, or if the holder cannot be seen: then the
    database counts as open while its LOG is being written.
    """

    id: str
    path: Path
    db_identity: str
    log_path: Path
    wal_dir: Path
    holder: LockHolder | None
    is_open: bool

    @property
    def lock_path(self) -> Path:
        """The file that the process with the database open has locked."""
        return self.path / "LOCK"


class DirectoryPlace:
    """Checks one directory repeatedly; blocks on I/O."""

    def __init__(self, path: Path, *, proc: Path = Path("/proc"), clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._proc = proc
        self._clock = clock
        self._searched_s: float | None = None
        #: The directory's modification time, and the newest OPTIONS file's settings at that time.
        self._options: tuple[int, dict[str, str]] | None = None
        self._log_status: tuple[int, int] | None = None
        self._written_from_s: float | None = None
        self._written_to_s = 0.0

    def look(self) -> Place:
        """Return what is there now. Raises NoDatabase, with one sentence, if there is no database."""
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
        """Note that the database was closed, so that earlier LOG writes no longer count as a sign that it is open."""
        self._written_from_s = None

    def _options_in(self, path: Path) -> dict[str, str]:
        """Read the paths of LOG and WAL; RocksDB's defaults if there is no OPTIONS file."""
        # A single stat, because a database that is being recreated may be missing between two calls.
        status = path.stat()
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(str(path))
        changed_ns = status.st_mtime_ns
        if self._options is None or self._options[0] != changed_ns:
            found = newest_of(path)
            self._options = changed_ns, dict(found.database) if isinstance(found, OptionsFile) else {}
        return self._options[1]

    def _holder(self, lock: Path) -> LockHolder | None:
        now_s = self._clock()
        searches = self._searched_s is None or now_s - self._searched_s >= _SEARCH_PERIOD_S
        if searches:
            self._searched_s = now_s
        holder = lock_holder(lock, self._proc, search=searches)
        if holder is not None:
            self.closed()  # its writes say nothing about the next open
            self._log_status = None
        return holder

    def _is_written(self, log: Path) -> bool:
        try:
            status, now_s = log.stat(), self._clock()
        except OSError:  # the LOG is being rotated
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
    """Hash host name, canonical path and DB identity as the agent protocol defines it: FNV-1a, 64 bits."""
    value = 0xCBF29CE484222325
    for byte in b"\0".join(part.encode("utf-8", "surrogateescape") for part in (host, path, db_identity)):
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return f"{value:016x}"


def _log_path(path: Path, log_dir: str) -> Path:
    """Return the LOG's path; in a separate log directory its name has the database's path (file/filename.cc)."""
    log = path / "LOG"
    if log_dir and os.path.realpath(log_dir) != str(path):
        log = Path(os.path.realpath(log_dir)) / (re.sub(r"[^A-Za-z0-9._-]", "_", str(path)[1:]) + "_LOG")
    if not log.is_file():
        raise NoDatabase(f"{path} has no LOG ({log}); a RocksDB database there is followed once it is there")
    return log


def _identity(path: Path, log: Path) -> str:
    """Read the IDENTITY file, or the identity in the LOG if RocksDB is set to write no such file."""
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
