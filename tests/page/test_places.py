"""Whoever may only read takes no operator's place, however many pages are opened."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import httpx
import pytest
from fastapi import FastAPI, Response
from nicegui.client import Client

from adocd.api.limits import MAX_WEBSOCKETS
from adocd.api.web.access import TokenHolder
from adocd.api.web.gate import Grant
from adocd.api.web.page import mount
from adocd.api.web.page.places import MOST_PAGES, SPARE_PAGES, SPARE_SOCKETS, SpareSockets, may_open


async def forever() -> bool:
    return True


ANYONE = Grant(None, True, forever)
READER = Grant(TokenHolder("dashboard", "read"), True, forever)
OPERATOR = Grant(TokenHolder("night", "operate"), True, forever)


class Loading:
    """A page that no browser has connected to yet."""

    has_socket_connection = False
    _delete_tasks: tuple[()] = ()

    def __init__(self, number: int, created: float) -> None:
        self.id, self.created = str(number), created

    def delete(self) -> None:
        """Give the place back."""
        del Client.instances[self.id]


def open_pages(monkeypatch: pytest.MonkeyPatch, number: int, created: float) -> None:
    opened: dict[str, Any] = {str(each): Loading(each, created) for each in range(number)}
    monkeypatch.setattr(Client, "instances", opened)


def test_readers_leave_pages_to_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    open_pages(monkeypatch, MOST_PAGES - SPARE_PAGES, time.time())
    assert [may_open(grant) for grant in (ANYONE, READER, OPERATOR)] == [False, False, True]
    open_pages(monkeypatch, MOST_PAGES, time.time())
    assert not may_open(OPERATOR)


def test_pages_that_no_browser_has_connected_to_give_way(monkeypatch: pytest.MonkeyPatch) -> None:
    open_pages(monkeypatch, MOST_PAGES, created=0.0)
    assert may_open(ANYONE)
    assert Client.instances == {}


def test_an_operator_can_log_in_while_all_pages_of_readers_are_open(monkeypatch: pytest.MonkeyPatch) -> None:
    open_pages(monkeypatch, MOST_PAGES - SPARE_PAGES, time.time())
    app = FastAPI()
    app.get("/page/")(lambda: Response("the page"))
    mount._guard(app)

    def got(grant: Grant) -> tuple[int, str]:
        async def behind_the_gate(scope: Any, receive: Any, send: Any) -> None:
            await app(scope | {"state": {"grant": grant}}, receive, send)

        async def get() -> httpx.Response:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(behind_the_gate)) as client:
                return await client.get("http://localhost/page/")

        answer = asyncio.run(get())
        return answer.status_code, answer.text

    status, door = got(ANYONE)
    assert (status, "Log in with a token that may operate" in door, "<form>" in door) == (503, True, True)
    assert got(READER)[0] == 503
    assert got(OPERATOR) == (200, "the page")


def test_readers_leave_websockets_to_operators() -> None:
    async def run() -> None:
        inside, ends = 0, asyncio.Event()
        sent: list[dict[str, Any]] = []

        async def nicegui(*_: Any) -> None:
            nonlocal inside
            inside += 1
            await ends.wait()

        async def receive() -> dict[str, Any]:
            return {"type": "websocket.connect"}

        async def send(message: Any) -> None:
            sent.append(message)

        async def connect(grant: Grant) -> None:
            await sockets({"type": "websocket", "state": {"grant": grant}}, receive, send)

        sockets, places = SpareSockets(nicegui), MAX_WEBSOCKETS - SPARE_SOCKETS
        async with asyncio.TaskGroup() as tasks:
            for grant in [ANYONE] * places + [OPERATOR]:
                tasks.create_task(connect(grant))
            await asyncio.sleep(0)
            await connect(READER)
            assert [message["type"] for message in sent] == ["websocket.close"]
            assert inside == places + 1
            ends.set()
        await connect(READER)
        assert inside == places + 2, "places are given back"

    asyncio.run(run())
