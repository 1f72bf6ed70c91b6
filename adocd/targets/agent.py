"""Reaches a database through the agent in its process (agents/admin-api.yaml)."""

import contextlib
from collections.abc import Mapping, Set
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import from_json

from adocd.model.change import Change, RestoreStep, StepResult
from adocd.model.database import Database, DatabaseDetail, Info
from adocd.model.snapshot import Lease, OptionValues, Restore, Snapshot
from adocd.targets.errors import Closed, NotAnAgent, Refused, Silent, WrongVersion
from adocd.targets.http import UnixHttpConnection
from adocd.targets.protocol import MAJOR_VERSIONS
from adocd.targets.shared_connections import AgentConnections, SharedConnection

#: Longest wait for a read, which is served from the agent's cache and never waits for the database.
READ_TIMEOUT_S = 2.0
#: Longest that a change waits while none of the same process is answered, and a third of the longest that it waits at
#: all. Then the situation that it was decided for is over.
_CHANGE_PATIENCE_S = 1.0
#: Longest that one request waits for an event.
_WAIT_MOST_S = 10.0

T = TypeVar("T")


#: Rejects numbers such as 1e999: JSON has neither NaN nor infinity, so nothing computed from one could be shown.
#: pydantic applies it to a tuple and everything in it, but not to a dataclass.
_FINITE = ConfigDict(allow_inf_nan=False)
_INFO = TypeAdapter(Info)
_DATABASES = TypeAdapter(tuple[Database, ...], config=_FINITE)
_DETAIL = TypeAdapter(tuple[DatabaseDetail], config=_FINITE)
_SNAPSHOT = TypeAdapter(tuple[Snapshot], config=_FINITE)
_LEASE = TypeAdapter(tuple[Lease])
_RESTORE = TypeAdapter(Restore)
_STEPS = TypeAdapter(tuple[StepResult, ...])


