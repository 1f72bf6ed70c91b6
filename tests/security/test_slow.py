"""Requests that come too slowly, or whose answer nobody reads: at both agents, the daemon and its page, as they run."""

from __future__ import annotations

import contextlib
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.cli.harness import log_of, serving
from tests.security.conftest import KINDS, base_directory, hosts, run_directory
from tests.support.waiting import eventually

LIMIT_S = 10
"""What each server gives a client for a head, for a body and for reading an answer."""
#: What reads, and so needs no token here: anything else is refused by its head.
COMPARE = "POST /v1/targets/0/policy/difference"
PATIENCE_S = LIMIT_S / 2
"""Within this a well-behaved client is answered meanwhile, however busy the machine is: one that had to wait for the
slow ones would wait for their limit."""


@dataclass(frozen=True)
class Server:
    """Where a server listens, a path that it knows, one with a large answer, and what it waits for the body of."""

    name: str
    address: str | tuple[str, int]
    path: str
    large: str
    takes: str

    def connect(self) -> socket.socket:
        """Open a bare connection."""
        connection = socket.socket(socket.AF_UNIX if isinstance(self.address, str) else socket.AF_INET)
        connection.settimeout(5)
        try:
            eventually(lambda: self._connected(connection), what=f"{self.name} takes a connection")
        except BaseException:
            connection.close()
            raise
        return connection

    def _connected(self, connection: socket.socket) -> bool:
        try:
            connection.connect(self.address)
        except BlockingIOError:  # the queue of a Unix socket is full for a moment
            return False
        return True

    def ask(self) -> float:
        """Make a good request on a new connection; how long it took, in seconds."""
        began_s = time.monotonic()
        with self.connect() as connection:
            connection.sendall(f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 "), self.name
        return time.monotonic() - began_s


class Slow:
    """A client that sends what it has one byte a second, or stops in the middle, until it is cut off."""

    def __init__(self, server: Server, kind: str) -> None:
        self.name = f"{server.name}: {kind}"
        self._kind = kind
        self._connection = server.connect()
        head = f"{server.takes} HTTP/1.1\r\nHost: localhost\r\n"
        self._drops = kind.endswith("dripping")
        if kind.startswith("head"):
            self._connection.sendall(head.encode())
        elif kind.startswith("body"):
            self._connection.sendall(f"{head}Content-Length: 1000\r\n\r\n{{".encode())
        self._connection.setblocking(False)
        if kind == "deaf":
            request = f"GET {server.large} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            with contextlib.suppress(BlockingIOError):
                while True:
                    self._connection.send(request * 1000)
        self._began_s = time.monotonic()
        self.ended_s: float | None = None

    def look(self) -> None:
        """Send the next byte where it is one that drips, and see whether the server has had enough."""
        if self.ended_s is not None:
            return
        try:
            if self._drops:
                self._connection.send(b"x")
            if self._kind == "deaf":  # reading would make it no longer so
                self._connection.send(b"x")
                ended = False
            else:
                ended = self._connection.recv(65536) == b""
        except BlockingIOError:
            ended = False
        except OSError:
            ended = True
        if ended:
            self.ended_s = time.monotonic() - self._began_s

    def close(self) -> None:
        """Give up."""
        self._connection.close()


@pytest.fixture(scope="module")
def servers(request: pytest.FixtureRequest) -> Iterator[list[Server]]:
    """Start one of each."""
    with contextlib.ExitStack() as stack:
        base = stack.enter_context(base_directory())
        start = stack.enter_context(hosts(request.getfixturevalue, base, run_directory(base)))
        agents = [(kind, start(kind).open()) for kind in KINDS]
        run = base / "daemon"
        run.mkdir()
        stack.enter_context(serving(run, "--port", "0"))
        (port,) = eventually(lambda: re.findall(r"127\.0\.0\.1:(\d+)", log_of(run)), what="the port")
        page = Server("page", ("127.0.0.1", int(port)), "/healthz", "/openapi.json", COMPARE)
        eventually(lambda: _answers(page), what="the page answers")
        yield [
            *(Server(kind, str(host.socket), "/v1/info", "/v1/databases", "PUT /v1/info") for kind, host in agents),
            Server("daemon", str(run / "daemon.sock"), "/healthz", "/openapi.json", "PUT /healthz"),
            page,
        ]
        assert "Traceback" not in log_of(run)
        assert "Invalid HTTP" not in log_of(run)


def _answers(server: Server) -> bool:
    try:
        server.ask()
    except OSError:
        return False
    return True


def test_slow_clients_are_cut_off_and_delay_nobody(servers: list[Server]) -> None:
    kinds = ("head", "head dripping", "body", "body dripping", "deaf")
    with contextlib.ExitStack() as stack:
        slow = [Slow(server, kind) for server in servers for kind in kinds]
        for client in slow:
            stack.callback(client.close)
        began_s = time.monotonic()
        slowest = {server.name: 0.0 for server in servers}
        while any(client.ended_s is None for client in slow) and time.monotonic() < began_s + 3 * LIMIT_S:
            for client in slow:
                client.look()
            for server in servers:
                slowest[server.name] = max(slowest[server.name], server.ask())
            time.sleep(0.5)
        ends = {client.name: client.ended_s for client in slow}
        early_or_never = {name: s for name, s in ends.items() if s is None or s <= LIMIT_S - 2}
        assert not early_or_never, ends  # those that were cut off late had to wait for a processor
        assert max(slowest.values()) < PATIENCE_S, slowest


def test_clients_that_send_nothing_keep_nobody_out(servers: list[Server]) -> None:
    """More of them than there are places; and a kept connection in use is not among those that go."""
    with contextlib.ExitStack() as stack:
        for server in servers:
            for _ in range(150):
                stack.enter_context(server.connect())
        for server in servers:
            for _ in range(5):
                assert server.ask() < PATIENCE_S


def test_many_requests_at_once_are_answered_one_by_one(servers: list[Server]) -> None:
    """Pipelining: each is answered, and others are served meanwhile."""
    count = 300
    for server in servers:
        with server.connect() as connection:
            request = f"GET {server.path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
            connection.sendall(request * count)
            assert server.ask() < PATIENCE_S
            received = b""
            while received.count(b"HTTP/1.1 200 ") < count:
                chunk = connection.recv(1 << 20)
                assert chunk, f"{server.name}: closed after {received.count(b'HTTP/1.1 200 ')}"
                received += chunk
