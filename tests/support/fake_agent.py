"""An agent without RocksDB, for what a real database cannot be made to do on demand.

It is the Python agent's own protocol layer (agents/python) over a made-up database, and stands in for any agent in
the daemon's tests: a SetOptions that takes 12 s, another major protocol version, an agent that hangs or dies between
two steps, an option that silently reverts, a change by somebody else, an agent that lacks capabilities. It serves the
whole protocol on a real Unix socket, with a real lease, a real restore plan and real threads, and passes the same
conformance suite as the real agents (tests/conformance).

What it does not stand in for: RocksDB itself (nothing flushes or stalls unless the test says so), and time that
the host's writers lose.

    with FakeAgent(run_dir, databases=[FakeDatabase()]) as agent:
        agent.databases[0].measurements.stall("stopped")
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any

from adocd_agent.http_server import Server
from adocd_agent.problems import Refusal
from adocd_agent.requests import parse_body
from adocd_agent.run_dir import allowed_uids
from adocd_agent.sampler import Sampler
from adocd_agent.service import Service
from adocd_agent.session import DatabaseSession

from tests.support.fake_changes import FakeCapabilities
from tests.support.fake_database import FakeDatabase

Json = Any


class FakeAgent:
    """An agent on `run_dir/agent-<pid>.sock`.

    `requests` records (method, target, body) of everything that was asked; `intercept`, when set, may answer a
    request itself with (status, body), raise a Refusal, or return None to let the agent answer.
    """

    def __init__(
        self,
        run_dir: Path,
        databases: Iterable[FakeDatabase] = (),
        *,
        pid: int | None = None,
        protocol: str = "1.8",
        kind: str = "native",
        program: str = "fake",
        rocksdb_version: str = "7.8.3",
        host: str | None = None,
        capabilities: FakeCapabilities | None = None,
    ) -> None:
        self.pid = os.getpid() if pid is None else pid
        self.socket_path = run_dir / f"agent-{self.pid}.sock"
        self.databases = list(databases)
        self.protocol = protocol
        self.capabilities = FakeCapabilities() if capabilities is None else capabilities
        self.requests: list[tuple[str, str, Json]] = []
        self.intercept: Callable[[str, str, Json], tuple[int, Json] | None] | None = None
        self._running = threading.Event()
        self._running.set()
        info = {
            "protocol": protocol,
            "agent": {"kind": kind, "version": "0.0.0+fake"},
            "rocksdb_version": rocksdb_version,
            "host": socket.gethostname() if host is None else host,
            "pid": self.pid,
            "program": program,
            "user": "root" if os.geteuid() == 0 else str(os.geteuid()),
        }
        self._service = Service(info, self._sessions, lambda: self.capabilities)
        self._server: Server | None = None
        self._sampler: Sampler | None = None

    def __enter__(self) -> FakeAgent:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to listen, as any agent does: under a temporary name, moved into place once it listens."""
        temporary = self.socket_path.with_name(f".{self.socket_path.name}")
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(temporary))
        os.chmod(temporary, 0o660)
        listener.listen(128)
        self._sampler = Sampler(self._sessions, DatabaseSession.close)
        self._server = Server(listener, self._answer, allowed_uids())
        os.rename(temporary, self.socket_path)

    def close(self) -> None:
        """End the host in an orderly way: databases closed, socket removed."""
        if self._server is not None and not self._server.stopped:
            self.socket_path.unlink(missing_ok=True)
        self.die()

    def die(self) -> None:
        """Kill the host: connections break off wherever they are, the socket's name stays behind."""
        if self._server is not None:
            self._server.stop()
        self._running.set()
        for database in self.databases:
            database.close()
        if self._sampler is not None:
            self._sampler.stop()

    def die_before_step(self, number: int, database: FakeDatabase | None = None) -> None:
        """Die in the middle of the next PATCH, before its step `number` (0 is the first)."""

        def before_step(step: int, change: Json) -> None:
            if step == number:
                self.die()

        (database or self.databases[0]).before_step = before_step

    def hang(self) -> None:
        """Accept connections and read requests, and answer nothing."""
        self._running.clear()

    def resume(self) -> None:
        """Answer again, the waiting requests first."""
        self._running.set()

    # --- databases ----------------------------------------------------------------------------------------

    def add(self, database: FakeDatabase) -> FakeDatabase:
        """Let the host open one more database."""
        self.databases.append(database)
        return database

    def remove(self, database: FakeDatabase) -> None:
        """Let the host close a database."""
        self.databases.remove(database)
        database.close()

    def id_of(self, database: FakeDatabase) -> str:
        """Return the id under which this agent lists the database."""
        return self._service.id_of(database.session)

    def _sessions(self) -> list[DatabaseSession]:
        sessions: list[DatabaseSession] = []
        for database in list(self.databases):
            if self._sampler is not None:
                database.session.snapshots.wake = self._sampler.wake
            sessions.append(database.session)
        return sessions

    # --- the protocol -------------------------------------------------------------------------------------

    def _answer(self, method: str, target: str, data: bytes) -> tuple[int, Json]:
        self._running.wait()
        body: Json = None
        with contextlib.suppress(Refusal):
            body = parse_body(data)
        self.requests.append((method, target, body))
        if self.intercept is not None and (answer := self.intercept(method, target, body)) is not None:
            return answer
        return self._service.answer(method, target, data)
