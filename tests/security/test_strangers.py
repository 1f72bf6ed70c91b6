"""Who may talk to an agent: the kernel's word on the peer's uid, and the modes of socket and directory."""

from __future__ import annotations

import contextlib
import functools
import os
import socket
import stat
from pathlib import Path

import pytest

from tests.security.conftest import StartHost
from tests.support.agent_client import AgentClient, exchange
from tests.support.users import ALICE, BOB, GROUP, NOBODY, ROOT, as_user, others, somebody
from tests.support.waiting import eventually

as_root = pytest.mark.skipif(not ROOT, reason="needs root to become somebody else")
MANY = 200
"""More than any agent has places for."""


def test_the_socket_is_for_its_user_and_its_group(start: StartHost, shared: Path) -> None:
    host = start().open()
    mode = host.socket.stat()
    assert stat.S_IMODE(mode.st_mode) == 0o660
    assert mode.st_gid == shared.stat().st_gid, "the directory's set-group-ID bit gives it"
    assert [path for path in shared.iterdir() if path != host.socket] == [], "no other name of it stays"


@as_root
def test_the_modes_keep_out_who_is_not_in_the_group(start: StartHost, shared: Path) -> None:
    host = start(ADOCD_ALLOW_UIDS=f"{ALICE},{BOB}").open()
    with host.client() as client, somebody(ALICE, [GROUP]):
        assert client.info()["pid"] == host.program.pid
    for searchable in (False, True):
        if searchable:
            shared.chmod(0o2775)
        with host.client() as client, somebody(BOB), pytest.raises(PermissionError):
            client.info()


def test_who_is_allowed_gets_in(start: StartHost) -> None:
    host = start(ADOCD_ALLOW_UIDS=f"{ALICE},{BOB},{NOBODY}").open().open_to_all()
    for uid in others():
        with host.client() as client, as_user(uid):
            assert client.info()["pid"] == host.program.pid


@as_root
def test_others_are_refused_whatever_they_ask(start: StartHost) -> None:
    host = start(ADOCD_ALLOW_UIDS=str(ALICE)).open().open_to_all()
    for method, target in (("GET", "/v1/info"), ("GET", "/v1/databases"), ("PUT", "/v1/databases/0/lease")):
        with host.client() as client, somebody(BOB):
            problem = client.request(method, target, {} if method == "PUT" else None).refused(403, "forbidden")
            assert "ADOCD_ALLOW_UIDS" in problem["detail"]
    with host.client() as client, somebody(BOB):
        client.request("PUT", "/v1/databases/0/lease", raw=b"x" * (1 << 20)).refused(403, "forbidden")
    with somebody(BOB):
        assert exchange(host.socket, b"").startswith(b"HTTP/1.1 403 ")
    with host.client() as client, somebody(ALICE):
        assert client.databases()[0]["path"] == str(host.path)


@as_root
def test_a_database_of_another_user_lets_in_its_own_and_root_alone(start: StartHost) -> None:
    host = start(ALICE, [GROUP]).open().open_to_all()
    for uid in (ALICE, 0):
        with host.client() as client, as_user(uid):
            assert client.info()["pid"] == host.program.pid
    with host.client() as client, somebody(BOB):
        client.request("GET", "/v1/info").refused(403, "forbidden")


@as_root
def test_who_was_let_in_stays_so_and_a_descriptor_passes_no_rights(start: StartHost) -> None:
    """The uid counts that connected, whoever writes: so it is with every file."""
    host = start().open().open_to_all()
    with host.client() as client:
        client.info()
        with somebody(BOB):
            assert client.info()["pid"] == host.program.pid
    with socket.socket(socket.AF_UNIX) as connection:
        with somebody(BOB):
            connection.connect(str(host.socket))
        connection.sendall(b"GET /v1/info HTTP/1.1\r\nHost: a\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 403 ")


@as_root
def test_strangers_take_no_place_of_others(start: StartHost) -> None:
    """However many there are, a connection that waits for its next request is not closed for them."""
    host = start().open().open_to_all()
    tasks = Path(f"/proc/{host.program.pid}/task")
    before = len(list(tasks.iterdir()))
    with host.client() as client, contextlib.ExitStack() as stack:
        client.info()
        waiting = client._connection.sock
        with somebody(BOB):
            for _ in range(MANY):
                stranger = stack.enter_context(socket.socket(socket.AF_UNIX))
                stranger.settimeout(5)
                eventually(functools.partial(_knock, stranger, host.socket), what="a stranger is taken")
        assert client.info()["pid"] == host.program.pid
        assert client._connection.sock is waiting, "it was closed, and made anew"
        eventually(lambda: _answers(host.socket), what="a new connection is served")
        assert len(list(tasks.iterdir())) <= before + 10
    with somebody(BOB):
        eventually(lambda: exchange(host.socket, b"").startswith(b"HTTP/1.1 403 "), what="a stranger is told again")


def _answers(path: Path) -> bool:
    try:
        with AgentClient(path) as client:
            return bool(client.info())
    except BlockingIOError:  # its queue is full for a moment
        return False


def _knock(stranger: socket.socket, path: Path) -> bool:
    """Connect, and tell whether that was taken; the queue of a listener may be full for a moment."""
    try:
        stranger.connect(str(path))
    except (BlockingIOError, TimeoutError):
        return False
    return True


@pytest.mark.parametrize("planted", ["link to a file", "dangling link", "file", "fifo"])
def test_what_others_put_in_its_place_is_replaced_and_not_followed(
    start: StartHost, base: Path, shared: Path, planted: str
) -> None:
    """Everyone in the group can write to the run directory, and a pid can be guessed."""
    victim = base / "victim"
    victim.write_text("precious")
    victim.chmod(0o600)
    host = start()
    if planted == "link to a file":
        host.socket.symlink_to(victim)
    elif planted == "dangling link":
        host.socket.symlink_to(base / "nothing")
    elif planted == "file":
        host.socket.write_text("no socket")
    else:
        os.mkfifo(host.socket)
    host.open()
    with host.client() as client:
        assert client.info()["pid"] == host.program.pid
    assert stat.S_ISSOCK(host.socket.lstat().st_mode)
    assert victim.read_text() == "precious"
    assert stat.S_IMODE(victim.stat().st_mode) == 0o600
    assert not (base / "nothing").exists()
