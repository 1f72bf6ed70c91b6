"""The elements of a target's charts, and the data that their browser gets."""

import json
from typing import Any

from nicegui import ui
from nicegui.client import Client
from nicegui.events import GenericEventArguments

from adocd.api.web.page.charts import span, spec
from adocd.api.web.page.charts.span import ChartSpan
from adocd.api.web.page.model import history
from adocd.api.web.page.room import Room

_FIELDS = (
    '<span class="between"><label>from <input type="datetime-local" step="1" id="range-from"></label> '
    '<label>to <input type="datetime-local" step="1" id="range-to"></label></span>'
)


class Panel:
    """The charts of one browser: it gets all rows of a range once, and then the new ones at each tick."""

    def __init__(self, room: Room, client: Client, shown: ChartSpan) -> None:
        self._room = room
        self._client = client
        self._span = shown
        self._sent_unix_s: float | None = None
        self._sent_decisions = -1
        #: The knobs to draw, and those for which there is no place.
        self._turned: list[str] = []
        self._ids: dict[str, int] = {}
        self._buttons: dict[int, ui.button] = {}

    def lay_out(self) -> None:
        """Create the elements."""
        with ui.element("div").classes("ranges").props('role=group aria-label="Range of the charts"'):
            for span_s, name in span.RANGES.items():
                button = ui.button(name, color=None, on_click=lambda _, shown=span_s: self._show(ChartSpan(shown)))
                self._buttons[span_s] = button.props("unelevated no-caps dense").classes("act range")
            ui.html(_FIELDS, sanitize=False)
        ui.on("adocd-range", self._choose)
        with ui.element("div").classes("charts first live"):
            for chart in spec.FIRST:
                self._one(chart.key, chart.title, "panel chart")
            self._one("knobs", "Knobs, and each decision", "panel chart wide")
        # Open where there is room; a phone opens it on demand.
        with ui.element("details").classes("more-charts").props("open"):
            with ui.element("summary"):
                ui.html("<h2>Memory, background work and device</h2>", sanitize=False)
            with ui.element("div").classes("charts live"):
                for chart in spec.MORE:
                    self._one(chart.key, chart.title, "panel chart")
        self._mark_range()

    def _one(self, key: str, title: str, classes: str) -> None:
        with ui.element("section").classes(classes).props(f'aria-labelledby="chart-{key}"'):
            # What says in words what the canvas shows: the figure beside the title, or which decisions are marked.
            id_, look = ("marks-note", "muted") if key == "knobs" else (f"readout-{key}", "readout")
            ui.html(
                f'<div class="chart-head"><h2 id="chart-{key}">{title}</h2>'
                f'<span class="{look}" id="{id_}"></span></div>',
                sanitize=False,
            )
            chart = ui.echart({"series": []}).props(f'role=img aria-label="{title}" aria-describedby="{id_}"')
            self._ids[key] = chart.id

    def _choose(self, event: GenericEventArguments) -> None:
        """Show the time that the visitor dragged over or typed."""
        match event.args:
            case [begin, end] if (chosen := span.chosen(begin, end)) is not None:
                self._show(chosen)

    def _show(self, shown: ChartSpan) -> None:
        self._span = shown
        self._sent_unix_s = None
        self._mark_range()

    def _mark_range(self) -> None:
        for span_s, button in self._buttons.items():
            on = self._span.begin is None and span_s == self._span.span_s
            button.props(f"aria-pressed={'true' if on else 'false'}")
            button.classes(add="on" if on else "", remove="" if on else "on")

    async def refresh(self, now_s: float) -> None:
        """Send what is new, or everything after a change of the range or the knobs; `now_s` is monotonic."""
        room, shown = self._room, self._span
        if shown.begin is not None and self._sent_unix_s is not None:
            return
        if self._sent_unix_s is not None and self._sent_unix_s > room.now_unix_s:  # the wall clock was set back
            self.reset()
        drawn = room.drawn(shown)
        points = await room.charted(drawn, now_s)
        # A chosen time in which nothing was measured is shown empty; of one that goes on, something may come.
        if shown is not self._span or (not points and shown.end is None):
            return
        turned = history.knobs_to_draw(points)
        knobs = turned[: spec.MOST_KNOBS]
        more = {"acted": spec.acted(points), "stalls": spec.longest_stalls(room.diagnosis)}
        if self._sent_unix_s is None or turned != self._turned:
            self._turned = turned
            view = {"spanS": shown.span_s, "from": drawn.begin, "to": drawn.end, "query": shown.query}
            data = spec.as_data(knobs, turned[spec.MOST_KNOBS :])
            self._run("setCharts", self._ids, view, data, spec.rows(points, knobs), self._marks(points), more)
        else:
            known = sum(point["unix_s"] <= self._sent_unix_s for point in points)
            newer, last = points[known:], points[known - 1] if known else None
            changed = self._sent_decisions != room.decisions_version
            if not newer and not changed:
                return
            self._run("addRows", spec.rows(newer, knobs, last), self._marks(points) if changed else None, more)
        self._sent_unix_s = points[-1]["unix_s"] if points else shown.end
        self._sent_decisions = room.decisions_version

    def _marks(self, points: list[history.Point]) -> dict[str, Any]:
        all_known = self._room.unread_decisions == 0
        return spec.marks(self._room.decisions, points, self._room.now_unix_s, all_known=all_known)

    def reset(self) -> None:
        """Send everything at the next tick, as to a browser that has reconnected."""
        self._sent_unix_s = None

    def _run(self, function: str, *arguments: Any) -> None:
        words = ", ".join(json.dumps(argument, separators=(",", ":")) for argument in arguments)
        self._client.run_javascript(f"adocd.{function}({words})")
