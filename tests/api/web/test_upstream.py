"""The web process's way to the daemon: through restarts, and past changes that take long."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from fastapi import FastAPI

from adocd.api import server
from adocd.api.web import upstream
from adocd.api.web.upstream import Upstream
from adocd.targets.errors import Silent, Unreachable
from tests.support.waiting import PATIENCE_S


class Daemon:
    """Counts what is asked; a PUT waits until it is released."""

    def __init__(self) -> None:
        self.asked = 0
        self.waiting = 0
        self.release = asyncio.Event()

    def app(self) -> FastAPI:
        """Build its application."""
        app = FastAPI()

        @app.get("/count")
        async def count() -> int:
            self.asked += 1
            return self.asked

        @app.put("/wait")
        async def wait() -> int:
            self.waiting += 1
            await self.release.wait()
            return self.waiting

        return app


@contextlib.asynccontextmanager
async def at_work(daemon: Daemon, path: Path) -> AsyncIterator[None]:
    with server.daemon_socket(path) as listener:
        async with server.serving(daemon.app(), listener):
            yield


async def until(daemon: Daemon, waiting: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while daemon.waiting < waiting:  # noqa: ASYNC110 - of another loop's making
            await asyncio.sleep(0.01)


def test_a_restart_of_the_daemon_is_not_noticed(run_dir: Path) -> None:
    async def run() -> None:
        daemon, asking = Daemon(), Upstream(run_dir / "daemon.sock")
        daemon.release.set()
        for number in (1, 2, 3):
            async with at_work(daemon, run_dir / "daemon.sock"):
                assert await asking.get("/count") == (200, str(number).encode())
                status, _, content = await asking.request("PUT", "/wait")
                assert (status, content) == (200, str(number).encode())
        with pytest.raises(Unreachable, match=r"nothing answers at .*daemon.sock: No such file"):
            await asking.get("/count")
        await asking.close()

    asyncio.run(run())


def test_changes_that_wait_hold_up_no_reading(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "_CONNECTIONS", 3)
    monkeypatch.setattr(upstream, "_READ_S", 0.5)

    async def run() -> None:
        daemon, asking = Daemon(), Upstream(run_dir / "daemon.sock")
        async with at_work(daemon, run_dir / "daemon.sock"):
            changes = [asyncio.create_task(asking.request("PUT", "/wait")) for _ in range(3)]
            await until(daemon, 3)
            assert await asking.get("/count") == (200, b"1")
            with pytest.raises(Silent, match="busy with 3 other requests; try PUT /wait again"):
                await asking.request("PUT", "/wait")
            daemon.release.set()
            assert {(await change)[0] for change in changes} == {200}
        await asking.close()

    asyncio.run(run())


def test_an_answer_that_does_not_come(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "_CHANGE_S", 0.3)

    async def run() -> None:
        daemon, asking = Daemon(), Upstream(run_dir / "daemon.sock")
        async with at_work(daemon, run_dir / "daemon.sock"):
            with pytest.raises(Silent, match=r"did not answer PUT /wait within 0.3 s"):
                await asking.request("PUT", "/wait?a=b")
            daemon.release.set()
        await asking.close()

    asyncio.run(run())
