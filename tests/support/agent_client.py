"""A tiny blocking client of the admin protocol: http.client over a Unix socket, every answer validated."""

from __future__ import annotations

import http.client
import json
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote, urlencode

from tests.support.contract import check_answer

Json = Any


class UnixConnection(http.client.HTTPConnection):
    """http.client on a Unix stream socket."""

    def __init__(self, path: Path | str, timeout_s: float) -> None:
        super().__init__("agent", timeout=timeout_s)
        self._path = str(path)

    def connect(self) -> None:
        """Connect to the socket's path instead of a host and port."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self._path)
        except BaseException:
            self.close()
            raise


@dataclass(frozen=True)
class Reply:
    """One answer of an agent, already held against the contract."""

    status: int
    headers: Mapping[str, str]
    body: Json

    def ok(self, status: int = 200) -> Json:
        """Return the body, when the status is the one expected."""
        assert self.status == status, f"expected {status}, got {self.status}: {self.body}"
        return self.body

    def refused(self, status: int, *codes: str) -> Json:
        """Return the problem, when it has this status and one of these codes (any, when none is named)."""
        assert self.status == status, f"expected {status} {codes}, got {self.status}: {self.body}"
        assert not codes or self.body["code"] in codes, f"expected {codes}, got {self.body}"
        return self.body


def parse_json(data: bytes) -> Json:
    """Strict JSON: no NaN, no Infinity, no repeated member."""

    def no_constant(word: str) -> Json:
        raise ValueError(f"{word} is not JSON")

    def no_repetition(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        result = dict(pairs)
        if len(result) != len(pairs):
            raise ValueError(f"repeated member among {[name for name, _ in pairs]}")
        return result

    return json.loads(data.decode("utf-8"), parse_constant=no_constant, object_pairs_hook=no_repetition)


def read_reply(method: str, target: str, response: http.client.HTTPResponse) -> Reply:
    """Read and validate one answer from a connection."""
    data = response.read()
    headers = {name.lower(): value for name, value in response.getheaders()}
    body = parse_json(data)
    check_answer(method, target, response.status, headers.get("content-type", ""), body)
    return Reply(response.status, headers, body)


class AgentClient:
    """Talks to one agent over one kept-alive connection, which is opened again when the agent closed it."""

    def __init__(self, socket_path: Path | str, timeout_s: float = 20.0) -> None:
        self.socket_path = Path(socket_path)
        self._connection = UnixConnection(socket_path, timeout_s)

    def __enter__(self) -> AgentClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def request(self, method: str, target: str, body: Json = None, *, raw: bytes | None = None) -> Reply:
        """One request; `body` travels as JSON, `raw` as it is."""
        data = raw if raw is not None else (None if body is None else json.dumps(body).encode())
        headers = {"Content-Type": "application/json"} if data is not None else {}
        fresh = self._connection.sock is None
        try:
            return self._once(method, target, data, headers)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):
            self._connection.close()
            if fresh or method == "PATCH":  # what may have been executed is not sent twice
                raise
        except BaseException:
            self._connection.close()
            raise
        return self._once(method, target, data, headers)

    def _once(self, method: str, target: str, data: bytes | None, headers: Mapping[str, str]) -> Reply:
        self._connection.request(method, target, body=data, headers=headers)
        with self._connection.getresponse() as response:
            return read_reply(method, target, response)

    def info(self) -> Json:
        """GET /v1/info."""
        return self.request("GET", "/v1/info").ok()

    def databases(self) -> list[Json]:
        """GET /v1/databases."""
        listed: list[Json] = self.request("GET", "/v1/databases").ok()["databases"]
        return listed

    def only_database(self) -> Json:
        """Return the one database that is open."""
        databases = self.databases()
        assert len(databases) == 1, databases
        return databases[0]

    def database(self, database_id: str) -> Json:
        """GET /v1/databases/{id}: one database with its originals."""
        return self.request("GET", f"/v1/databases/{database_id}").ok()

    def snapshot(self, database_id: str, events_after: int | None = None) -> Json:
        """GET .../snapshot."""
        query = "" if events_after is None else f"?events_after={events_after}"
        return self.request("GET", f"/v1/databases/{database_id}/snapshot{query}").ok()

    def fresh_snapshot(self, database_id: str, events_after: int | None = None) -> Json:
        """Return a snapshot that was taken after this call began: a cached one may show what was true before."""
        asked_s = time.monotonic()
        while True:
            snapshot = self.snapshot(database_id, events_after)
            if snapshot["monotonic_s"] >= asked_s:
                return snapshot
            assert time.monotonic() < asked_s + 10, f"no new snapshot in 10 s, the last is {snapshot['age_s']} s old"
            time.sleep(max(0.005, 0.05 - snapshot["age_s"]))  # until then everyone gets this one

    def put_lease(self, database_id: str, holder: str, ttl_s: float = 60.0, epoch: int | None = None) -> Reply:
        """PUT .../lease: acquire, or renew."""
        body: dict[str, Json] = {"holder": holder, "ttl_s": ttl_s}
        if epoch is not None:
            body["epoch"] = epoch
        return self.request("PUT", f"/v1/databases/{database_id}/lease", body)

    def acquire(self, database_id: str, holder: str = "tester", ttl_s: float = 60.0) -> int:
        """Take the lease and return its epoch."""
        epoch: int = self.put_lease(database_id, holder, ttl_s).ok()["epoch"]
        return epoch

    def delete_lease(self, database_id: str, **query: str | int | bool) -> Reply:
        """DELETE .../lease with holder, epoch, restore and force as given."""
        words = {name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in query.items()}
        suffix = f"?{urlencode(words, quote_via=quote)}" if words else ""
        return self.request("DELETE", f"/v1/databases/{database_id}/lease{suffix}")

    def change(
        self,
        database_id: str,
        epoch: int,
        changes: Sequence[Json],
        plan: Sequence[Json],
        holder: str = "tester",
        repeat: bool | None = None,
        lift_rate_limit: bool | None = None,
    ) -> Reply:
        """PATCH .../options; what is None is left out."""
        body: Json = {"holder": holder, "epoch": epoch, "changes": list(changes), "restore_plan": list(plan)}
        if repeat is not None:
            body["repeat"] = repeat
        if lift_rate_limit is not None:
            body["lift_rate_limit"] = lift_rate_limit
        return self.request("PATCH", f"/v1/databases/{database_id}/options", body)


def exchange(socket_path: Path | str, data: bytes, *, timeout_s: float = 10.0) -> bytes:
    """Send raw bytes, half-close, and return everything that comes back: for what no HTTP client would send."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout_s)
        connection.connect(str(socket_path))
        received = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # the agent may rightly close before it has read everything; its answer is still readable
        try:
            while chunk := connection.recv(65536):
                received += chunk
        except ConnectionResetError:
            pass
        return received
