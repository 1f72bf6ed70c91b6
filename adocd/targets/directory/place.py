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
from adocd.probes.lock_holder import LockHolder, lock_holder, open_files
from adocd.probes.options_file import OptionsFile, newest_of
from adocd.targets.errors import TargetError
from adocd.targets.names import not_utf8

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
        #: A process, and the LOGs that it has open: to go through all its files takes a while.
        self._opened: tuple[LockHolder, list[Path]] | None = None
        self._log_status: tuple[int, int] | None = None
        self._written_from_s: float | None = None
        self._written_to_s = 0.0

    def look(self) -> Place:
        """Return what is there now. Raises NoDatabase, with one sentence, if there is no database."""
        path = Path(os.path.realpath(self._path))
        if (why := not_utf8(path)) is not None:
            raise NoDatabase(why)
        try:
            database = self._options_in(path)
            holder = self._holder(path / "LOCK")
            log = self._log_path(path, database.get("db_log_dir", ""), holder)
        except (FileNotFoundError, NotADirectoryError):
            raise NoDatabase(f"{self._path} is no directory; a database there is followed once it is there") from None
        except OSError as error:
            raise NoDatabase(
                f"{path} cannot be looked into: {error.strerror}; adocd's user must be able to enter it and to read "
                "LOG, OPTIONS-* and IDENTITY there (docs/attach.md)"
            ) from None
        identity = _identity(path, log)
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

    def _log_path(self, path: Path, log_dir: str, holder: LockHolder | None) -> Path:
        """Return the LOG's path.

        In a separate log directory its name has the database's path as the program wrote it: perhaps as it was
        configured here, or the canonical one, or with a slash at the end. A LOG that the program has open comes first.
        Of a relative path RocksDB takes the working directory alone (env/fs_posix.cc, GetAbsolutePath), which is most
        often a directory above the database.
        """
        directory = Path(os.path.realpath(log_dir)) if log_dir else path
        named, opened = [path / "LOG"], list[Path]()
        if directory != path:
            written = [f"{each}{slash}" for each in (path, self._path.absolute()) for slash in ("", "/")]
            named = [directory / _log_name(each) for each in dict.fromkeys(written)]
            opened = self._opened_logs(directory, holder)
        there = [log for log in named if log.is_file()]
        if directory != path and not there and not opened:
            above = [log for log in (directory / _log_name(str(each)) for each in path.parents) if log.is_file()]
            there = above if len(above) == 1 else []
        found = [log for log in there if log in opened] or (opened if len(opened) == 1 else there)
        if not found:
            raise NoDatabase(f"{path} has no LOG ({named[0]}); a RocksDB database there is followed once it is there")
        return found[0]

    def _opened_logs(self, directory: Path, holder: LockHolder | None) -> list[Path]:
        """Return the LOGs there that the process has open, by whichever path it came to its databases."""
        if holder is None:
            return []
        known = self._opened
        if known is None or known[0] != holder or not all(log.is_file() for log in known[1]):
            logs = [file for file in open_files(holder, self._proc) if _is_log(file, directory)]
            self._opened = (holder, logs) if logs else None
            return logs
        return known[1]

    def _holder(self, lock: Path) -> LockHolder | None:
        now_s = self._clock()
        searches = self._searched_s is None or now_s - self._searched_s >= _SEARCH_PERIOD_S
        if searches and os.path.exists(lock):
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


def _log_name(path: str) -> str:
    """Return the LOG's name in a separate log directory (file/filename.cc, GetInfoLogPrefix)."""
    return os.fsdecode(re.sub(rb"[^A-Za-z0-9._-]", b"_", os.fsencode(path).removeprefix(b"/"))) + "_LOG"


def _is_log(file: Path, directory: Path) -> bool:
    return file.parent == directory and file.name.endswith("_LOG") and file.is_file()


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
