"""What the suite needs of a process with an agent in it, and the kinds of agent that provide it.

A host opens one database under `directory` with KNOWN options and the column families asked for. To bring another
agent under the suite, write its host here and add it to KINDS.
"""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from tests.support.agent_client import AgentClient
from tests.support.fake_agent import FakeAgent
from tests.support.fake_database import FakeDatabase
from tests.support.waiting import eventually

KNOWN_FAMILY = {
    "write_buffer_size": "8388608",
    "max_write_buffer_number": "3",
    "level0_file_num_compaction_trigger": "4",
    "level0_slowdown_writes_trigger": "20",
    "level0_stop_writes_trigger": "36",
    "disable_auto_compactions": "false",
}
DECIDING = {
    "compaction_style": "kCompactionStyleLevel",
    "level_compaction_dynamic_level_bytes": None,
    "min_write_buffer_number_to_merge": "1",
    "num_levels": "7",
}
"""What decides what the others do, and cannot be changed; RocksDB 8.4 made dynamic level bytes the default."""
KNOWN_DATABASE = {"max_background_jobs": "3", "delayed_write_rate": "16777216"}
"""Options that every host opens its database with."""


class Host(Protocol):
    """A process with one database and an agent."""

    run_dir: Path
    socket_path: Path
    path: Path

    def write(self, keys: int, column_family: str = "default") -> None:
        """Write that many keys with values of 1,000 bytes, and return when they are written."""

    def flush(self, column_family: str = "default") -> None:
        """Flush the memtable, and return when it is flushed."""

    def start_load(self) -> None:
        """Write in the background until `stop_load`."""

    def stop_load(self) -> None:
        """End the background writes."""

    def close_database(self) -> None:
        """Close the database; the process lives on."""

    def open_database(self) -> None:
        """Open the database again, with the KNOWN options."""

    def create_column_family(self, name: str) -> None:
        """Create a column family in the open database."""

    def drop_column_family(self, name: str) -> None:
        """Drop a column family of the open database."""

    def is_alive(self) -> bool:
        """Tell whether the process still does what it is told, or was stopped by `stop`."""

    def stop(self) -> None:
        """End the process in an orderly way."""


class Load:
    """Writes in the background, again and again, from `start` to `stop`."""

    def __init__(self, write: Callable[[], None]) -> None:
        self._write = write
        self._writing = threading.Event()
        self._begun = threading.Event()
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None

    def start(self) -> None:
        """Begin; return when the first of it is written."""
        self._writing.set()
        self._begun.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        assert self._begun.wait(60), "the load wrote nothing"

    def stop(self) -> None:
        """End, if it was begun; raise what ended it before."""
        self._writing.clear()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self._error is not None:
            error, self._error = self._error, None
            raise error

    def _run(self) -> None:
        try:
            while self._writing.is_set():
                self._write()
                self._begun.set()
                time.sleep(0.001)
        except BaseException as error:  # a thread's exception would be lost
            self._error = error
            self._begun.set()


class FakeHost:
    """The fake agent under a host that only pretends to write."""

    def __init__(self, run_dir: Path, directory: Path, *, limiter: int | None, families: Sequence[str]) -> None:
        self.run_dir = run_dir
        self.path = directory
        self._database = FakeDatabase(
            directory,
            column_families=["default", *families],
            options=KNOWN_FAMILY,
            database_options=KNOWN_DATABASE,
            rate_limiter_bytes_per_s=limiter,
        )
        self._agent = FakeAgent(run_dir, [self._database])
        self._agent.start()
        self.socket_path = self._agent.socket_path
        self._load = Load(lambda: self.write(10))

    def write(self, keys: int, column_family: str = "default") -> None:
        """See Host."""
        self._database.measurements.write(keys, 1000, column_family)

    def flush(self, column_family: str = "default") -> None:
        """See Host; too many files in level 0 delay writes."""
        database = self._database
        database.measurements.flush(column_family)
        files = database.measurements.column_families[column_family]["rocksdb.num-files-at-level0"]
        if files >= int(database.options.column_families[column_family]["level0_slowdown_writes_trigger"]):
            database.measurements.stall("delayed", column_family, delayed_rate_bytes_per_s=1_000_000)

    def start_load(self) -> None:
        """See Host."""
        self._load.start()

    def stop_load(self) -> None:
        """See Host."""
        self._load.stop()

    def close_database(self) -> None:
        """See Host."""
        self._agent.remove(self._database)

    def open_database(self) -> None:
        """See Host."""
        self._database.reopen()
        self._agent.add(self._database)

    def create_column_family(self, name: str) -> None:
        """See Host."""
        self._database.add_column_family(name)

    def drop_column_family(self, name: str) -> None:
        """See Host."""
        self._database.drop_column_family(name)

    def is_alive(self) -> bool:
        """See Host."""
        return True

    def stop(self) -> None:
        """See Host."""
        self.stop_load()
        self._agent.close()


class Launch(Protocol):
    """Starts a host for one test."""

    def __call__(self, *, limiter: int | None = None, families: Sequence[str] = ()) -> Host:
        """Start a host whose database has a rate limiter and extra column families as asked."""


def wait_for_agent(socket_path: Path, directory: Path | None = None) -> None:
    """Wait until an agent listens and lists a database: this one and no other, if it is named."""

    def listed() -> bool:
        if not socket_path.exists():
            return False
        with AgentClient(socket_path) as client:
            found = [each["path"] for each in client.databases()]
        return bool(found) if directory is None else found == [str(directory.resolve())]

    eventually(listed, what=f"{directory or 'a database'} at {socket_path}")


HostFactory = Callable[[Path, Path, int | None, Sequence[str]], Host]


def fake(run_dir: Path, directory: Path, limiter: int | None, families: Sequence[str]) -> Host:
    """Start a fake host."""
    return FakeHost(run_dir, directory, limiter=limiter, families=families)


def remove(*directories: Path) -> None:
    """Remove what a host leaves behind."""
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)
