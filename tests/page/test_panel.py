"""What the charts' browser is sent: everything of a chosen time once, also where there is nothing; and in words."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from nicegui import ui
from nicegui.client import Client

from adocd.api.web.page.charts import spec
from adocd.api.web.page.charts.panel import Panel
from adocd.api.web.page.charts.span import ChartSpan
from adocd.api.web.page.room import Room
from tests.page.laid_out import Asked, html, laid_out, visit
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


def test_the_charts_show_the_whole_minutes_and_the_link_what_was_chosen() -> None:
    (some,) = sent([point(150.0)], ChartSpan(900, 130.0, 150.0))
    assert '"from":120.0,"to":180.0' in some
    assert '"query":"from=130&to=150"' in some


def test_knobs_for_which_there_is_no_place_are_named() -> None:
    names = [f"knob_{number}" for number in range(8)]
    turned = [point(140.0 + value, knobs=dict.fromkeys(names, value)) for value in (1, 2)]
    (some,) = sent(turned, ChartSpan(900, 100.0, 200.0))
    assert '"note":"not drawn, but turned as well: knob_6, knob_7"' in some


def test_what_a_chart_shows_is_said_in_words_beside_it() -> None:
    async def body(client: Client) -> None:
        Panel(Room("t1", visit(Asked({})).actions.do), client, ChartSpan()).lay_out()
        charts = [each for each in client.elements.values() if isinstance(each, ui.echart)]
        assert len(charts) == len(spec.CHARTS) + 1
        laid = html(client)
        assert "aria-hidden" not in laid
        for chart in charts:
            assert f'id="{chart.props["aria-describedby"]}"' in laid

    laid_out(body)


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
