"""Whom the daemon believes to speak for a token's holder: its own web process, and nobody who says the same words."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import Depends, FastAPI

from adocd.api import caller, problems, server
from adocd.api.caller import HOLDER_HEADER, WEB_HEADER, Caller
from tests.security.served import served
from tests.support.agent_client import UnixConnection
from tests.support.users import ALICE, GROUP, ROOT, somebody
from tests.support.waiting import PATIENCE_S

SECRET = "known to the web process alone"  # noqa: S105 - a test's
IT = {WEB_HEADER: SECRET}
FOR_ANN = IT | {HOLDER_HEADER: "ann"}


@pytest.fixture
def app() -> FastAPI:
    """Make routes that say who calls, and one that does not ask."""
    made = FastAPI(dependencies=[Depends(caller.from_web)])
    problems.install(made)
    caller.trust_web(made, SECRET)

    @made.put("/who")
    @made.get("/who")
    async def who(name: Caller) -> str:
        return name

    @made.delete("/quiet")
    async def quiet() -> str:
        return "done"

    return made


@pytest.fixture
def socket(app: FastAPI, shared: Path) -> Iterator[Path]:
    """Serve them."""
    with served(app, shared / "daemon.sock"):
        yield shared / "daemon.sock"


def ask(
    connection: http.client.HTTPConnection, headers: dict[str, str], method: str = "PUT", path: str = "/who"
) -> tuple[int, str]:
    with contextlib.closing(connection):
        connection.request(method, path, headers=headers, body=b"{}")
        answer = connection.getresponse()
        content = json.loads(answer.read())
        return answer.status, content if isinstance(content, str) else content["detail"]


def test_the_web_process_speaks_for_a_tokens_holder(socket: Path) -> None:
    assert ask(UnixConnection(socket, 5), FOR_ANN) == (200, "token ann")
    assert ask(UnixConnection(socket, 5), FOR_ANN, "DELETE", "/quiet") == (200, "done")


def test_for_nobody_it_only_reads(socket: Path) -> None:
    assert ask(UnixConnection(socket, 5), IT, "GET")[0] == 200
    for method, path in (("PUT", "/who"), ("DELETE", "/quiet")):
        status, detail = ask(UnixConnection(socket, 5), IT, method, path)
        assert (status, "only for a client with a token" in detail) == (403, True)


@pytest.mark.parametrize(
    "lies",
    [{HOLDER_HEADER: "ann"}, {WEB_HEADER: "x"}, {WEB_HEADER: ""}, {WEB_HEADER: "é", HOLDER_HEADER: "ann"}],
    ids=["no secret", "a wrong one", "an empty one", "another one"],
)
@pytest.mark.parametrize(("method", "path"), [("PUT", "/who"), ("GET", "/who"), ("DELETE", "/quiet")])
def test_words_alone_are_refused(socket: Path, lies: dict[str, str], method: str, path: str) -> None:
    """Not ignored: what is asked in another's name is not done in one's own."""
    status, detail = ask(UnixConnection(socket, 5), lies, method, path)
    assert (status, "for adocd's own web process" in detail) == (403, True)


@pytest.mark.skipif(not ROOT, reason="needs root to become somebody else")
def test_the_secret_in_other_hands_is_worth_nothing(socket: Path) -> None:
    with somebody(ALICE, [GROUP]):
        assert ask(UnixConnection(socket, 5), {})[0] == 200, "of the group"
        assert ask(UnixConnection(socket, 5), FOR_ANN)[0] == 403


def test_nor_by_tcp(app: FastAPI, base: Path) -> None:
    tcp = server.listen_loopback(0)
    number = tcp.getsockname()[1]
    with served(app, base / "daemon.sock", tcp):
        assert ask(http.client.HTTPConnection("127.0.0.1", number, timeout=PATIENCE_S), FOR_ANN)[0] == 403


def test_a_daemon_without_a_web_process_believes_nobody(base: Path) -> None:
    app = FastAPI(dependencies=[Depends(caller.from_web)])
    problems.install(app)

    @app.put("/who")
    async def who(name: Caller) -> str:
        return name

    with served(app, base / "daemon.sock"):
        for headers in (FOR_ANN, {WEB_HEADER: "None"}, {WEB_HEADER: ""}):
            assert ask(UnixConnection(base / "daemon.sock", 5), headers)[0] == 403
