"""Who may talk: the kernel's word on the peer's uid, checked at accept."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.native.conftest import Start
from tests.support.agent_client import AgentClient
from tests.support.programs import Program

NOBODY = 65534
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")


@contextlib.contextmanager
def somebody(uid: int) -> Iterator[None]:
    """Connect as another user: the kernel notes the effective uid at connect."""
    os.setegid(uid)
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)


def opened(start: Start, directory: Path, **extra: str) -> Program:
    host = start("lifecycle", **extra)
    host.ask("open", directory / "db")
    return host


def socket_open_to_all(host: Program, run_dir: Path) -> Path:
    """Take the file mode out of the way, so that the agent itself must decide."""
    run_dir.chmod(0o755)
    socket = run_dir / f"agent-{host.pid}.sock"
    socket.chmod(0o666)
    return socket


def test_the_mode_keeps_others_out(start: Start, directory: Path, run_dir: Path) -> None:
    host = opened(start, directory)
    run_dir.chmod(0o755)
    with AgentClient(run_dir / f"agent-{host.pid}.sock") as client, somebody(NOBODY), pytest.raises(PermissionError):
        client.info()


def test_others_are_refused_whatever_they_ask(start: Start, directory: Path, run_dir: Path) -> None:
    host = opened(start, directory)
    socket = socket_open_to_all(host, run_dir)
    for method, target in (("GET", "/v1/info"), ("GET", "/v1/databases"), ("PUT", "/v1/databases/0/lease")):
        with AgentClient(socket) as client, somebody(NOBODY):
            client.request(method, target, {} if method == "PUT" else None).refused(403, "forbidden")
    with AgentClient(socket) as client:
        assert client.info()["pid"] == host.pid


def test_the_allow_list(start: Start, directory: Path, run_dir: Path) -> None:
    host = opened(start, directory, ADOCD_ALLOW_UIDS=f"1234,{NOBODY}")
    socket = socket_open_to_all(host, run_dir)
    for uid in (1234, NOBODY, 0):
        with AgentClient(socket) as client, somebody(uid):
            assert client.info()["pid"] == host.pid
    with AgentClient(socket) as client, somebody(1235):
        client.request("GET", "/v1/info").refused(403, "forbidden")
