"""An agent without RocksDB, for what a real database cannot be made to do on demand.

It stands in for the native and the Python agent in the daemon's tests: a SetOptions that takes 12 s, another
major protocol version, an agent that hangs or dies between two steps, an option that silently reverts, a change
by somebody else, an agent that lacks capabilities. It serves the whole protocol on a real Unix socket, with a
real lease, a real restore plan and real threads; only the database is made up. It passes the same conformance
suite as the real agents (tests/conformance), which is why its answers can be trusted.

What it does not stand in for: RocksDB itself (nothing flushes or stalls unless the test says so), and time that
the host's writers lose.

    with FakeAgent(run_dir, databases=[FakeDatabase()]) as agent:
        agent.databases[0].measurements.stall("stopped")
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.fake_changes import FakeCapabilities, check_body, check_change, check_condition, check_plan
from tests.support.fake_database import FakeDatabase
from tests.support.fake_http import AgentServer, Refusal, parse_body
from tests.support.fake_options import database_id

Json = Any
SNAPSHOT_MAX_AGE_S = 0.05
SNAPSHOT_WAIT_S = 0.2


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
        protocol: str = "1.0",
        kind: str = "native",
        program: str = "fake",
        rocksdb_version: str = "7.8.3",
        host: str | None = None,
        capabilities: FakeCapabilities | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.pid = os.getpid() if pid is None else pid
        self.socket_path = run_dir / f"agent-{self.pid}.sock"
        self.databases = list(databases)
        self.protocol = protocol
        self.kind = kind
        self.program = program
        self.rocksdb_version = rocksdb_version
        self.host = socket.gethostname() if host is None else host
        self.capabilities = FakeCapabilities() if capabilities is None else capabilities
        self.requests: list[tuple[str, str, Json]] = []
        self.intercept: Callable[[str, str, Json], tuple[int, Json] | None] | None = None
        self._clock = clock
        self._snapshots: dict[str, Json] = {}
        self._server: AgentServer | None = None

    def __enter__(self) -> FakeAgent:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- life ---------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to listen."""
        self._server = AgentServer(self.socket_path, self._answer)

    def close(self) -> None:
        """End the host in an orderly way: databases closed, socket removed."""
        self._end(unlink=True)

    def die(self) -> None:
        """Kill the host: connections break off wherever they are, the socket's name stays behind."""
        self._end(unlink=False)

    def die_before_step(self, number: int, database: FakeDatabase | None = None) -> None:
        """Die in the middle of the next PATCH, before its step `number` (0 is the first)."""

        def before_step(step: int, change: Json) -> None:
            if step == number:
                self.die()

        (database or self.databases[0]).before_step = before_step

    def hang(self) -> None:
        """Accept connections and read requests, and answer nothing."""
        self._live().running.clear()

    def resume(self) -> None:
        """Answer again, the waiting requests first."""
        self._live().running.set()

    def _live(self) -> AgentServer:
        assert self._server is not None, "the fake agent is not started"
        return self._server

    def _end(self, *, unlink: bool) -> None:
        if self._server is not None:
            self._server.stop(unlink=unlink)
        for database in self.databases:
            database.close()

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
        return database_id(self.host, database.path, database.db_identity)

    # --- the protocol -------------------------------------------------------------------------------------

    def _answer(self, method: str, target: str, data: bytes) -> tuple[int, Json]:
        body: Json = None
        with contextlib.suppress(Refusal):
            body = parse_body(data)
        self.requests.append((method, target, body))
        if self.intercept is not None and (answer := self.intercept(method, target, body)) is not None:
            return answer
        url = urlsplit(target)
        query = {name: values[-1] for name, values in parse_qs(url.query, keep_blank_values=True).items()}
        match url.path.split("/")[1:]:
            case ["v1", "info"]:
                return self._route(method, {"GET": lambda: (200, self._info())})
            case ["v1", "databases"]:
                listed = [self._database(database) for database in list(self.databases)]
                return self._route(method, {"GET": lambda: (200, {"databases": listed})})
            case ["v1", "databases", wanted_id, *rest] if len(rest) <= 1 and rest != [""]:
                return self._answer_database(method, wanted_id, rest[0] if rest else "", query, data)
        raise Refusal(404, "not_found", f"There is no {url.path[:200]}; begin with /v1/info.")

    def _route(self, method: str, routes: dict[str, Callable[[], tuple[int, Json]]]) -> tuple[int, Json]:
        if method not in routes:
            raise Refusal(405, "method_not_allowed", f"{method} is not allowed here; use {', '.join(routes)}.")
        return routes[method]()

    def _answer_database(
        self, method: str, wanted_id: str, what: str, query: dict[str, str], data: bytes
    ) -> tuple[int, Json]:
        if what not in ("", "snapshot", "options", "lease"):
            raise Refusal(404, "not_found", f"A database has no {what[:100]!r}.")
        found = next((each for each in list(self.databases) if self.id_of(each) == wanted_id), None)
        if found is None:
            raise Refusal(404, "no_such_database", f"No open database has the id {wanted_id[:100]!r}.")
        database = found
        if what == "":
            return self._route(method, {"GET": lambda: (200, self._database(database, originals=True))})
        if what == "snapshot":
            return self._route(method, {"GET": lambda: (200, self._snapshot(database, query))})
        if what == "options":
            return self._route(method, {"PATCH": lambda: (200, self._change(database, parse_body(data)))})
        return self._route(
            method,
            {
                "PUT": lambda: (200, self._hold(database, parse_body(data))),
                "DELETE": lambda: (202, self._release(database, query)),
            },
        )

    def _info(self) -> Json:
        return {
            "protocol": self.protocol,
            "agent": {"kind": self.kind, "version": "0.0.0+fake"},
            "rocksdb_version": self.rocksdb_version,
            "host": self.host,
            "pid": self.pid,
            "program": self.program,
            "user": "root" if os.geteuid() == 0 else str(os.geteuid()),
            "capabilities": self.capabilities.as_json(),
        }

    def _database(self, database: FakeDatabase, *, originals: bool = False) -> Json:
        described = database.describe(self.id_of(database), self.capabilities)
        return described | ({"originals": database.originals.as_json()} if originals else {})

    def _snapshot(self, database: FakeDatabase, query: dict[str, str]) -> Json:
        after = query.get("events_after")
        if after is not None and not (after.isascii() and after.isdigit() and len(after) <= 19):
            raise Refusal(400, "bad_request", "events_after is a number, 0 or greater.")
        taken = self._snapshots.get(database.session)
        if taken is None or self._clock() - taken["monotonic_s"] > SNAPSHOT_MAX_AGE_S:
            can_sample = taken is None or database.sampling.wait(SNAPSHOT_WAIT_S)
            if taken is None or can_sample:
                taken = self._take(database, 1 if taken is None else taken["sequence"] + 1)
                self._snapshots[database.session] = taken
        fresh = {
            "age_s": self._clock() - taken["monotonic_s"],
            "lease": database.keeper.lease(),
            "restore": database.keeper.restore(),
            "change_in_flight": database.change_in_flight,
        }
        return taken | fresh | database.measurements.events_json(None if after is None else int(after))

    def _take(self, database: FakeDatabase, sequence: int) -> Json:
        database.settle()
        measured = database.measurements
        with database.lock:
            return {
                "database": self.id_of(database),
                "session": database.session,
                "sequence": sequence,
                "monotonic_s": self._clock(),
                "collect_s": 0.00002,
                "stall": measured.stall_json(),
                "counters": dict(measured.counters),
                "properties": dict(measured.properties),
                "tickers": None if measured.tickers is None else dict(measured.tickers),
                "options": database.options.as_json(),
                "column_families": measured.families_json(),
            }

    def _hold(self, database: FakeDatabase, body: Json) -> Json:
        check_body("LeaseRequest", body)
        return database.keeper.hold(body["holder"], body["ttl_s"], body.get("epoch"))

    def _release(self, database: FakeDatabase, query: dict[str, str]) -> Json:
        flags = {"restore": query.get("restore", "true"), "force": query.get("force", "false")}
        for name, value in flags.items():
            if value not in ("true", "false"):
                raise Refusal(400, "bad_request", f"{name} is true or false.")
        epoch = query.get("epoch")
        if epoch is not None and not (epoch.isascii() and epoch.lstrip("-").isdigit() and len(epoch) <= 19):
            raise Refusal(400, "bad_request", "epoch is a number.")
        return database.keeper.release(
            query.get("holder"),
            None if epoch is None else int(epoch),
            restore=flags["restore"] == "true",
            force=flags["force"] == "true",
        )

    def _change(self, database: FakeDatabase, body: Json) -> Json:
        check_body("ChangeRequest", body)
        changes, plan = body["changes"], body["restore_plan"]
        with database.executing:
            database.keeper.require(body["holder"], body["epoch"])
            with database.lock:
                for change in [*changes, *(step["change"] for step in plan)]:
                    check_change(change, database.options, self.capabilities)
                for step in plan:
                    check_condition(step, database.options)
                check_plan(plan, changes, database.must_restore())
            database.keeper.arm(plan)
            database.change_in_flight = True
            try:
                return {"steps": self._execute(database, body)}
            finally:
                database.change_in_flight = False

    def _execute(self, database: FakeDatabase, body: Json) -> list[Json]:
        steps: list[Json] = []
        for number, change in enumerate(body["changes"]):
            if database.before_step is not None:
                database.before_step(number, change)
            if self._live().closed:
                break  # the process is dead: nothing more is executed, nobody hears the answer
            if not database.keeper.holds(body["holder"], body["epoch"]):
                steps.append({"outcome": "error", "elapsed_s": 0.0, "error": "lease lost", "read_back": {}})
                break
            steps.append(database.execute(change))
            if steps[-1]["outcome"] == "error":
                break
        return steps
