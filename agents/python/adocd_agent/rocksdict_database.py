"""A RocksDB that the host opened with rocksdict, behind the interface adocd_agent.database.

Two facts shape this file. A call of rocksdict keeps the interpreter lock (README, "The interpreter lock"), so the agent
makes only cheap reads, and only when needed. And an Rdict that is dropped or closed flushes its column family's
memtable, so the agent never opens its own handles by get_column_family, and knows only the column families whose
handles the host gave it.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adocd_agent.capabilities import Capabilities
from adocd_agent.catalogue import DATABASE_OPTIONS_SHOWN, FAMILY_OPTIONS_SHOWN, ROCKSDICT
from adocd_agent.disk_space import lack_of_space
from adocd_agent.held import HeldObject
from adocd_agent.measurements import DEFAULT, Measurements, property_value
from adocd_agent.option_state import Name, OptionState
from adocd_agent.options_file import OptionsFile, OptionsReader
from adocd_agent.problems import DatabaseClosed, Mistake
from adocd_agent.thread_pools import ThreadPools

Json = Any
SETTLE_LOOK_S, SETTLED_LOOKS, SETTLE_WITHIN_S = 0.01, 5, 0.5
VERSION_TRIES = 10


class RocksdictDatabase:
    """See Database. `db` is the Rdict of the default column family, `options` the Options it was opened with."""

    catalogue = ROCKSDICT

    def __init__(self, db: Any, options: Any, column_families: Mapping[str, Any], pools: ThreadPools) -> None:
        self._lock = threading.RLock()
        self._held: dict[str, HeldObject] = {DEFAULT: HeldObject(db)}
        self._pools = pools
        self.path = os.path.realpath(db.path())
        self.db_identity = _read_identity(self.path)
        self.opened_monotonic_s = time.monotonic()
        self.writable = has_lock(self.path) and not _only_reads(db)
        self._file = OptionsReader(self.path)
        configured = self._file.read(fresh=True).database
        self._log_path = log_path(self.path, configured.get("db_log_dir") or self.path)
        self._wal_dir = os.path.realpath(configured.get("wal_dir") or self.path)
        self._measurements = Measurements(db, options)
        self._originals_of_pools = _settled(pools)
        for name, handle in column_families.items():
            self.add_column_family(name, handle)

    # --- the host's handles ---------------------------------------------------------------------------------

    def add_column_family(self, name: str, handle: Any) -> None:
        """Take the host's handle of another column family."""
        if name == DEFAULT:
            return
        if name not in self._file.read(fresh=True).column_families:
            raise Mistake(f"the database has no column family {name!r}")
        with self._lock:
            self._held[name] = HeldObject(handle)  # in place of the one of a family of that name that was dropped

    def is_known(self, name: str, handle: Any) -> bool:
        """Whether it is a handle of the column family that has this name here, and not of a newer one of that name.

        One whose handle the host has closed or dropped is known no more.
        """
        with self._lock:
            held = self._held.get(name)
            return name == DEFAULT or (held is not None and _are_of_one_family(held.thing, handle))

    def is_open(self) -> bool:
        """See Database."""
        held = self._held.get(DEFAULT)
        return held is not None and held.thing is not None and not _is_closed(held.thing)

    def _is_dropped(self) -> bool:
        """Whether the host uses the database no more; drops the handles of column families that it closed or dropped.

        Those that it dropped with the database stay, because the restore before the end needs them.
        """
        with self._lock:
            default = self._held.get(DEFAULT)
            if default is None or default.is_alone():
                return True
            for name, held in list(self._held.items()):
                if name != DEFAULT and (held.is_alone() or _is_closed(held.thing)):
                    self._held.pop(name).drop()
            return False

    @contextlib.contextmanager
    def _using(self) -> Iterator[Any]:
        """Lend the database's handle; any failure in a closed database becomes DatabaseClosed."""
        try:
            yield self._default()
        except Exception:
            if not self.is_open():
                raise DatabaseClosed from None
            raise

    def end(self, changed: Mapping[Name, str], originals: OptionState) -> None:
        """See Database; thread pools outlive the database."""
        for (scope, pool, _), written in changed.items():
            if scope == "thread_pool":
                with contextlib.suppress(Exception):  # whatever is short, the database must be let go
                    self._pools.give_back(pool, int(written), originals.thread_pools[pool])
        with self._lock:
            held = list(self._held.values())
            self._held.clear()
        for one in reversed(held):  # column families before the database
            one.drop()

    def abandon(self) -> None:
        """In the child of a fork; takes no lock, for another thread may have held it."""
        for held in list(self._held.values()):
            held.abandon()

    def _default(self) -> Any:
        held = self._held.get(DEFAULT)
        if held is None or held.thing is None:
            raise DatabaseClosed
        return held.thing

    def _handles(self) -> dict[str, Any]:
        """Return the handles in use; empty once the session has ended."""
        with self._lock:
            return {name: held.thing for name, held in self._held.items() if held.thing is not None}

    # --- what it says ---------------------------------------------------------------------------------------

    def narrow(self, capabilities: Capabilities) -> Capabilities:
        """See Database. A read-only or secondary instance, which shares a writer's directory, cannot be changed."""
        statistics = self._measurements.statistics
        if not self.writable:
            return Capabilities(events=capabilities.events, statistics=statistics)
        return Capabilities(
            column_family_options=capabilities.column_family_options,
            thread_pools=capabilities.thread_pools,
            events=capabilities.events,
            statistics=statistics,
        )

    def describe(self) -> dict[str, Json]:
        """See Database."""
        file = self._file.read()
        seen = self._handles()
        return {
            "log_path": self._log_path,
            "wal_dir": self._wal_dir,
            "added_options": {},
            "unseen_column_families": sorted(name for name in file.column_families if name not in seen),
        }

    def rocksdb_version(self) -> str:
        """Return RocksDB's version, which it writes into every OPTIONS file."""
        return self._file.read().rocksdb_version

    def read_options(self, *, fresh: bool = False) -> OptionState:
        """See Database."""
        file = self._file.read(fresh=fresh)
        families = {name: self._shown(file, name) for name in self._handles() if name in file.column_families}
        if not families:
            raise DatabaseClosed
        database = {name: file.database[name] for name in DATABASE_OPTIONS_SHOWN if name in file.database}
        pools = self._pools.sizes(fresh=fresh) if self.writable else {}
        return OptionState(families, database, None, pools)

    def _shown(self, file: OptionsFile, family: str) -> dict[str, str]:
        values = file.column_families[family]
        live = self.catalogue.column_family if self.writable else {}
        return {name: value for name, value in values.items() if name in live or name in FAMILY_OPTIONS_SHOWN}

    def originals_of_pools(self) -> dict[str, int]:
        """Return the sizes of the thread pools before any lease of this process."""
        return dict(self._originals_of_pools) if self.writable else {}

    def look(self) -> None:
        """See Database."""
        if self._is_dropped():
            raise DatabaseClosed
        with self._using() as db:
            self._measurements.look(db)

    def measure(self) -> dict[str, Json]:
        """See Database."""
        file = self._file.read()
        families = {name: handle for name, handle in self._handles().items() if name in file.column_families}
        with self._using() as db:
            return self._measurements.measure(db, families)

    def property_value(self, column_family: str, name: str) -> int | None:
        """See Database."""
        handle = self._handles().get(column_family)
        if handle is None or column_family not in self._file.read().column_families:
            return None
        return property_value(handle, name)

    def lack_of_space(self) -> str | None:
        """See Database."""
        return lack_of_space([self.path, os.path.dirname(self._log_path)])

    # --- changes --------------------------------------------------------------------------------------------

    def call(self, change: Json) -> str | None:
        """See Database."""
        if change["scope"] == "thread_pool":
            self._pools.set(change["pool"], change["threads"])
            return None
        handle = self._handles().get(change["column_family"])
        if handle is None:
            self._default()
            return f"Column family {change['column_family']!r} is gone."
        return self._set_options(handle, change["options"])

    def _set_options(self, handle: Any, options: dict[str, str]) -> str | None:
        try:
            handle.set_options(options)
        except Exception as error:  # rocksdict raises Exception itself, with RocksDB's words
            if not self.is_open():
                raise DatabaseClosed from None
            return str(error)
        return None


