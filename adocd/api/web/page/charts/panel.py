"""The elements of a target's charts, and the data that their browser gets."""

import json
from typing import Any

from nicegui import ui
from nicegui.client import Client

from adocd.api.web.page.charts import spec
from adocd.api.web.page.model import history
from adocd.api.web.page.room import SHORT_S, Room


class Panel:
    """The charts of one browser: it gets all rows of a range once, and then the new ones at each tick."""

    def __init__(self, room: Room, client: Client) -> None:
        self._room = room
        self._client = client
        self._span_s = SHORT_S
        self._sent_unix_s: float | None = None
        self._sent_decisions = -1
        self._knobs: list[str] = []
        self._ids: dict[str, int] = {}
        self._buttons: dict[int, ui.button] = {}

    def lay_out(self) -> None:
        """Create the elements."""
        with ui.element("div").classes("ranges").props('role=group aria-label="Range of the charts"'):
            for span_s, name in spec.RANGES.items():
                button = ui.button(name, color=None, on_click=lambda _, span=span_s: self._choose(span))
                self._buttons[span_s] = button.props("unelevated no-caps dense").classes("act")
        with ui.element("div").classes("charts live"):
            for chart in spec.CHARTS:
                self._one(chart.key, chart.title, "panel chart")
            self._one("knobs", "Knobs, and each decision", "panel chart wide")
        self._mark_range()

    def _one(self, key: str, title: str, classes: str) -> None:
        with ui.element("section").classes(classes).props(f'aria-labelledby="chart-{key}"'):
            ui.html(f'<h2 id="chart-{key}">{title}</h2>', sanitize=False)
            chart = ui.echart({"series": []}).props(f'role=img aria-label="{title}: the figures are in the text above"')
            self._ids[key] = chart.id

    def _choose(self, span_s: int) -> None:
        self._span_s = span_s
        self._sent_unix_s = None
        self._mark_range()

    def _mark_range(self) -> None:
        for span_s, button in self._buttons.items():
            button.props(f"aria-pressed={'true' if span_s == self._span_s else 'false'}")
            button.classes(add="on" if span_s == self._span_s else "", remove="" if span_s == self._span_s else "on")

    async def refresh(self, now_s: float) -> None:
        """Send what is new, or everything after a change of the range or the knobs; `now_s` is monotonic."""
        points = await self._room.charted(self._span_s, now_s)
        if not points:
            return
        knobs = history.knobs_to_draw(points, spec.MOST_KNOBS)
        if self._sent_unix_s is None or knobs != self._knobs:
            self._knobs = knobs
            marks = spec.marks(self._room.decisions, points, self._room.now_unix_s)
            data = (self._ids, self._span_s, spec.as_data(knobs), spec.rows(points, knobs), marks)
            self._run("setCharts", *data)
        else:
            newer = [point for point in points if point["unix_s"] > self._sent_unix_s]
            changed = self._sent_decisions != self._room.decisions_version
            if not newer and not changed:
                return
            again = spec.marks(self._room.decisions, points, self._room.now_unix_s) if changed else None
            self._run("addRows", spec.rows(newer, knobs), again)
        self._sent_unix_s = points[-1]["unix_s"]
        self._sent_decisions = self._room.decisions_version

    def reset(self) -> None:
        """Send everything at the next tick, because the browser has reconnected."""
        self._sent_unix_s = None

    def _run(self, function: str, *arguments: Any) -> None:
        words = ", ".join(json.dumps(argument, separators=(",", ":")) for argument in arguments)
        self._client.run_javascript(f"adocd.{function}({words})")
