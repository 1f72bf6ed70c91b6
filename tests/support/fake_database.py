"""A scriptable database for the fake agent: tests set what it measures and how its changes go wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adocd_agent.capabilities import Capabilities
from adocd_agent.keeper import LeaseKeeper
from adocd_agent.option_state import Name, OptionState, wanted
from adocd_agent.problems import DatabaseClosed
from adocd_agent.session import DatabaseSession

from tests.support.fake_jobs import Jobs
from tests.support.fake_measurements import Measurements
from tests.support.fake_options import CATALOGUE, DATABASE_OPTIONS, defaults, family_defaults, refusal_of_rocksdb

Json = Any
_SESSIONS = itertools.count(1)


@dataclass(frozen=True)
class ScriptedFailure:
    """The next change of this scope returns `error`; `applied` says whether it took effect all the same."""

    scope: str
    error: str
    applied: bool = False


class FakeDatabase:
    """One database of a fake agent.

    A test reads and writes its state at any time from any thread:

    - `measurements`: counters, properties, tickers, the stall condition (reset by every open);
    - `set_option`: somebody else (the host, an operator with ldb) changes an option behind the agent's back;
    - `latency_s[scope]`: how long a change of this scope takes ("column_family", "database", "rate_limiter",
      "thread_pool"); `hold_changes()` makes changes wait until the block ends, for tests that need no clock;
    - `fail_next`: the next change returns an error, whether or not it was applied (HAZARDS 3);
    - `revert_after_s[option]`: the option is applied, reads back, and falls back later, which then shows;
    - `lacking`: why a change of options would find no room on the file system;
    - `jobs`: flushes and compactions that begin and end when told, and revert what is in force but not what is shown
      (HAZARDS 2);
    - `session`: the session of the agent's protocol layer, new with every open;
    - `before_step`: called with the number of each step of a PATCH before it is executed;
    - `executed`: every change that reached "RocksDB", in order, whoever sent it;
    - `sampling`: cleared, the sampling thread is stuck: snapshots are old and say so by `age_s`.
    """

    catalogue = CATALOGUE

    def __init__(
        self,
        path: str | Path = "/var/lib/fake/db",
        *,
        db_identity: str | None = None,
        column_families: Iterable[str] = ("default",),
        options: Mapping[str, str] | None = None,
        database_options: Mapping[str, str] | None = None,
        rate_limiter_bytes_per_s: int | None = None,
    ) -> None:
        self.path = str(path)
        self.db_identity = db_identity or f"fake-identity-of-{self.path}"
        self._configured = OptionState(
            {name: family_defaults() | dict(options or {}) for name in column_families},
            defaults(DATABASE_OPTIONS) | dict(database_options or {}),
            rate_limiter_bytes_per_s,
            {"low": 1, "high": 1, "bottom": 0},
        )
        self.latency_s: dict[str, float] = {}
        self.revert_after_s: dict[str, float] = {}
        self.lacking: str | None = None
        self.before_step: Callable[[int, Json], None] | None = None
        self.executed: list[Json] = []
        self.sampling = threading.Event()
        self.sampling.set()
        self.lock = threading.RLock()
        self._failures: deque[ScriptedFailure] = deque()
        self._gate = threading.Event()
        self._gate.set()
        self._begin_session(self._configured.copy())

    def _begin_session(self, options: OptionState) -> None:
        self.opened_monotonic_s = time.monotonic()
        self.options = options
        #: The column families that the agent cannot see, with their live options.
        self._unseen: dict[str, dict[str, str]] = {}
        self.closed = threading.Event()
        self._reverts: list[tuple[float, Name, str]] = []
        self.session: DatabaseSession = FakeSession(self, f"session-{next(_SESSIONS)}")
        self.measurements = Measurements(self.session.events, list(options.column_families))
        self.jobs = Jobs(self.session.events, self.measurements, options)

    @property
    def keeper(self) -> LeaseKeeper:
        """The lease of the session."""
        return self.session.keeper

    @property
    def originals(self) -> OptionState:
        """The originals of the session."""
        return self.session.originals

    # --- what the host does -------------------------------------------------------------------------------

    def close(self) -> None:
        """Let the host close the database: the session ends, with its lease and its plan."""
        self.closed.set()
        self._gate.set()
        self.session.close()

    def reopen(self, *, keep_options: bool = False) -> None:
        """Begin a new session; `keep_options`: the host loads its OPTIONS file, tuned values too (HAZARDS 17)."""
        self.close()
        with self.lock:
            self._begin_session(self.options.copy() if keep_options else self._configured.copy())

    def add_column_family(self, name: str) -> None:
        """Let the host create a column family with default options."""
        with self.lock:
            for state in (self.options, self._configured):
                state.column_families[name] = family_defaults()
            self.measurements.add_column_family(name)

    def drop_column_family(self, name: str) -> None:
        """Let the host drop a column family."""
        with self.lock:
            for state in (self.options, self._configured):
                state.column_families.pop(name, None)
            self.measurements.drop_column_family(name)

    def lose_handle(self, name: str) -> None:
        """Let the program close its handle of a column family, so that the agent no longer sees it."""
        with self.lock:
            self._unseen[name] = self.options.column_families.pop(name)
            self.measurements.drop_column_family(name)

    def return_handle(self, name: str) -> None:
        """Let the program open a handle of that column family again: it has the options that it had."""
        with self.lock:
            self.options.column_families[name] = self._unseen.pop(name)
            same_id = self.measurements.ids[name]
            self.measurements.add_column_family(name)
            self.measurements.ids[name] = same_id

    # --- scripting ----------------------------------------------------------------------------------------

    def set_option(self, option: str, value: str, column_family: str | None = None) -> None:
        """Change an option as somebody else: of a column family when one is named, else of the database."""
        scope = "database" if column_family is None else "column_family"
        with self.lock:
            self.options.put((scope, column_family or "", option), value)

    def fail_next(self, scope: str, error: str, *, applied: bool = False) -> None:
        """Let the next change of this scope return an error."""
        self._failures.append(ScriptedFailure(scope, error, applied))

    @contextlib.contextmanager
    def hold_changes(self) -> Iterator[None]:
        """Let changes begin but not end before the block ends: a SetOptions caught in a stall."""
        self._gate.clear()
        try:
            yield
        finally:
            self._gate.set()

    # --- what the agent does (adocd_agent.database.OpenDatabase) ----------------------------------------------

    def is_open(self) -> bool:
        """See Database."""
        return not self.closed.is_set()

    def narrow(self, capabilities: Capabilities) -> Capabilities:
        """See Database."""
        limiter = capabilities.rate_limiter and self.options.rate_limiter_bytes_per_s is not None
        return dataclasses.replace(capabilities, rate_limiter=limiter)

    def describe(self) -> dict[str, Json]:
        """See Database."""
        return {
            "log_path": f"{self.path}/LOG",
            "wal_dir": self.path,
            "added_options": {},
            "unseen_column_families": sorted(self._unseen),
        }

    def read_options(self, *, fresh: bool = False) -> OptionState:  # noqa: ARG002 (always is)
        """See Database; the silent reverts that are due happen first."""
        with self.lock:
            for due_s, name, value in list(self._reverts):
                if time.monotonic() >= due_s:
                    self._reverts.remove((due_s, name, value))
                    self.options.put(name, value)
            return self.options.copy()

    def look(self) -> None:
        """See Database."""

    def measure(self) -> dict[str, Json]:
        """See Database."""
        while not self.sampling.wait(0.02):
            if self.closed.is_set():
                raise DatabaseClosed
        with self.lock:
            measured: dict[str, Json] = self.measurements.as_json()
            return measured

    def property_value(self, column_family: str, name: str) -> int | None:
        """See Database."""
        return self.measurements.column_families.get(column_family, {}).get(name)

    def lack_of_space(self) -> str | None:
        """See Database."""
        return self.lacking

    def call(self, change: Json) -> str | None:
        """Make one call into "RocksDB", with the latency and the failures that the test scripted."""
        targets = wanted(change)
        error = self._call(change["scope"], targets)
        self.executed.append(change)
        return error

    def end(self, changed: Mapping[Name, str], originals: OptionState) -> None:
        """See Database."""

    def _call(self, scope: str, targets: Mapping[Name, str]) -> str | None:
        self.closed.wait(self.latency_s.get(scope, 0.0))
        self._gate.wait()
        if self.closed.is_set():
            return "Shutdown in progress: the database was closed"
        failure = next((planned for planned in self._failures if planned.scope == scope), None)
        if failure is not None:
            self._failures.remove(failure)
        with self.lock:
            missing = [name for name in targets if self.options.get(name) is None]
            if missing:
                return f"Invalid argument: {missing[0]} is gone"
            if (refusal := refusal_of_rocksdb({name[2]: value for name, value in targets.items()})) is not None:
                return refusal
            if failure is None or failure.applied:
                for name, value in targets.items():
                    if (after_s := self.revert_after_s.get(name[2])) is not None:
                        self._reverts.append((time.monotonic() + after_s, name, self.options.get(name) or ""))
                    self.options.put(name, value)
                if scope == "column_family":
                    self.jobs.options_set(next(iter(targets))[1])
        return None if failure is None else failure.error


class FakeSession(DatabaseSession):
    """A session in which a test can step in between two steps of a PATCH."""

    def _execute_one(self, number: int, change: Json, request: Json) -> list[Json]:
        database = self.database
        assert isinstance(database, FakeDatabase)
        if database.before_step is not None:
            database.before_step(number, change)
        return super()._execute_one(number, change, request)
