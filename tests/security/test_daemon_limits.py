"""The daemon's own REST: what a request may be and how long it may take, and that a refusal is a problem like all."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import http.client
import json
import logging
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI

from adocd.api import limits, problems
from adocd.api.limits import MAX_HEAD_BYTES
from adocd.api.operations import OPERATIONS, most_body_bytes
from tests.security.served import served
from tests.support.agent_client import UnixConnection
from tests.support.waiting import PATIENCE_S, eventually

#: What takes the largest body that there is.
POLICY = "/v1/targets/3f2a/policy"
MOST_BYTES = most_body_bytes("PUT", POLICY)
GET = b"GET /big HTTP/1.1\r\nHost: a\r\n\r\n"
JSON = {"Content-Type": "application/json"}
Connect = Callable[[], socket.socket]


class Application:
    """Routes that show what reaches them."""

    def __init__(self) -> None:
        self.bodies: list[int] = []
        self.release = threading.Event()
        self.held = 0
        self.app = FastAPI()
        problems.install(self.app)
        self.app.add_middleware(limits.WholeBody)
        self._add_routes()

    def holds(self, count: int) -> bool:
        """Tell whether so many requests are being answered."""
        return self.held == count

    def _add_routes(self) -> None:
        @self.app.put(POLICY)
        @self.app.put("/small")
        async def body(content: list[str]) -> int:
            self.bodies.append(sum(len(word) for word in content))
            return len(self.bodies)

        @self.app.get("/big")
        async def big() -> str:
            return "x" * (1 << 20)

        @self.app.get("/held")
        async def held() -> int:
            self.held += 1
            await asyncio.to_thread(self.release.wait, 20)
            return self.held


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[Application, Path]]:
    """Serve one for all tests."""
    application = Application()
    with tempfile.TemporaryDirectory(prefix="adocd-") as directory:
        path = Path(directory) / "daemon.sock"
        with served(application.app, path):
            yield application, path


@pytest.fixture
def application(running: tuple[Application, Path]) -> Iterator[Application]:
    """Have it forget what it has seen."""
    chosen, _ = running
    chosen.bodies.clear()
    chosen.held = 0
    chosen.release.clear()
    yield chosen
    chosen.release.set()


@pytest.fixture
def path(running: tuple[Application, Path], application: Application) -> Path:
    """Name the socket."""
    return running[1]


@pytest.fixture
def connect(path: Path) -> Iterator[Connect]:
    """Open bare connections."""
    with contextlib.ExitStack() as stack:

        def connected() -> socket.socket:
            connection = stack.enter_context(socket.socket(socket.AF_UNIX))
            connection.settimeout(PATIENCE_S)
            connection.connect(str(path))
            return connection

        yield connected


def put(path: Path, body: Any, target: str = POLICY) -> tuple[int, Any, str | None]:
    """Put a body; status, content and media type of the answer."""
    with contextlib.closing(UnixConnection(path, 5)) as connection:
        connection.request("PUT", target, body, JSON)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()), answer.getheader("content-type")


def reply(connection: socket.socket, method: str = "GET") -> tuple[int, bytes, str | None]:
    """Read one answer from a bare connection."""
    answer = http.client.HTTPResponse(connection, method=method)
    answer.begin()
    return answer.status, answer.read(), answer.getheader("content-type")


def is_closed(connection: socket.socket) -> bool:
    """Tell whether the server has closed it."""
    connection.setblocking(False)
    try:
        return connection.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def words(size: int) -> bytes:
    """Make a JSON body of that size."""
    return json.dumps(["x" * (size - 4)]).encode()


def test_a_body_may_have_what_its_route_takes(path: Path, application: Application) -> None:
    assert put(path, words(MOST_BYTES))[0] == 200
    assert put(path, iter([words(MOST_BYTES)]))[0] == 200, "in chunks"
    assert application.bodies == [MOST_BYTES - 4] * 2
    least = most_body_bytes("PUT", "/small")
    assert least < MOST_BYTES
    assert put(path, words(least), "/small")[0] == 200
    assert put(path, words(least + 1), "/small")[0] == 413


def test_no_route_takes_more_than_a_few_kib() -> None:
    most = {operation.id: operation.body_bytes for operation in OPERATIONS.values()}
    assert max(most.values()) == MOST_BYTES == 64 << 10
    assert {name for name, size in most.items() if size == MOST_BYTES} == {
        "setPolicy",
        "setPolicies",
        "comparePolicy",
    }


@pytest.mark.parametrize("size", [MOST_BYTES + 1, 3 << 20])
def test_a_larger_one_is_refused_and_its_sender_told(path: Path, application: Application, size: int) -> None:
    body = words(size)
    pieces = [body[begin : begin + 65536] for begin in range(0, size, 65536)]
    for sent in (body, iter(pieces)):
        status, problem, media = put(path, sent)
        assert (status, media) == (413, "application/problem+json")
        assert problem["status"] == 413
        assert f"{MOST_BYTES} bytes" in problem["detail"]
    assert application.bodies == []


def test_a_head_is_bounded_however_it_comes(connect: Connect) -> None:
    """In one piece it would never be incomplete, which is all that uvicorn looks for."""
    for size, status in ((MAX_HEAD_BYTES // 2, 200), (3 * MAX_HEAD_BYTES, 400), (10 * MAX_HEAD_BYTES, 400)):
        connection = connect()
        connection.sendall(b"GET /big HTTP/1.1\r\nHost: a\r\nX: " + b"y" * size + b"\r\n\r\n")
        assert reply(connection)[0] == status, size


def test_the_announcement_is_enough(connect: Connect) -> None:
    sizes = (MOST_BYTES + 1, 1 << 40, 10**19)
    connections = [connect() for _ in sizes]
    for connection, size in zip(connections, sizes, strict=True):
        connection.sendall(f"PUT /small HTTP/1.1\r\nHost: a\r\nContent-Length: {size}\r\n\r\n".encode())
    for connection in connections:
        assert reply(connection)[0] == 413
    for connection in connections:
        eventually(functools.partial(is_closed, connection), what="the connection to be closed")


def test_who_asks_before_sending_is_told_not_to(connect: Connect) -> None:
    connection = connect()
    head = (
        "PUT /small HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
        "Content-Length: {}\r\n\r\n"
    )
    connection.sendall(head.format(9999999).encode())
    assert reply(connection)[0] == 413
    connection = connect()
    connection.sendall(head.format(5).encode())
    assert connection.recv(1 << 16).startswith(b"HTTP/1.1 100 ")
    connection.sendall(b'["x"]')
    assert reply(connection)[0] == 200


@pytest.mark.parametrize(
    "head",
    [
        b"no HTTP\r\n\r\n",
        b"PUT /small HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n",
        b"PUT /small HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"GET / HTTP/1.1\r\nX: " + b"y" * 100_000,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 20_000,
    ],
    ids=["garbage", "length", "chunk", "long header", "many headers"],
)
def test_what_is_no_request_is_a_problem_and_no_line_in_the_log(
    connect: Connect, caplog: pytest.LogCaptureFixture, head: bytes
) -> None:
    connection = connect()
    with caplog.at_level(logging.INFO), contextlib.suppress(BrokenPipeError):
        connection.sendall(head)
    status, content, media = reply(connection)
    assert (status, media) == (400, "application/problem+json")
    assert json.loads(content)["title"] == "Bad Request"
    assert caplog.records == []


def test_json_that_is_too_much_for_its_parser(path: Path) -> None:
    for body in (b"[" * MOST_BYTES, b"[" + b"9" * 60_000 + b"]", b"\xff" * 1000):
        assert put(path, body)[0] in (400, 422)


def test_no_other_protocol_is_spoken(connect: Connect) -> None:
    """A library for WebSocket that is installed by chance does not get round the limits."""
    connection = connect()
    connection.sendall(
        b"GET /big HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: eHh4eHh4eHh4eHh4eHh4eA==\r\n\r\n"
    )
    assert reply(connection)[0] == 200


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET / HT", b"PUT /small HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n[", GET + b"GET / HT"],
    ids=["nothing", "half a head", "half a body", "half a second head"],
)
def test_a_request_has_to_come_within_its_time(connect: Connect, monkeypatch: pytest.MonkeyPatch, sent: bytes) -> None:
    default_s = limits.TRANSFER_S
    monkeypatch.setattr(limits, "TRANSFER_S", 0.5)
    began_s = time.monotonic()
    connection = connect()
    connection.sendall(sent)
    if sent.startswith(GET):
        assert reply(connection)[0] == 200
    eventually(lambda: is_closed(connection), within_s=default_s - 1, what="the connection to be closed")
    assert time.monotonic() - began_s >= 0.45, "it has its time"


def test_an_answer_has_to_be_read_within_its_time(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    default_s = limits.TRANSFER_S
    monkeypatch.setattr(limits, "TRANSFER_S", 0.5)
    connection = connect()
    connection.sendall(GET)

    def is_cut_off() -> bool:
        try:
            connection.send(b"x")
        except OSError:
            return True
        return False

    eventually(is_cut_off, within_s=default_s - 1, every_s=0.1, what="the connection to be closed")


def test_an_answer_may_take_as_long_as_it_takes(
    connect: Connect, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restore waits for a stall to end."""
    monkeypatch.setattr(limits, "TRANSFER_S", 1.0)
    connection = connect()
    connection.sendall(b"GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
    time.sleep(2 * limits.TRANSFER_S)
    application.release.set()
    assert reply(connection)[0] == 200


def test_one_too_many_takes_the_place_of_who_waits_longest(
    connect: Connect, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_CONNECTIONS", 3)
    held = connect()
    held.sendall(b"GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
    eventually(lambda: application.held == 1, what="the first is being answered")
    waiting = [connect() for _ in range(2)]
    for number in range(2):
        another = connect()
        another.sendall(b"GET /held HTTP/1.1\r\nHost: a\r\n\r\n")
        eventually(functools.partial(application.holds, number + 2), what="it has a place")
        eventually(functools.partial(is_closed, waiting[number]), what="the one that has waited longest is closed")
    busy = connect()
    status, content, media = reply(busy)
    assert (status, media) == (503, "application/problem+json")
    assert "all 3 connections are busy" in json.loads(content)["detail"]
    application.release.set()
    assert reply(held)[0] == 200


def test_the_end_of_the_daemon_waits_for_nobody_long(
    base: Path, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    for patience in ("TRANSFER_S", "STREAM_STUCK_S"):
        monkeypatch.setattr(limits, patience, 600.0)
    with contextlib.ExitStack() as stack:
        with served(application.app, base / "daemon.sock"):
            for sent in (b"", b"GET / HT", GET, b"PUT /small HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n["):
                connection = stack.enter_context(socket.socket(socket.AF_UNIX))
                connection.connect(str(base / "daemon.sock"))
                connection.sendall(sent)
            began_s = time.monotonic()
        assert time.monotonic() - began_s < 600, "it waited until a client's time was over"
