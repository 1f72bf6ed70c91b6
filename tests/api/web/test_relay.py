"""Events through the TCP side: as they come, no faster than they are read, and not longer than they may be."""

from __future__ import annotations

import contextlib
import http.client
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from adocd.api.web.gate import Rules
from tests.api.web.gateway import PIECE, Gateway, gateways
from tests.support.waiting import always, eventually


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    """Serve one, whose streams begin with an event and go on for ever."""
    with gateways(tmp_path, Rules()) as (made,):
        yield made


def begun(client: http.client.HTTPConnection, headers: dict[str, str] | None = None) -> http.client.HTTPResponse:
    """Ask for events, and read the first."""
    client.request("GET", "/v1/events?kinds=sample", headers=headers or {})
    answer = client.getresponse()
    assert answer.status == 200
    assert answer.headers["Content-Type"].startswith("text/event-stream")
    assert answer.headers["Content-Length"] is None
    assert answer.read1(1 << 20).startswith(b"id: 1\nevent: sample\n")
    return answer


def test_an_event_comes_at_once_and_its_answer_goes_on(gateway: Gateway) -> None:
    with contextlib.closing(gateway.client()) as client:
        answer = begun(client, {"Last-Event-ID": "41"})
        for _ in range(3):
            assert answer.read(len(PIECE))
    assert gateway.daemon.seen == ["GET /v1/events?kinds=sample"]
    assert gateway.daemon.headers[0]["last-event-id"] == "41"
    assert gateway.daemon.holders == [None]


def test_its_end_at_the_daemon_is_its_end(gateway: Gateway) -> None:
    gateway.daemon.endless = False
    answer = gateway.call("GET", "/v1/events")
    assert answer.body == b"id: 1\nevent: sample\ndata: {}\n\n"


def test_head_opens_nothing_for_long(gateway: Gateway) -> None:
    answer = gateway.call("HEAD", "/v1/events")
    assert answer.status == 200
    assert gateway.daemon.seen == ["GET /v1/events"], "it opened one"
    eventually(lambda: gateway.daemon.open_streams == 0, what="the daemon's stream is closed")


def test_a_client_that_has_gone_is_not_fed(gateway: Gateway) -> None:
    with contextlib.closing(gateway.client()) as client:
        answer = begun(client)
        assert gateway.daemon.open_streams == 1
        answer.close()
    eventually(lambda: gateway.daemon.open_streams == 0, what="the daemon's stream is closed")


def test_a_slow_client_slows_the_daemon_and_costs_no_memory(gateway: Gateway) -> None:
    """What lies between is bounded by the buffers of four sockets; the daemon sees that it is slow, and says `lost`."""
    with contextlib.closing(gateway.client()) as client:
        client.connect()
        client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        answer = begun(client)

        def stands_still() -> bool:
            before = gateway.daemon.pieces
            always(lambda: True, for_s=0.3)
            return gateway.daemon.pieces == before

        eventually(stands_still, what="nobody reads, so nothing more is sent")
        held = gateway.daemon.pieces
        assert held * len(PIECE) < 64 << 20
        answer.read(len(PIECE) * (held + 2))
        assert gateway.daemon.pieces > held


def test_others_are_served_meanwhile(gateway: Gateway) -> None:
    """Streams have connections of their own, so that no number of them keeps a change from getting through."""
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            begun(stack.enter_context(contextlib.closing(gateway.client())))
        assert gateway.daemon.open_streams == 20
        for _ in range(20):
            assert gateway.call("GET", "/v1/targets").status == 200
    eventually(lambda: gateway.daemon.open_streams == 0, what="all are closed")


def test_a_revoked_token_ends_it(gateway: Gateway) -> None:
    secret, _ = gateway.tokens.make("short", "read", None, "root")
    with contextlib.closing(gateway.client()) as client:
        answer = begun(client, {"Authorization": f"Bearer {secret}"})
        assert gateway.daemon.holders == ["short"]
        gateway.tokens.revoke("short")
        while answer.read(1 << 20):
            pass
    eventually(lambda: gateway.daemon.open_streams == 0, what="the daemon's stream is closed")


def test_without_a_daemon_it_says_so(gateway: Gateway, tmp_path: Path) -> None:
    (tmp_path / "daemon.sock").rename(tmp_path / "away")
    try:
        answer = gateway.call("GET", "/v1/events")
        assert answer.status == 503
        assert b"nothing answers at" in answer.body
        assert answer.headers["content-type"] == "application/problem+json"
    finally:
        (tmp_path / "away").rename(tmp_path / "daemon.sock")