def _settled(pools: ThreadPools) -> dict[str, int]:
    """Read the sizes of the pools once no more threads end: a pool just shrunk by the host keeps some for a moment."""
    sizes, unchanged = pools.originals(), 0
    deadline_s = time.monotonic() + SETTLE_WITHIN_S
    while unchanged < SETTLED_LOOKS and time.monotonic() < deadline_s:
        time.sleep(SETTLE_LOOK_S)
        before, sizes = sizes, pools.originals()
        unchanged = unchanged + 1 if sizes == before else 0
    return sizes


def _only_reads(db: Any) -> bool:
    """Whether this is a read-only or secondary instance, beside one of the same process that writes and has the LOCK.

    RocksDB refuses to ingest no files at all before it does anything, and such an instance names another reason. It
    does not refuse SetOptions: that would write an OPTIONS file into the writer's directory.
    """
    try:
        db.ingest_external_file([])
    except Exception as error:  # rocksdict raises Exception itself, with RocksDB's words
        return "Not supported" in str(error)
    return False


def _are_of_one_family(one: Any, other: Any) -> bool:
    """Whether both handles show the same version: RocksDB numbers those of all column families by one counter."""
    try:
        for _ in range(VERSION_TRIES):
            before = _version(one)
            if _version(other) == before:
                return True
            if _version(one) == before:  # no flush or compaction made a new one between the readings
                return False
    except Exception:  # rocksdict raises Exception itself: one is closed
        return False
    return True  # a family that was dropped does not get new ones all the time


