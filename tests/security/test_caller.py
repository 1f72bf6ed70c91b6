"""The daemon knows who calls, on the kernel's word, whatever the request says."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import pwd
from pathlib import Path

import pytest
from fastapi import FastAPI

from adocd.api import server
from adocd.api.caller import Caller
from tests.security.served import served
from tests.support.agent_client import UnixConnection
from tests.support.users import ALICE, GROUP, NOBODY, ROOT, as_user, others, somebody
from tests.support.waiting import PATIENCE_S

#: What a proxy would say, which nobody here is.
LIES = {"X-Forwarded-For": "root", "X-Forwarded-User": "root", "Forwarded": "for=root"}


@pytest.fixture
def app() -> FastAPI:
    """Make a route that says who calls."""
    made = FastAPI()

    @made.put("/who")
    @made.get("/who")
    async def who(caller: Caller) -> str:
        return caller

    return made


def ask(connection: http.client.HTTPConnection) -> str:
    with contextlib.closing(connection):
        connection.request("PUT", "/who", headers=LIES, body=b"{}")
        answer: str = json.loads(connection.getresponse().read())
        return answer


def name_of(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"


def test_every_user_by_the_name(app: FastAPI, base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORWARDED_ALLOW_IPS", "*")
    socket = base / "daemon.sock"
    tcp = server.listen_loopback(0)
    port = tcp.getsockname()[1]
    with served(app, socket, tcp):
        socket.chmod(0o666)
        for uid in others():
            with as_user(uid):
                assert ask(UnixConnection(socket, PATIENCE_S)) == name_of(uid)
        assert ask(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)) == "unknown"


def test_two_on_their_connections_at_once(app: FastAPI, base: Path) -> None:
    """Kept alive and taking turns: each request is its own connection's."""
    socket = base / "daemon.sock"
    with served(app, socket), contextlib.ExitStack() as stack:
        socket.chmod(0o666)
        connections = {}
        for uid in others():
            connections[uid] = stack.enter_context(contextlib.closing(UnixConnection(socket, PATIENCE_S)))
            with as_user(uid):
                connections[uid].connect()
        for _ in range(3):
            for uid, connection in connections.items():
                connection.request("GET", "/who")
                assert json.loads(connection.getresponse().read()) == name_of(uid)


@pytest.mark.skipif(not ROOT, reason="needs root to become somebody else")
def test_the_sockets_mode_decides_who_may_call(app: FastAPI, shared: Path) -> None:
    socket = shared / "daemon.sock"
    with served(app, socket):
        assert socket.stat().st_gid == GROUP
        with somebody(ALICE, [GROUP]):
            assert ask(UnixConnection(socket, PATIENCE_S)) == name_of(ALICE)
        shared.chmod(0o2775)
        with somebody(NOBODY), pytest.raises(PermissionError):
            ask(UnixConnection(socket, PATIENCE_S))
    assert os.listdir(shared) == ["daemon.lock"]
