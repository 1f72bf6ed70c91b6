"""One target as a page knows it: what cannot be read is not taken for good, and a clock that goes back for no end."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from adocd.api.web.page.room import Room
from tests.page.points import decision, point, target


class Daemon:
    """Answers for one target; what it has no answer for is refused."""

    def __init__(self) -> None:
        self.answers: dict[str, Any] = {
            "/v1/targets/t1": target(),
            "/v1/targets/t1/history": {"points": []},
            "/v1/targets/t1/decisions": {"decisions": [decision()]},
        }
        self.asked: list[str] = []

    async def get(self, path: str) -> tuple[int, bytes]:
        """Answer."""
        self.asked.append(path)
        answer = self.answers.get(path.partition("?")[0])
        return (409 if answer is None else 200), json.dumps(answer).encode()


def test_where_lint_could_not_look_it_has_not_found_nothing() -> None:
    async def run() -> None:
        daemon = Daemon()
        room = Room("t1", daemon.get)
        await room.refresh(0.0)
        assert room.findings is None
        daemon.answers["/v1/targets/t1/lint"] = {"findings": []}
        await room.refresh(100.0)
        assert room.findings == []

    asyncio.run(run())


def test_a_wall_clock_that_is_set_back_does_not_freeze_the_page() -> None:
    async def run() -> None:
        daemon, now = Daemon(), time.time()
        daemon.answers["/v1/targets/t1/history"]["points"] = [point(now + 3599.0), point(now + 3600.0)]
        room = Room("t1", daemon.get)
        await room.refresh(0.0)
        daemon.answers["/v1/targets/t1/history"]["points"] = [point(now - 1.0), point(now)]
        daemon.asked.clear()
        await room.refresh(1.0)
        assert [each["unix_s"] for each in room.points] == [now - 1.0, now]
        assert not any("from_unix_s" in path for path in daemon.asked), "all of it is read, not what is newer"
        assert "/v1/targets/t1/decisions?limit=500" in daemon.asked

    asyncio.run(run())