def _parse(adapter: TypeAdapter[T], content: object, what: str) -> T:
    try:
        return adapter.validate_python(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise NotAnAgent(f"{what} is not what the admin protocol says: {where}: {first['msg']}") from None


class Agent:
    """One agent, in a process with any number of databases."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self._connection = UnixHttpConnection(socket)
        self._shared = AgentConnections(socket)
        self._met: tuple[int, Info] | None = None
        self._listed: tuple[tuple[int, bytes], tuple[Database, ...]] | None = None

    async def info(self) -> Info:
        """Read the agent's identity. Raises NotAnAgent or WrongVersion if adocd cannot talk to it."""
        content = await _call(self._connection, "GET", "/v1/info", timeout_s=READ_TIMEOUT_S)
        protocol = content.get("protocol")
        if not isinstance(protocol, str):
            raise NotAnAgent(f"{self.socket} answers, but not as an agent does: its /v1/info names no protocol")
        major = protocol.partition(".")[0]
        if not major.isdecimal() or int(major) not in MAJOR_VERSIONS:
            spoken = " and ".join(str(version) for version in MAJOR_VERSIONS)
            raise WrongVersion(
                f"the agent at {self.socket} speaks version {protocol} of the admin protocol and "
                f"this adocd {spoken}: install matching versions and restart the database's program"
            )
        info = _parse(_INFO, content, f"/v1/info of {self.socket}")
        return replace(info, pid_here=self._connection.peer_pid)

    async def databases(self) -> tuple[Database, ...]:
        """Read which databases are open in this process."""
        answer = await self._connection.request("GET", "/v1/databases", timeout_s=READ_TIMEOUT_S)
        # Parse only a changed answer: it is read twice a second, and is long and nearly always the same.
        if self._listed is None or self._listed[0] != answer:
            content = _content(answer, "GET", "/v1/databases")
            listed = _parse(_DATABASES, content.get("databases"), f"/v1/databases of {self.socket}")
            self._listed = (answer, listed)
        return self._listed[1]

    async def listing(self) -> tuple[Info, tuple[Database, ...]]:
        """Read the agent's identity and its open databases.

        Another process may have taken over the socket's name, but never an open connection, so on the same connection
        the identity read before still holds. Raises like `info` and `databases`.
        """
        met = self._met
        while True:
            is_new = met is None or met[0] != self._connection.opened
            if met is None or is_new:
                info = await self.info()
                met = self._met = (self._connection.opened, info)
            databases = await self.databases()
            if databases and not met[1].rocksdb_version:  # the Python agent learns it from its first database
                met = self._met = (self._connection.opened, await self.info())
            # An agent that keeps no connection open gets both requests each time.
            if is_new or met[0] == self._connection.opened:
                return met[1], databases

    def target(self, database: Database) -> "AgentTarget":
        """Return a target for one of its databases."""
        return AgentTarget(self._shared, database.id)

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()


class AgentTarget:
    """One database of an agent. Reads, changes and waiting use separate connections: none waits for another."""

    def __init__(self, shared: AgentConnections, database_id: str) -> None:
        self._path = f"/v1/databases/{database_id}"
        self._options: OptionValues | None = None
        self._observer = shared.reads.user()
        self._changer = shared.changes.user()
        self._waiter = shared.waits.user()

    async def detail(self) -> DatabaseDetail:
        """Read identity, capabilities and original options."""
        content = await _call(self._observer, "GET", self._path, timeout_s=READ_TIMEOUT_S)
        return _parse(_DETAIL, (content,), self._path)[0]

    async def snapshot(self, events_after: int | None) -> Snapshot:
        """Read the newest snapshot, with the events after the number `events_after`."""
        query = None if events_after is None else {"events_after": events_after}
        options = self._options
        snapshot = await _read(self._observer, _SNAPSHOT, f"{self._path}/snapshot", query=query)
        if options is not None and options == snapshot.options:
            return replace(snapshot, options=options)  # keeps what was computed from the equal options before
        self._options = snapshot.options
        return snapshot

    async def wait(self, events_after: int, kinds: Set[str], timeout_s: float) -> bool:
        """Wait for an event of these kinds; return whether one came in time. Needs protocol version 1.5.

        Returns False at once while as many databases of this agent wait as may: the next cycle sees what happened.
        """
        if self._waiter.is_full:
            return False
        left_s = timeout_s
        while left_s > 0:
            part_s = min(left_s, _WAIT_MOST_S)
            query = {"events_after": events_after, "for": ",".join(sorted(kinds)), "at_most_ms": int(part_s * 1000)}
            patience_s = part_s + READ_TIMEOUT_S
            content = await _call(self._waiter, "GET", f"{self._path}/wait", query=query, timeout_s=patience_s)
            if content.get("event") is not None:
                return True
            left_s -= part_s
        return False

    async def hold_lease(self, holder: str, ttl_s: float, epoch: int | None) -> Lease:
        """Acquire (epoch None) or renew the lease."""
        body = {"holder": holder, "ttl_s": ttl_s} | ({} if epoch is None else {"epoch": epoch})
        return await _read(self._observer, _LEASE, f"{self._path}/lease", method="PUT", body=body)

    async def release_lease(self, holder: str, epoch: int) -> Restore:
        """Release the lease, which makes the agent restore the originals."""
        return await self._release({"holder": holder, "epoch": epoch})

    async def revoke_lease(self) -> Restore:
        """Revoke the lease, whoever holds it, which makes the agent restore the originals: the panic button."""
        return await self._release({"force": "true"})

    async def _release(self, query: Mapping[str, str | int]) -> Restore:
        content = await _call(self._observer, "DELETE", f"{self._path}/lease", query=query, timeout_s=READ_TIMEOUT_S)
        return _parse(_RESTORE, content, f"{self._path}/lease")

    async def change(
        self,
        holder: str,
        epoch: int,
        changes: tuple[Change, ...],
        restore_plan: tuple[RestoreStep, ...],
        *,
        repeat: bool = False,
        lift_rate_limit: bool = False,
    ) -> tuple[StepResult, ...]:
        """Execute changes in order, without a timeout: RocksDB may take long.

        `repeat` needs protocol version 1.1, `lift_rate_limit` the capability `lifts_rate_limit`.
        Raises Silent, and has sent nothing, when too many other databases of the process wait for their changes.
        """
        body: dict[str, object] = {
            "holder": holder,
            "epoch": epoch,
            "changes": [asdict(change) for change in changes],
            "restore_plan": [_step(step) for step in restore_plan],
        }
        if repeat:  # agents refuse unknown members
            body["repeat"] = True
        if lift_rate_limit:
            body["lift_rate_limit"] = True
        path = f"{self._path}/options"
        content = await _call(self._changer, "PATCH", path, body=body, timeout_s=None, patience_s=_CHANGE_PATIENCE_S)
        return _parse(_STEPS, content.get("steps"), path)

    async def close(self) -> None:
        """Stop using the connections; a request in progress raises Unreachable."""
        await self._observer.close()
        await self._changer.close()
        await self._waiter.close()


def _step(step: RestoreStep) -> dict[str, object]:
    content: dict[str, object] = {"change": asdict(step.change)}
    if step.when is not None:
        content["when"] = asdict(step.when)
    return content


async def _call(
    connection: UnixHttpConnection | SharedConnection, method: str, path: str, **request: Any
) -> dict[str, Any]:
    return _content(await connection.request(method, path, **request), method, path)


async def _read(connection: SharedConnection, adapter: TypeAdapter[tuple[T]], path: str, **request: Any) -> T:
    """Read a frequently polled resource, parsing a valid answer in one pass."""
    method = request.pop("method", "GET")
    status, body = await connection.request(method, path, timeout_s=READ_TIMEOUT_S, **request)
    if status < 400:
        with contextlib.suppress(ValidationError):
            return adapter.validate_json(b"[%b]" % body)[0]
    return _parse(adapter, (_content((status, body), method, path),), path)[0]


def _content(answer: tuple[int, bytes], method: str, path: str) -> dict[str, Any]:
    status, body = answer
    try:
        content = from_json(body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise NotAnAgent(f"{method} {path} was not answered with a JSON object, so this is no agent")
    if status < 400:
        return content
    code, detail = content.get("code"), content.get("detail")
    if not isinstance(code, str) or not isinstance(detail, str):
        raise NotAnAgent(f"{method} {path} was refused with {status}, and not as an agent does")
    if status in (408, 503):
        raise Silent(detail)
    if code in ("no_such_database", "database_closed"):
        raise Closed(status, code, detail)
    raise Refused(status, code, detail, content.get("holder"))
