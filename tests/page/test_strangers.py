"""What the page costs, and tells, when who comes may read nothing: as by a proxy, from anywhere."""

from __future__ import annotations

import contextlib
import http.client
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.cli.harness import command, log_of
from tests.page.browser import Site, Watched, db_bench, open_page, site

STRANGER = {"X-Forwarded-For": "192.0.2.7"}
#: More than there are places for.
MANY = 300
DOOR = b"Log in to see anything."
_UPGRADE = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OTAxMjM0NQ==\r\n"
)
_SOCKET = "/page/_nicegui_ws/socket.io/?EIO=4&transport=websocket"


@pytest.fixture(scope="module")
def at() -> Iterator[Site]:
    """A daemon with a database whose path is markup, for every browser that would take it as such."""
    with tempfile.TemporaryDirectory(prefix="adocd-") as directory:
        run_dir = Path(directory)
        odd = run_dir / """<img src=x onerror=document.title='taken'>"&'"""
        odd.mkdir()
        with site(run_dir) as found, db_bench(odd, run_dir):
            found.target()
            yield found


def ask(at: Site, method: str, path: str, headers: dict[str, str], body: bytes | None = None) -> tuple[int, bytes]:
    """Make a request; status and body."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", at.port, timeout=60)) as client:
        client.request(method, path, body, headers)
        answer = client.getresponse()
        return answer.status, answer.read()


def raw(at: Site, words: str) -> bytes:
    """Send a request's head as it is; all that is answered until the connection is closed."""
    with socket.create_connection(("127.0.0.1", at.port), timeout=60) as client:
        client.sendall(words.encode())
        content = b""
        while piece := client.recv(65536):
            content += piece
        return content


def test_strangers_take_no_place_of_others(at: Site) -> None:
    """Neither by the page, nor by paths that there are not, with what NiceGUI serves by itself in their name."""
    for path, status in (("/page/", 200), ("/page/target/_nicegui", 200), ("/page/_nicegui/none", 404)):
        for _ in range(MANY):
            assert ask(at, "GET", path, STRANGER)[0] == status
    assert DOOR in ask(at, "GET", "/page/", STRANGER)[1]
    status, content = ask(at, "GET", "/page/", {})
    assert (status, DOOR in content) == (200, False)
    assert ask(at, "GET", "/page/x/y", {})[0] == 404
    assert "not found" not in log_of(at.run_dir), "a stranger fills no log"


@pytest.mark.parametrize(
    ("method", "more", "status"),
    [
        ("GET", "X-Forwarded-For: 192.0.2.7\r\n", 401),
        ("GET", "Origin: http://evil.example\r\n", 403),
        ("POST", "", 405),
        ("POST", "Content-Length: 1\r\n", 400),
        ("GET", f"X: {'x' * 9000}\r\n", 400),
        ("GET", "A: b\r\n" * 200, 400),
    ],
)
def test_a_websocket_that_does_not_begin_is_answered_and_closed(at: Site, method: str, more: str, status: int) -> None:
    answer = raw(at, f"{method} {_SOCKET} HTTP/1.1\r\nHost: localhost:{at.port}\r\n{_UPGRADE}{more}\r\n")
    assert answer.startswith(b"HTTP/1.1 %d " % status)
    assert b"ERROR" not in log_of(at.run_dir).encode()


@pytest.mark.parametrize(
    ("body", "status"),
    [(b'{"token":"\\ud800"}', 401), (b"[" * 4_000, 422), (b"[" * 100_000, 413), (b"\xff", 422), (b'{"token":[]}', 422)],
)
def test_a_log_in_that_makes_no_sense(at: Site, body: bytes, status: int) -> None:
    assert ask(at, "POST", "/page/session", STRANGER, body)[0] == status
    assert "Traceback" not in log_of(at.run_dir)


def test_from_the_door_to_the_page_and_back(browser: Browser, at: Site) -> None:
    watched = Watched()
    context, page = open_page(browser, watched, at, extra_http_headers=STRANGER)
    page.goto(f"{at.url}/page/")
    page.get_by_label("Token").fill("no such token")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("this is no token")
    assert len(watched.complaints) == 1, "the browser says the 401 itself"
    made = command("adocctl", "token", "create", "door", "--scope", "operate", run_dir=at.run_dir).ok()
    page.get_by_label("Token").fill(made.strip())
    page.get_by_role("button", name="Log in").click()
    page.locator("a.glance").click()
    page.get_by_role("button", name="Pin an option…").wait_for()
    expect(page.get_by_text("<img src=x").first).to_be_visible()
    assert page.title() != "taken", "what its path says is no script"
    command("adocctl", "token", "revoke", "door", run_dir=at.run_dir).ok()
    page.get_by_text(DOOR.decode()).wait_for()
    watched.asked_only_us()
    context.close()
