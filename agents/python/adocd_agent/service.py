"""The admin protocol: answers requests about the sessions of one process (agents/admin-api.yaml)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from adocd_agent.capabilities import Capabilities
from adocd_agent.identity import database_id
from adocd_agent.problems import DatabaseClosed, Refusal, database_closed, shown
from adocd_agent.requests import change_request, lease_request
from adocd_agent.session import DatabaseSession

Json = Any
Answer = tuple[int, Json]
PROTOCOL = "1.8"
_EPOCH_DIGITS = 19
#: Longest wait for an event.
MOST_WAIT_MS = 10_000


class Service:
    """Answers requests. `info` is what /v1/info says besides the capabilities; `sessions` lists what is open."""

    def __init__(
        self,
        info: dict[str, Json],
        sessions: Callable[[], list[DatabaseSession]],
        capabilities: Callable[[], Capabilities],
    ) -> None:
        self._info = info
        self._sessions = sessions
        self._capabilities = capabilities

    def id_of(self, session: DatabaseSession) -> str:
        """Return the id under which a session's database is listed."""
        return database_id(self._info["host"], session.database.path, session.database.db_identity)

    def answer(self, method: str, target: str, data: bytes) -> Answer:
        """Answer one request; raises Refusal."""
        try:
            return self._answer(method, target, data)
        except DatabaseClosed:
            raise database_closed() from None

    def _answer(self, method: str, target: str, data: bytes) -> Answer:
        path, query = _split(target)
        parts = path.split("/")[1:]
        if parts == ["v1", "info"]:
            _allow(method, "GET")
            return 200, {**self._info, "capabilities": self._capabilities().as_json()}
        if parts == ["v1", "databases"]:
            _allow(method, "GET")
            return 200, {"databases": self._list()}
        if parts[:2] != ["v1", "databases"] or len(parts) > 4 or "" in parts[2:]:
            raise Refusal(404, "not_found", f"There is no {shown(path)} here; begin with /v1/info.")
        return self._answer_database(method, parts[2], parts[3] if len(parts) == 4 else "", query, data)

    def _list(self) -> list[Json]:
        listed: list[Json] = []
        for session in self._sessions():
            try:
                if not session.closed:
                    listed.append(session.describe(self.id_of(session), self._capabilities()))
            except DatabaseClosed:
                continue
        return listed

    def _answer_database(self, method: str, wanted_id: str, what: str, query: dict[str, str], data: bytes) -> Answer:
        methods = {"": "GET", "snapshot": "GET", "wait": "GET", "options": "PATCH", "lease": "PUT, DELETE"}
        if what not in methods:
            raise Refusal(404, "not_found", f"A database has no {shown(what)}.")
        _allow(method, methods[what])
        session = self._find(wanted_id)
        if what == "":
            described = session.describe(wanted_id, self._capabilities())
            return 200, {**described, "originals": session.originals_json()}
        if what == "snapshot":
            return 200, {"database": wanted_id, **session.snapshot(_cursor(query))}
        if what == "wait":
            return 200, {"event": session.wait(*self._awaited(session, query))}
        if what == "options":
            return 200, session.change(change_request(data), self._capabilities())
        if method == "PUT":
            body = lease_request(data)
            return 200, session.keeper.hold(body["holder"], body["ttl_s"], body["epoch"])
        return 202, _release(session, query)

    def _awaited(self, session: DatabaseSession, query: dict[str, str]) -> tuple[int, frozenset[str], float]:
        can = session.database.narrow(self._capabilities()).waits_for
        if not can:
            raise Refusal(422, "unsupported", "This agent cannot wait for events; ask for snapshots.")
        kinds = frozenset(query.get("for", "").split(","))
        for kind in sorted(kinds - set(can)):
            raise Refusal(400, "bad_request", f"for: {shown(kind)} is not one of {', '.join(can)}.")
        at_most_ms = _number(query.get("at_most_ms", ""), "at_most_ms")
        if at_most_ms > MOST_WAIT_MS:
            raise Refusal(400, "bad_request", f"at_most_ms is at most {MOST_WAIT_MS}.")
        return _number(query.get("events_after", ""), "events_after"), kinds, at_most_ms / 1000

    def _find(self, wanted_id: str) -> DatabaseSession:
        for session in self._sessions():
            if self.id_of(session) == wanted_id and not session.closed:
                return session
        raise Refusal(404, "no_such_database", f"No open database has the id {shown(wanted_id)}.")


def _split(target: str) -> tuple[str, dict[str, str]]:
    try:
        url = urlsplit(target if not target.startswith("//") else f"/.{target}")  # "//x" is a path here, no host
        values = parse_qs(url.query, keep_blank_values=True, max_num_fields=100)
    except ValueError as error:
        raise Refusal(400, "bad_request", f"The request target is not a path with a query: {error}.") from None
    return unquote(url.path), {name: found[-1] for name, found in values.items()}


def _allow(method: str, allowed: str) -> None:
    if method not in allowed.split(", "):
        raise Refusal(405, "method_not_allowed", f"{shown(method)} is not possible here; use {allowed}.")


def _number(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _EPOCH_DIGITS):
        raise Refusal(400, "bad_request", f"{name} is a whole number, 0 or greater.")
    return int(text)


def _cursor(query: dict[str, str]) -> int | None:
    after = query.get("events_after")
    return None if after is None else _number(after, "events_after")


def _release(session: DatabaseSession, query: dict[str, str]) -> Json:
    flags = {"restore": query.get("restore", "true"), "force": query.get("force", "false")}
    for name, value in flags.items():
        if value not in ("true", "false"):
            raise Refusal(400, "bad_request", f"{name} is true or false.")
    epoch = query.get("epoch")
    return session.keeper.release(
        query.get("holder"),
        None if epoch is None else _number(epoch, "epoch"),
        restore=flags["restore"] == "true",
        force=flags["force"] == "true",
    )
