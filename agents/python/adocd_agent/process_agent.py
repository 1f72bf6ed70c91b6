"""The agent of this process: one socket, one sampling thread, any number of databases."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import uuid
from collections.abc import Callable
from typing import Any

from adocd_agent.capabilities import Capabilities
from adocd_agent.catalogue import ROCKSDICT
from adocd_agent.http_server import Server
from adocd_agent.problems import Mistake
from adocd_agent.rocksdict_database import RocksdictDatabase
from adocd_agent.run_dir import allowed_uids, find_run_dir, listen, user_name
from adocd_agent.running_clock import RunningClock
from adocd_agent.sampler import Sampler
from adocd_agent.service import PROTOCOL, Service
from adocd_agent.session import DatabaseSession
from adocd_agent.thread_pools import POOLS, ThreadPools
from adocd_agent.version import __version__

Json = Any


class ProcessAgent:
    """Listens from the first database until the process ends. `env` makes rocksdict's Env."""

    def __init__(self, env: Callable[[], Any]) -> None:
        self.pid = os.getpid()
        self.pools = ThreadPools(env)
        self._lock = threading.RLock()
        self._sessions: dict[str, DatabaseSession] = {}
        self._lease_clock = RunningClock()
        listener, self.socket_path = listen(find_run_dir())
        self._info = _info()
        service = Service(self._info, self._listed, lambda: CAPABILITIES)
        self.id_of = service.id_of
        try:
            self._sampler = Sampler(self._listed, self.let_go, self._lease_clock)
            self._server = Server(listener, service.answer, allowed_uids())
        except RuntimeError:  # the process cannot start threads: nobody would answer
            listener.close()
            self.socket_path.unlink(missing_ok=True)
            raise

    def add(self, database: RocksdictDatabase) -> DatabaseSession:
        """Begin a session of a database; raises Mistake if it is already served."""
        session = DatabaseSession(database, uuid.uuid4().hex, lease_clock=self._lease_clock)
        session.originals.thread_pools.update(database.originals_of_pools())
        session.snapshots.wake = self._sampler.wake
        for other in self._listed():
            if other.closed:
                self.remove(other)
            elif self.id_of(other) == self.id_of(session):
                session.close()
                raise Mistake(f"the database {database.path} is attached already")
        self._info["rocksdb_version"] = database.rocksdb_version()
        with self._lock:
            self._sessions[session.name] = session
        return session

    def let_go(self, session: DatabaseSession, wait_s: float = 0.0) -> None:
        """Restore a database's options if it is open, and release it; no error here must reach the program.

        `wait_s` is how long the conditions of the restore plan may take.
        """
        with contextlib.suppress(Exception):  # closed meanwhile, or out of descriptors, memory or threads
            if not session.closed:
                session.keeper.restore_now(wait_s)
        with contextlib.suppress(Exception):
            self.remove(session)

    def remove(self, session: DatabaseSession) -> None:
        """End a session."""
        with self._lock:
            self._sessions.pop(session.name, None)
        session.close()

    def _listed(self) -> list[DatabaseSession]:
        with self._lock:
            return list(self._sessions.values())

    def stop(self) -> None:
        """At the end of the process: restore every database's options, release it, and remove the socket."""
        for session in self._listed():
            self.let_go(session)
        self._server.stop()
        self.socket_path.unlink(missing_ok=True)
        self._sampler.stop()

    def abandon(self) -> None:
        """In the child of a fork, where none of our threads is: forget everything, touch nothing of the parent's."""
        for session in list(self._sessions.values()):
            session.database.abandon()  # type: ignore[attr-defined]
        self._server.forget()


CAPABILITIES = Capabilities(
    column_family_options=tuple(ROCKSDICT.column_family),
    thread_pools=POOLS,
    events=("database",),
    statistics="all",
    responds_during_stall=False,
)
"""What this agent can do: no SetDBOptions and no limiter in rocksdict, no event listener, no interpreter in a stall."""


def _info() -> dict[str, Json]:
    program = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] not in ("", "-c", "-m") else ""
    return {
        "protocol": PROTOCOL,
        "agent": {"kind": "python", "version": __version__},
        "rocksdb_version": "",  # known from the first database on: rocksdict does not say
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "program": program or os.path.basename(sys.executable) or "python",
        "user": user_name(),
    }
