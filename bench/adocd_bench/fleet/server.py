"""Serves simulated databases over the admin protocol on a Unix socket, with as little CPU as Python allows."""

import asyncio
import json
import os
import re
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from adocd_bench.fleet.database import CAPABILITIES, FleetDatabase
from adocd_bench.fleet.problems import SimulatedRefusal

_DATABASE = re.compile(r"/v1/databases/([0-9a-f]{16})(/snapshot|/options|/lease)?")
_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]+)", re.IGNORECASE)
_PROTOCOL = "1.3"
_STATUS = {200: b"OK", 202: b"Accepted"}


class FleetAgent:
    """The agent of one process."""

    def __init__(self, databases: Iterable[FleetDatabase], host: str) -> None:
        self._databases = {database.id: database for database in databases}
        self._info = {
            "protocol": _PROTOCOL,
            "agent": {"kind": "native", "version": "0.0.0+simulated"},
            "rocksdb_version": "7.8.3",
            "host": host,
            "pid": os.getpid(),
            "program": "simulated",
            "user": str(os.geteuid()),
            "capabilities": CAPABILITIES,
        }

    def answer(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        """Answer a request: status and JSON. Raises SimulatedRefusal."""
        path, _, query = target.partition("?")
        if found := _DATABASE.fullmatch(path):
            database = self._databases.get(found[1])
            if database is None:
                raise SimulatedRefusal(404, "no_such_database", f"No database {found[1]} is open here.")
            return _answer_of(database, method, found[2], query, body)
        if path not in ("/v1/info", "/v1/databases"):
            raise SimulatedRefusal(404, "not_found", f"There is no {path}.")
        if method != "GET":
            raise SimulatedRefusal(405, "method_not_allowed", f"{path} is only read.")
        if path == "/v1/info":
            return 200, _encoded(self._info)
        return 200, _encoded({"databases": [database.listed() for database in self._databases.values()]})


def _answer_of(database: FleetDatabase, method: str, what: str | None, query: str, body: bytes) -> tuple[int, bytes]:
    asked = dict(parse_qsl(query)) if query else {}
    now_s = asyncio.get_running_loop().time()  # CLOCK_MONOTONIC
    match method, what:
        case "GET", "/snapshot":
            after = asked.get("events_after")
            return 200, database.snapshot(None if after is None else int(after))
        case "GET", None:
            return 200, _encoded(database.detail())
        case "PUT", "/lease":
            return 200, _encoded(database.control.hold(_decoded(body), now_s))
        case "DELETE", "/lease":
            return 202, _encoded(database.control.release(asked, now_s))
        case "PATCH", "/options":
            return 200, _encoded(database.control.change(_decoded(body), now_s))
    raise SimulatedRefusal(405, "method_not_allowed", f"{method} is not possible here.")


def _encoded(value: object) -> bytes:
    return json.dumps(value).encode()


def _decoded(body: bytes) -> Any:
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise SimulatedRefusal(400, "bad_request", "The body is no JSON object.")
    return value


class _Connection(asyncio.Protocol):
    """One client: requests one after the other."""

    def __init__(self, agent: FleetAgent) -> None:
        self._agent = agent
        self._received = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - a stream's is
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            found = _LENGTH.search(self._received, 0, end)
            whole = end + 4 + (0 if found is None else int(found[1]))
            if len(self._received) < whole:
                return
            request, self._received = self._received[:whole], self._received[whole:]
            self._answer(request[: request.index(b"\r\n")], request[end + 4 :])

    def _answer(self, line: bytes, body: bytes) -> None:
        method, target, _ = line.decode("ascii", "replace").split(" ", 2)
        kind = b"application/json"
        try:
            status, content = self._agent.answer(method, target, body)
        except SimulatedRefusal as problem:
            status, content, kind = problem.status, problem.body, b"application/problem+json"
        if self._transport is not None:
            head = b"HTTP/1.1 %d %s\r\nContent-Type: %s\r\nCache-Control: no-store\r\nContent-Length: %d\r\n\r\n"
            self._transport.write(head % (status, _STATUS.get(status, b"Refused"), kind, len(content)) + content)


async def serve(agent: FleetAgent, directory: Path) -> None:
    """Serve at `agent-PID.sock` in the run directory until cancelled."""
    name = directory / f"agent-{os.getpid()}.sock"
    temporary = name.with_name(f".{name.name}")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(temporary))
    temporary.chmod(0o660)
    server = await asyncio.get_running_loop().create_unix_server(
        lambda: _Connection(agent), sock=listener, backlog=1024
    )
    temporary.rename(name)
    async with server:
        await server.serve_forever()