def _version(handle: Any) -> str:
    """Return the first line about a column family's table files, which has the number of its version."""
    return str(handle.property_value("rocksdb.sstables")).partition("\n")[0]


def _is_closed(handle: Any) -> bool:
    """Whether a handle was closed or is being closed; close is the only call in which rocksdict lets threads run."""
    try:
        handle.path()
    except Exception:  # DbClosedError; while it is being closed, RuntimeError: already mutably borrowed
        return True
    return False


def _read_identity(path: str) -> str:
    return Path(path, "IDENTITY").read_text(encoding="utf-8", errors="replace").strip()


def _open_files(proc: Path) -> list[str]:
    names = []
    for descriptor in (proc / "fd").iterdir():
        try:
            names.append(os.readlink(descriptor))
        except OSError:  # closed meanwhile
            continue
    return names


def has_lock(path: str, proc: Path = Path("/proc/self")) -> bool:
    """Whether this process has the database open for writing: only then does it keep the LOCK file open.

    Compares only names, because opening and closing the file here would release RocksDB's own lock on it (fcntl(2)).
    """
    return os.path.join(path, "LOCK") in _open_files(proc)


def log_path(path: str, log_dir: str, proc: Path = Path("/proc/self")) -> str:
    """Return where RocksDB writes its LOG. With db_log_dir, the file name contains the database's path.

    RocksDB builds that name from the path as the host wrote it, which is unknown here, but the open files show it.
    """
    log_dir = os.path.realpath(log_dir)
    if log_dir == path:
        return os.path.join(path, "LOG")
    found = [name for name in _open_files(proc) if os.path.dirname(name) == log_dir and name.endswith("_LOG")]
    return found[0] if len(found) == 1 else os.path.join(log_dir, path.strip("/").replace("/", "_") + "_LOG")
