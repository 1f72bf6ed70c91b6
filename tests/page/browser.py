"""A real Chromium on a real page of a real daemon, beside a db_bench that stalls."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, WebSocket, expect

from tests.cli.harness import NOWHERE, command, log_of, serving, start
from tests.support.waiting import eventually

MIB = 1 << 20
#: How long a page may take on a loaded machine; nothing is measured by it.
PATIENCE_MS = 120_000
#: Expectations have a patience of their own, of 5 s: a busy machine takes longer to fade a dialog out.
expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Site:
    """A daemon with its page, and a database; `call` asks its REST by TCP with a token to operate."""

    run_dir: Path
    port: int
    token: str
    daemon_pid: int

    @property
    def url(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.port}"

    def call(self, method: str, path: str) -> Any:
        """Ask REST; the answer's content."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)) as client:
            client.request(method, path, headers={"Authorization": f"Bearer {self.token}"})
            answer = client.getresponse()
            content = answer.read()
            assert answer.status < 400, f"{method} {path}: {answer.status} {content!r}"
            return json.loads(content)

    def target(self) -> str:
        """The id of the one target, once it is measured."""

        def found() -> str | None:
            listed = self.call("GET", "/v1/targets")["targets"]
            return listed[0]["id"] if listed and listed[0]["writes_per_s"] is not None else None

        return eventually(found, what="a target that is measured") or ""

    def detail(self) -> Any:
        """The one target."""
        return self.call("GET", f"/v1/targets/{self.target()}")


def web_process(at: Site) -> psutil.Process:
    """The process that serves the page; the daemon may be starting it anew."""

    def found() -> psutil.Process | None:
        for child in psutil.Process(at.daemon_pid).children():
            with contextlib.suppress(psutil.Error):
                if "adocd.api.web" in child.cmdline():
                    return child
        return None

    process = eventually(found, what="a process that serves the page")
    assert process is not None
    return process


@contextlib.contextmanager
def site(run_dir: Path, *arguments: str) -> Iterator[Site]:
    """Run a daemon with a page and a token to operate while the block runs."""
    with serving(run_dir, "--port", "0", *arguments) as daemon:
        where = eventually(lambda: log_of(run_dir).partition("on http://")[2].split("\n")[0])
        made = command("adocctl", "token", "create", "night", "--scope", "operate", run_dir=run_dir).ok()
        yield Site(run_dir, int(where.rpartition(":")[2]), made.strip(), daemon.pid)


@contextlib.contextmanager
def db_bench(directory: Path, run_dir: Path | None = None) -> Iterator[None]:
    """Write into small memtables, which overflow now and then.

    The database is in `directory`, its agent in `run_dir`, or there too.
    """
    program = start(
        "adocd", "exec", "--", "db_bench", "--benchmarks=fillrandom", f"--db={directory / 'db'}",
        "--value_size=1000", "--compression_type=none", "--num=100000", "--writes=100000000", "--duration=600",
        f"--write_buffer_size={MIB}", "--benchmark_write_rate_limit=6000000",
        env=dict(os.environ) | {"ADOCD_RUN_DIR": str(run_dir or directory)}, out=NOWHERE, err=NOWHERE,
    )  # fmt: skip
    try:
        yield
    finally:
        program.send_signal(signal.SIGTERM)
        program.wait(60)


@dataclass
class Watched:
    """What a browser did behind our back: it must not complain, and must ask nobody but us."""

    complaints: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    #: How many requests and WebSockets were seen, of whomever.
    requests: int = 0
    websockets: int = 0

    def watch(self, page: Page, url: str) -> None:
        """Take down what a page does from now on."""
        ours = (f"{url}/", f"{url.replace('http', 'ws')}/", "data:", "blob:")

        def said(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                self.complaints.append(f"{message.type}: {message.text}")

        def asked(request: Request) -> None:
            self.requests += 1
            if not request.url.startswith(ours):
                self.foreign.append(request.url)

        def connected(socket: WebSocket) -> None:
            self.websockets += 1
            if not socket.url.startswith(ours):
                self.foreign.append(socket.url)

        page.on("console", said)
        page.on("pageerror", lambda error: self.complaints.append(f"exception: {error}"))
        page.on("request", asked)
        page.on("websocket", connected)

    def is_content(self, *, websockets: bool = True) -> None:
        """Assert that there was nothing, and that something was looked at; a file has no `websockets`."""
        assert self.complaints == []
        self.asked_only_us(websockets=websockets)

    def asked_only_us(self, *, websockets: bool = True) -> None:
        """Assert that a page asked, and nobody else than us."""
        assert self.requests > 0
        assert bool(self.websockets) is websockets
        assert self.foreign == []


def open_page(browser: Browser, watched: Watched, at: Site, **context: Any) -> tuple[BrowserContext, Page]:
    """Open a page in a context of its own."""
    fresh = browser.new_context(**context)
    fresh.set_default_timeout(PATIENCE_MS)
    page = fresh.new_page()
    watched.watch(page, at.url)
    return fresh, page


def log_in(page: Page, token: str) -> None:
    """Log in as a person does."""
    page.get_by_role("button", name="Log in").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("textbox", name="Token").fill(token)
    dialog.get_by_role("button", name="Log in").click()
    page.get_by_role("button", name="Log out").wait_for()


def drawn(page: Page, rows: int = 2) -> None:
    """Wait until the charts have at least so many rows."""
    page.wait_for_function(f"Number(document.body?.dataset.charts) >= {rows}")


def serious(page: Page) -> list[str]:
    """What axe finds serious or worse, once nothing fades in any more."""
    # A dialog begins to fade in a frame after it is there.
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    # On a busy machine it may begin later, but the class is there at once.
    page.wait_for_function('!document.querySelector(\'[class*="-enter-active"], [class*="-leave-active"]\')')
    page.wait_for_function("document.getAnimations().every(each => each.playState !== 'running')")
    response = Axe().run(page).response
    assert "color-contrast" in {each["id"] for each in response["passes"]}, "axe has seen no text"
    found: list[dict[str, Any]] = response["violations"]
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:200] for node in each['nodes'][:3]]}"
        for each in found
        if each["impact"] in ("serious", "critical")
    ]
