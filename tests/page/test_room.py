"""One target as a page knows it: what cannot be read is not taken for good, and a clock that goes back for no end."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from adocd.api.web.page.charts.span import ChartSpan
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
        place = path.partition("?")[0]
        answer = self.answers.get(place)
        refused = 404 if place == "/v1/targets/t1" else 409
        return (refused if answer is None else 200), json.dumps(answer).encode()

    def decided(self, *records: dict[str, Any]) -> None:
        """Know these decisions alone."""
        self.answers["/v1/targets/t1/decisions"] = {"decisions": list(records)}


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


def known(room: Room) -> list[tuple[int, float]]:
    return [(each["sequence"], each["unix_s"]) for each in room.decisions]


def test_a_target_that_was_forgotten_has_new_decisions_alone() -> None:
    async def run() -> None:
        daemon = Daemon()
        daemon.decided(decision(7, 70.0), decision(8, 80.0))
        room = Room("t1", daemon.get)
        await room.refresh(0.0)
        assert room.unread_decisions == 6
        there, version = daemon.answers.pop("/v1/targets/t1"), room.decisions_version
        await room.refresh(1.0)
        assert room.missing is not None
        daemon.answers["/v1/targets/t1"] = there
        daemon.decided()
        await room.refresh(2.0)
        assert known(room) == []
        assert room.decisions_version > version, "the page is told"
        daemon.decided(decision(1, 900.0))
        await room.refresh(20.0)
        assert known(room) == [(1, 900.0)]
        assert room.unread_decisions == 0

    asyncio.run(run())


def test_a_daemon_that_counts_anew_is_read_anew() -> None:
    async def run() -> None:
        daemon = Daemon()
        daemon.decided(*(decision(number, 10.0 * number) for number in range(1, 31)))
        room = Room("t1", daemon.get)
        await room.refresh(0.0)
        daemon.decided(decision(1, 900.0), decision(2, 901.0))
        room.decided([decision(2, 901.0)])
        assert known(room) == [(2, 901.0)], "no old one is shown as the newest"
        await room.refresh(1.0)
        assert known(room) == [(1, 900.0), (2, 901.0)]

    asyncio.run(run())


def test_that_the_audit_trail_goes_on_is_known() -> None:
    async def run() -> None:
        daemon = Daemon()
        room = Room("t1", daemon.get)
        daemon.answers["/v1/operations"] = {"operations": [], "next_before": 7}
        await room.refresh(0.0)
        assert room.has_older_operations
        daemon.answers["/v1/operations"]["next_before"] = None
        await room.refresh(100.0)
        assert not room.has_older_operations

    asyncio.run(run())


def test_a_short_time_long_ago_is_drawn_in_whole_minutes() -> None:
    async def run() -> None:
        daemon, now = Daemon(), 1_700_000_000.0
        room = Room("t1", daemon.get)
        room.points = [point(now)]
        minute = now // 60 * 60 - 3600.0
        chosen = ChartSpan(900, minute + 20.0, minute + 40.0)
        drawn = room.drawn(chosen)
        assert (drawn.begin, drawn.end) == (minute, minute + 60.0), "where the points of the minute are"
        daemon.answers["/v1/targets/t1/history"]["points"] = [point(minute - 0.5, 60.0), point(minute + 59.5, 60.0)]
        assert len(await room.charted(drawn, 0.0)) == 2, "a line begins at the end of the minute before"
        asked = daemon.asked[-1]
        assert "resolution=1m" in asked
        assert f"from_unix_s={minute - 60.0}&to_unix_s={minute + 60.0}" in asked
        daemon.answers["/v1/targets/t1/history"]["points"] = [point(minute - 0.5, 60.0)]
        assert await room.charted(drawn, 0.0) == [], "nothing was measured in it"
        recent = ChartSpan(900, now - 60.0, now - 40.0)
        assert room.drawn(recent) is recent, "the daemon keeps its seconds"
        await room.charted(recent, 0.0)
        assert "resolution=1s" in daemon.asked[-1]
        going_on = ChartSpan(3600)
        assert room.drawn(going_on) is going_on

    asyncio.run(run())
