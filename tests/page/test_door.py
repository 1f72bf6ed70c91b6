"""Who gets in by the page: its log-in, its WebSocket, and what is to be seen without one."""

from __future__ import annotations

import asyncio
import http.client
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from websockets.asyncio import client
from websockets.exceptions import InvalidStatus

from tests.page.browser import Site, site

HERE = "/page/"


def ask(at: Site, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str, dict[str, str]]:
    """Ask as a browser would; status, content and headers."""
    with closing(http.client.HTTPConnection("127.0.0.1", at.port, timeout=60)) as connection:
        content = None if body is None else json.dumps(body)
        shown = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, content, shown)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), {name.lower(): value for name, value in answer.getheaders()}


def test_a_log_in_stands_for_its_token_until_it_is_revoked(run_dir: Path) -> None:
    with site(run_dir) as at:
        ours = {"Origin": at.url, "Content_Type": "application/json"}
        assert ask(at, "POST", f"{HERE}session", {"token": "adocd_wrong"}, **ours)[0] == 401
        assert ask(at, "POST", f"{HERE}session", ["x"], **ours)[0] == 422
        foreign = ours | {"Origin": "http://evil.example"}
        assert ask(at, "POST", f"{HERE}session", {"token": at.token}, **foreign)[0] == 403
        status, content, headers = ask(at, "POST", f"{HERE}session", {"token": at.token}, **ours)
        assert (status, json.loads(content)) == (200, {"name": "night", "scope": "operate"})
        cookie = headers["set-cookie"]
        assert {"HttpOnly", "SameSite=strict", "Path=/"} <= {part.strip() for part in cookie.split(";")}
        assert at.token not in cookie
        session = cookie.partition(";")[0]

        # The session operates with its Origin, and never without or with another.
        assert ask(at, "POST", "/v1/pause", {}, Cookie=session, **ours)[0] == 200
        assert "token night paused it" in ask(at, "GET", "/v1/operations")[1]
        assert ask(at, "POST", "/v1/resume", None, Cookie=session)[0] == 403
        assert ask(at, "POST", "/v1/resume", None, Cookie=session, Origin="http://evil.example")[0] == 403
        assert ask(at, "POST", "/v1/resume", None, Cookie=session, Origin=at.url)[0] == 200

        assert ask(at, "DELETE", f"{HERE}session", None, Cookie=session, Origin=at.url)[0] == 204
        assert ask(at, "POST", "/v1/pause", {}, Cookie=session, **ours)[0] == 401

        again = ask(at, "POST", f"{HERE}session", {"token": at.token}, **ours)[2]["set-cookie"].partition(";")[0]
        subprocess.run(
            [Path(sys.executable).parent / "adocctl", "token", "revoke", "night"],
            check=True, capture_output=True, env={"ADOCD_RUN_DIR": str(run_dir), "PYTHONPATH": ":".join(sys.path)},
        )  # fmt: skip
        assert ask(at, "POST", "/v1/pause", {}, Cookie=again, **ours)[0] == 401


@pytest.fixture(scope="module")
def door() -> Iterator[Site]:
    """A daemon with a page, without a database."""
    with tempfile.TemporaryDirectory(prefix="adocd-") as directory, site(Path(directory)) as at:
        yield at


def test_the_pages_websocket_is_checked_like_a_request(door: Site) -> None:
    async def connects(at: Site, **headers: str) -> int:
        where = f"ws://127.0.0.1:{at.port}{HERE}_nicegui_ws/socket.io/?EIO=4&transport=websocket"
        try:
            async with client.connect(where, additional_headers=headers):
                return 101
        except InvalidStatus as refused:
            return refused.response.status_code

    assert asyncio.run(connects(door, Origin=door.url)) == 101
    assert asyncio.run(connects(door, Origin="http://evil.example")) == 403
    # No other transport: a POST would have to get past the gate for everyone.
    polling = f"{HERE}_nicegui_ws/socket.io/?EIO=4&transport=polling"
    assert ask(door, "GET", polling, Origin=door.url)[0] == 400
    assert ask(door, "GET", HERE, Host="evil.example")[0] == 400
    status, _, headers = ask(door, "GET", HERE)
    assert status == 200
    assert "default-src 'self'" in headers["content-security-policy"]
    assert ask(door, "GET", "/")[2]["location"] == HERE


def test_without_anonymous_reading_there_is_a_door_and_nothing_behind_it(run_dir: Path) -> None:
    configuration = run_dir / "adocd.toml"
    configuration.write_text("[web]\nanonymous_read = false\n")
    with site(run_dir, "--config", str(configuration)) as at:
        assert ask(at, "GET", "/v1/targets")[0] == 401
        for path in ("/", HERE.rstrip("/")):
            for method in ("GET", "HEAD"):
                status, _, headers = ask(at, method, path)
                assert (status, headers["location"]) == (307, HERE)
        status, content, _ = ask(at, "GET", HERE)
        assert (status, "Log in to see anything" in content) == (200, True)
        status, target, _ = ask(at, "GET", f"{HERE}target/anything")
        assert (status, "Log in to see anything" in target) == (200, True)
        behind = ask(at, "GET", HERE, Authorization=f"Bearer {at.token}")[1]
        for words in ("Pause", "Restore"):
            assert words in behind
            assert words not in content
            assert words not in target


def test_nothing_of_the_page_is_written_to_disk_or_loaded_by_others(door: Site) -> None:
    assert ask(door, "GET", HERE)[0] == 200
    assert not Path(".nicegui").exists()
    assert not (door.run_dir / ".nicegui").exists()
    program = (
        "import sys; import adocd.cli.adocd, adocd.cli.adocctl, adocd.process.serve, adocd.api.rest.app; "
        "import adocd.api.server; "
        "print([name for name in ('nicegui', 'socketio', 'websockets') if name in sys.modules])"
    )
    loaded = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert loaded.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/page/nothing-here", 404),
        ("/page/target/", 404),
        ("/page/target/%00", 200),  # the page of a target that there is not says so
        ("/page/target/a%2Fb", 404),
    ],
)
def test_a_page_that_is_not_there_is_no_failure(door: Site, path: str, status: int) -> None:
    assert ask(door, "GET", path)[0] == status
