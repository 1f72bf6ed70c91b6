"""attach, which a program calls, and what happens to it at fork and at the end of the process."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from adocd_agent.problems import Mistake
from adocd_agent.process_agent import ProcessAgent
from adocd_agent.rocksdict_database import RocksdictDatabase
from adocd_agent.run_dir import CannotListen
from adocd_agent.session import DatabaseSession

DETACH_WAIT_S = 10.0
"""How long a detach waits at most for the conditions of a restore plan, such as a level 0 that has to shrink first."""


class Attachment:
    """What `attach` returns. A context manager; leaving it detaches."""

    def __init__(self, session: DatabaseSession | None, socket_path: Path | None, error: str | None) -> None:
        self._session = session
        self.socket_path = socket_path
        """Where the agent listens; None when it does not."""
        self.error = error
        """Why the agent does not work, in one sentence; None when it does."""

    def __enter__(self) -> Attachment:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.detach()

    def add_column_family(self, name: str, handle: Any) -> None:
        """Let the agent use the program's own Rdict of another column family.

        Raises ValueError if the database has no such column family, TypeError if `handle` is not an Rdict.
        """
        _require_rdict(handle, "handle")
        session = self._session
        if session is not None and _agent_here() is not None and not session.closed:
            database = _database_of(session)
            if not database.is_known(name, handle):
                session.forget_column_family(name)
            database.add_column_family(name, handle)

    def detach(self, wait_s: float = DETACH_WAIT_S) -> None:
        """Restore what a lease changed, and release the database. Does nothing the second time, nor in a fork.

        The program may go on writing, so this waits for the conditions of the restore plan, but at most `wait_s`.

        Takes no lock that the caller may hold, because a destructor or a signal handler may call it at any time.
        """
        session, self._session = self._session, None
        agent = _agent_here()
        if session is None or agent is None:
            return
        if threading.current_thread().name.startswith(THREADS):  # a destructor that ran on a thread of ours
            apart = threading.Thread(target=agent.let_go, args=(session, wait_s), name=f"{THREADS}detach", daemon=True)
            try:
                apart.start()
            except RuntimeError:  # the process may start no more: a second detach, or the close, lets it go
                self._session = session
        else:
            agent.let_go(session, wait_s)


def attach(db: Any, options: Any = None, column_families: Mapping[str, Any] | None = None) -> Attachment:
    """Let adocd observe and tune a database that is open.

    `db` is the rocksdict.Rdict that opened it. `options` are the rocksdict.Options it was opened with, from which the
    agent reads the Statistics made by `enable_statistics`, or None. `column_families` are the program's own Rdict
    objects of other column families, by name; the agent neither changes nor measures column families not given here.

    Never raises for reasons of the environment: it then writes one line to stderr and returns an attachment with
    `error`. Raises TypeError and ValueError only for mistakes in the program.
    """
    rocksdict = _require_rdict(db, "db")
    families = dict(column_families or {})
    for name, handle in families.items():
        _require_rdict(handle, f"column_families[{name!r}]")
    if options is not None and not isinstance(options, rocksdict.Options):
        raise TypeError(f"options must be a rocksdict.Options or None, not {type(options).__name__}")
    try:
        db.path()
    except rocksdict.DbClosedError:
        raise ValueError("db is closed; attach it while it is open") from None
    if os.environ.get("ADOCD_AGENT") == "off":
        return Attachment(None, None, "switched off by ADOCD_AGENT=off")
    try:
        return _attach(db, options, families, rocksdict)
    except Mistake:
        raise
    except CannotListen as error:
        return _inactive(f"{error}.")
    except Exception as error:  # whatever it is, the program is to go on without the agent
        return _inactive(f"cannot start: {type(error).__name__}: {error}.")


def _attach(db: Any, options: Any, families: Mapping[str, Any], rocksdict: Any) -> Attachment:
    with _lock:
        agent = _agent_here()
        if agent is None:
            agent = ProcessAgent(rocksdict.Env)
            _agents[:] = [agent]
            _end_with_a_worker()
        session = agent.add(RocksdictDatabase(db, options, families, agent.pools))
        return Attachment(session, agent.socket_path, None)


def _agent_here() -> ProcessAgent | None:
    """Return this process's agent; None in the child of a fork, because its databases belong to the parent."""
    agent = next(iter(_agents), None)
    return agent if agent is not None and agent.pid == os.getpid() else None


def _database_of(session: DatabaseSession) -> RocksdictDatabase:
    database = session.database
    if not isinstance(database, RocksdictDatabase):
        raise TypeError("a session of another agent")
    return database


def _require_rdict(thing: Any, what: str) -> Any:
    """Return the module rocksdict, which a program that has an Rdict has imported."""
    rocksdict = sys.modules.get("rocksdict")
    if rocksdict is None or not isinstance(thing, rocksdict.Rdict):
        raise TypeError(f"{what} must be a rocksdict.Rdict, not {type(thing).__name__}")
    return rocksdict


def _inactive(error: str) -> Attachment:
    if error not in _complained:
        _complained.append(error)
        with contextlib.suppress(OSError, ValueError, AttributeError):  # stderr may be closed, or None
            sys.stderr.write(f"adocd agent: {error}\n")
    return Attachment(None, None, error)


THREADS = "adocd-"
"""Prefix of the names of all threads of the agent."""

# Reentrant, as every lock of the agent is that a destructor or a signal handler of the host's may come upon.
_lock = threading.RLock()
_agents: list[ProcessAgent] = []
"""None or one."""
_complained: list[str] = []


def _at_exit() -> None:
    agent = _agent_here()
    if agent is not None:
        with contextlib.suppress(Exception):  # whatever it is, the host is to end as it would have
            agent.stop()
    _agents.clear()


def _end_with_a_worker() -> None:
    """Let a worker of multiprocessing end the agent: such a process ends by os._exit, which skips atexit.

    Otherwise the agent's reference would keep a database of the worker's open to the end, and what only the memtable
    has would be lost.
    """
    process, util = (sys.modules.get(f"multiprocessing.{name}") for name in ("process", "util"))
    if process is not None and util is not None and process.parent_process() is not None:
        util.Finalize(None, _at_exit, exitpriority=0)


def _in_child() -> None:
    global _lock  # noqa: PLW0603 (another thread of the parent may have held it)
    _lock = threading.RLock()
    while _agents:
        _agents.pop().abandon()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_in_child)
