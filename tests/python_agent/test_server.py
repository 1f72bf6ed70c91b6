"""The server's limits: how many, how long, who."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from adocd_agent import http_message, http_server
from adocd_agent.http_server import MAX_CONNECTIONS, MAX_STRANGERS, Server
from adocd_agent.run_dir import listen
from adocd_agent.service import Answer

from tests.support.agent_client import exchange
from tests.support.waiting import PATIENCE_S, eventually

REQUEST = b"GET / HTTP/1.1\r\n\r\n"
Serve = Callable[..., Path]


def hello(method: str, target: str, body: bytes) -> Answer:
    return 200, {"hello": target}


@pytest.fixture
def serve(run_dir: Path) -> Iterator[Serve]:
    """Start servers that end with the test."""
    servers: list[Server] = []

    def start(handler: http_server.Handler = hello, allowed: frozenset[int] = frozenset({os.geteuid()})) -> Path:
        listener, path = listen(run_dir)
        servers.append(Server(listener, handler, allowed))
        return path

    yield start
    for server in servers:
        server.stop()


def connect(path: Path) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE_S)
    connection.connect(str(path))
    return connection


def ask(connection: socket.socket) -> bytes:
    connection.sendall(REQUEST)
    return connection.recv(4096)


def test_a_shortage_of_memory_is_nothing_that_the_host_hears_of(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """What leaves a thread goes to the host's threading.excepthook, and some hosts end there."""
    heard: list[object] = []
    monkeypatch.setattr(threading, "excepthook", heard.append)
    path = serve()

    def short(_stream: object) -> None:
        raise MemoryError

    with monkeypatch.context() as shortage:
        shortage.setattr(http_server, "read_request", short)
        with connect(path) as connection:
            assert ask(connection) == b"", "the connection ends"
    with connect(path) as connection:
        assert ask(connection).startswith(b"HTTP/1.1 200"), "and the next one is served"
    assert heard == []


def test_one_too_many_takes_the_place_of_the_longest_idle(serve: Serve) -> None:
    path = serve()
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(connect(path)) for _ in range(MAX_CONNECTIONS)]
        assert b"200 OK" in ask(connections[0])
        time.sleep(0.5)  # its thread says so some time after its answer has come
        for connection in connections[1:]:
            assert b"200 OK" in ask(connection)
        assert b"200 OK" in ask(stack.enter_context(connect(path)))
        assert connections[0].recv(1) == b"", "the first one has waited longest"
        assert b"200 OK" in ask(connections[1])


def test_when_all_are_busy_one_more_is_turned_away(serve: Serve) -> None:
    busy, release = threading.Semaphore(0), threading.Event()

    def slow(method: str, target: str, body: bytes) -> Answer:
        busy.release()
        release.wait(20)
        return 200, {}

    path = serve(slow)
    with contextlib.ExitStack() as stack:
        try:
            for _ in range(MAX_CONNECTIONS):
                stack.enter_context(connect(path)).sendall(REQUEST)
                assert busy.acquire(timeout=PATIENCE_S)
            assert b"503" in exchange(path, b"")
        finally:
            release.set()
    eventually(lambda: b"200 OK" in exchange(path, REQUEST), what="a place to be free again")


def test_a_request_has_to_come_within_its_time(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_message, "TRANSFER_S", 0.3)
    monkeypatch.setattr(http_server, "IDLE_S", 0.3)
    path = serve()
    for beginning in (b"", b"GET / HT", b"PUT / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"):
        with connect(path) as connection:
            connection.sendall(beginning)
            assert connection.recv(1) == b"", beginning


def test_strangers_are_refused(serve: Serve) -> None:
    answer = exchange(serve(allowed=frozenset()), REQUEST)
    assert b"403 Forbidden" in answer
    assert b"ADOCD_ALLOW_UIDS" in answer


def test_strangers_are_told_at_once_and_few_at_a_time(serve: Serve) -> None:
    path = serve(allowed=frozenset())
    before = threading.active_count()
    with contextlib.ExitStack() as stack:
        strangers = [stack.enter_context(connect(path)) for _ in range(20)]
        assert threading.active_count() <= before + MAX_STRANGERS
        answers = [stranger.recv(4096) for stranger in strangers]
    assert [b"403 Forbidden" in answer for answer in answers[:MAX_STRANGERS]] == [True] * MAX_STRANGERS
    assert set(answers[MAX_STRANGERS:]) == {b""}, "and the others without a word"
    eventually(lambda: b"403 Forbidden" in exchange(path, REQUEST), what="a place for the next stranger")


def test_a_mistake_of_ours_is_an_answer(serve: Serve) -> None:
    def broken(method: str, target: str, body: bytes) -> Answer:
        raise KeyError("oops")

    assert b"500 Internal" in exchange(serve(broken), REQUEST)


def test_expect_100_continue(serve: Serve) -> None:
    with connect(serve()) as connection:
        connection.sendall(b"PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
        assert connection.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert b"200 OK" in connection.recv(4096)


@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/1.1\r\nConnection: close"])
def test_a_connection_that_is_not_kept(serve: Serve, version: bytes) -> None:
    with connect(serve()) as connection:
        connection.sendall(b"GET / " + version + b"\r\n\r\n")
        answer = b""
        while chunk := connection.recv(4096):
            answer += chunk
    assert b"Connection: close" in answer


@pytest.mark.parametrize("fails", ["_allows", "_start"])
def test_a_client_for_whom_there_is_no_memory_is_lost_and_the_next_is_served(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, fails: str
) -> None:
    real, left = getattr(Server, fails), 1

    def short_of_memory(self: Server, *arguments: object) -> bool:
        nonlocal left
        if left:
            left -= 1
            raise MemoryError
        return bool(real(self, *arguments))

    monkeypatch.setattr(Server, fails, short_of_memory)
    path = serve()
    with connect(path) as lost, connect(path) as next_one:
        assert lost.recv(1) == b"", "it is closed"
        assert b"200 OK" in ask(next_one)
