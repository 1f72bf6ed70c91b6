"""What the charts' browser is sent: everything of a chosen time once, also where there is nothing."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from adocd.api.web.page.charts.panel import Panel
from adocd.api.web.page.charts.span import ChartSpan
from adocd.api.web.page.room import Room
from tests.page.points import point


class Browser:
    """Keeps the scripts that it is sent."""

    def __init__(self) -> None:
        self.scripts: list[str] = []

    def run_javascript(self, code: str) -> None:
        """Keep it."""
        self.scripts.append(code)


def sent(points: list[dict[str, Any]], shown: ChartSpan) -> list[str]:
    """Refresh a panel three times."""

    async def get(path: str) -> tuple[int, bytes]:
        return 200, json.dumps({"points": points}).encode()

    async def refresh() -> None:
        for second in range(3):
            await panel.refresh(float(second))

    browser: Any = Browser()
    panel = Panel(Room("t1", get), browser, shown)
    asyncio.run(refresh())
    scripts: list[str] = browser.scripts
    return scripts


def test_a_chosen_time_is_sent_once_and_said_to_be_empty_if_it_is() -> None:
    chosen = ChartSpan(900, 100.0, 200.0)
    (some,) = sent([point(150.0)], chosen)
    assert some.startswith("adocd.setCharts(")
    assert "no decision in this time" in some
    (none,) = sent([], chosen)
    assert none.startswith("adocd.setCharts("), "the charts before it do not stay"
    assert "nothing was measured in this time" in none


def test_after_the_wall_clock_was_set_back_everything_is_sent_again() -> None:
    async def nothing(path: str) -> tuple[int, bytes]:
        return 404, b"{}"

    async def run() -> list[str]:
        browser: Any = Browser()
        room = Room("t1", nothing)
        panel = Panel(room, browser, ChartSpan())
        for second, points in enumerate(([point(1000.0)], [point(500.0)], [point(500.0), point(501.0)])):
            room.points = points
            await panel.refresh(float(second))
        scripts: list[str] = browser.scripts
        return scripts

    first, again, more = asyncio.run(run())
    assert first.startswith("adocd.setCharts(")
    assert again.startswith("adocd.setCharts("), "what lies in the future is not drawn any more"
    assert more.startswith("adocd.addRows(")


def test_a_time_that_goes_on_waits_for_its_first_point() -> None:
    assert sent([], ChartSpan(3600)) == []
