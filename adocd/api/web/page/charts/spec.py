"""Defines each chart of a target as data, which static/charts.js draws. Pure functions."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from adocd.api.repeats import in_rows
from adocd.api.web.page.charts.span import SHORT_S
from adocd.api.web.page.model import decisions, history
from adocd.api.web.page.model.decisions import ToldDecision
from adocd.api.web.page.model.history import Point

#: How axes and tooltips format a value; units.js has a function for each. The scale of seconds is logarithmic.
Unit = Literal["count", "per_s", "bytes", "bytes_per_s", "share", "s", "switch"]
#: A colour's name; page.css has its values for dark and light.
Colour = Literal["blue", "teal", "amber", "red", "violet", "grey"]

#: Most points of a range that a browser gets; the server thins them.
MOST_POINTS = 600
MOST_KNOBS = 6
#: Points of a law that are no further apart than this are one span.
_GAP_MS = 2000


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a chart. `column`: where its values are in a row. `limit`: drawn dashed, in its own scale.

    `stack`: lines of the same stack are filled and stacked.
    """

    name: str
    column: str
    colour: Colour
    limit: bool = False
    stack: str | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: its title, which is also its label for screen readers, the unit of its scale, and its lines."""

    key: str
    title: str
    unit: Unit
    lines: tuple[Curve, ...]


#: The charts that tell whether writes are held and why.
FIRST: tuple[Chart, ...] = (
    Chart(
        "stalled", "Writes held, by cause", "share",
        (
            Curve("memtables", "cause_memtable", "violet", stack="held"),
            Curve("level-0 files", "cause_l0", "amber", stack="held"),
            Curve("pending compaction", "cause_pending_bytes", "red", stack="held"),
            Curve("other", "cause_other", "grey", stack="held"),
        ),
    ),
    Chart("writes", "Writes per second", "per_s", (Curve("writes", "writes_per_s", "blue"),)),
    Chart(
        "latency", "Write latency", "s",
        (
            Curve("p99", "write_p99_s", "amber"),
            Curve("p50", "write_p50_s", "blue"),
            Curve("worst", "write_max_s", "red"),
        ),
    ),
    Chart(
        "l0", "Level-0 files", "count",
        (
            Curve("files", "l0_files", "blue"),
            Curve("slowdown at", "l0_slowdown_trigger", "amber", limit=True),
            Curve("stop at", "l0_stop_trigger", "red", limit=True),
        ),
    ),
)  # fmt: skip
#: What lies behind it.
MORE: tuple[Chart, ...] = (
    Chart("memtables", "Memtables", "bytes", (Curve("in memory", "memtables_bytes", "blue"),)),
    Chart("waiting", "Memtables waiting for a flush", "count", (Curve("waiting", "immutable_memtables", "violet"),)),
    Chart(
        "pending", "Pending compaction", "bytes",
        (
            Curve("pending", "pending_compaction_bytes", "blue"),
            Curve("soft limit", "soft_pending_compaction_bytes_limit", "amber", limit=True),
            Curve("hard limit", "hard_pending_compaction_bytes_limit", "red", limit=True),
        ),
    ),
    Chart(
        "bytes", "Bytes written by RocksDB", "bytes_per_s",
        (
            Curve("user", "written_bytes_per_s", "blue"),
            Curve("flush", "flush_written_bytes_per_s", "teal"),
            Curve("compaction", "compaction_written_bytes_per_s", "amber"),
        ),
    ),
    Chart("device", "Device, read and written", "bytes_per_s", (Curve("bytes", "device_bytes_per_s", "blue"),)),
    Chart("busy", "Device busy", "share", (Curve("busy", "device_busy_fraction", "amber"),)),
)  # fmt: skip

CHARTS = FIRST + MORE

#: The columns of a row in the browser: they follow the time, and the knobs follow them.
COLUMNS: tuple[str, ...] = tuple(dict.fromkeys(line.column for chart in CHARTS for line in chart.lines))

_SWITCHES = ("disable_auto_compactions",)


#: Nothing was measured between two points that are further apart than this, in s, or than either of them is long.
_GAP_S = 2.0


def rows(points: Iterable[Point], knobs: Sequence[str], after: Point | None = None) -> list[list[float | None]]:
    """Convert points to rows: time in milliseconds, columns, knobs. Rounds to four digits, enough to draw.

    Where nothing was measured, as while the database was closed, is a row without columns at which the curves end.
    `after` is the point before the first.
    """
    found: list[list[float | None]] = []
    for point in points:
        if after is not None:
            gap_s = point["unix_s"] - point["interval_s"] - after["unix_s"]
            if gap_s > max(_GAP_S, point["interval_s"], after["interval_s"]):
                found.append([round(after["unix_s"] * 1000) + 1])
        found.append(
            [round(point["unix_s"] * 1000), *(_column(point, name) for name in COLUMNS)]
            + [_number(history.knobs(point).get(name)) for name in knobs]
        )
        after = point
    return found


def as_data(knobs: Sequence[str], left_out: Sequence[str] = ()) -> dict[str, Any]:
    """Return the definition of the charts for the browser, including these knobs, and a note on those left out."""
    return {
        "columns": [*COLUMNS, *knobs],
        "charts": [asdict(chart) for chart in CHARTS],
        "knobs": [{"name": name, "unit": knob_unit(name)} for name in knobs],
        "note": f"not drawn, but turned as well: {', '.join(left_out)}" if left_out else "",
    }


def marks(
    records: Sequence[dict[str, Any]], points: Sequence[Point], now_unix_s: float, *, all_known: bool
) -> dict[str, Any]:
    """Return the newest decisions within the points' range, each with its text, and a note on which these are.

    `all_known`: whether `records` reach back to the first decision.
    """
    if not points:
        return {"items": [], "note": "nothing was measured in this time"}
    begin, end, spans = points[0]["unix_s"], points[-1]["unix_s"], history.measured(points)
    rows = [row for row in in_rows(records) if row.last_unix_s >= begin and row.first_unix_s <= end]
    shown = rows[-decisions.MOST_MARKS :]
    whole = len(shown) == len(rows) and (all_known or not records or records[0]["unix_s"] < begin)
    if not shown:
        note = "no decision in this time" if whole else "decisions of this time are no longer known here"
    else:
        number = "the decision" if len(shown) == 1 else f"{'all' if whole else 'the last'} {len(shown)} decisions"
        note = f"{number} of this time: a diamond each; dotted lines where options changed"
    return {"items": [_mark(decisions.told(row, spans, now_unix_s)) for row in shown], "note": note}


def acted(points: Sequence[Point]) -> list[tuple[int, int, str]]:
    """Return the spans in which a law acted: begin and end in milliseconds, and the law."""
    runs: list[tuple[int, int, str]] = []
    for point in points:
        law, end = point["controller"], round(point["unix_s"] * 1000)
        if law is None:
            continue
        begin = round((point["unix_s"] - point["interval_s"]) * 1000)
        if runs and runs[-1][2] == law and begin - runs[-1][1] <= _GAP_MS:
            begin = runs.pop()[0]
        runs.append((begin, end, law))
    return runs


def longest_stalls(diagnosis: dict[str, Any] | None) -> list[tuple[int, int, str]]:
    """Return the longest stalls of a diagnosis: begin and end in milliseconds, and their number by length."""
    longest = [] if diagnosis is None else diagnosis["longest"]
    return [
        (round(stall["begin"] * 1000), round(stall["end"] * 1000), str(rank)) for rank, stall in enumerate(longest, 1)
    ]


def knob_unit(name: str) -> Unit:
    """Return the unit of a knob."""
    if name in _SWITCHES:
        return "switch"
    if name.endswith(("_rate", "per_s", "per_sec")):  # RocksDB abbreviates seconds otherwise than we do
        return "bytes_per_s"
    return "bytes" if any(word in name for word in ("size", "bytes", "readahead")) else "count"


def _mark(told: ToldDecision) -> dict[str, Any]:
    return {
        "at": round(told.unix_s * 1000),
        "number": told.sequence,
        "until": round(told.last_unix_s * 1000),
        "short": " ".join(filter(None, ["; ".join(told.what), told.outcome.partition(":")[0], told.often])),
        "look": told.look,
        "lines": [
            ["set", "; ".join(told.what)],
            ["signal", told.signal],
            ["rule", told.rule],
            ["guard", "; ".join(told.guards) or "nothing refused"],
            ["outcome", f"{told.outcome} {told.often}".rstrip()],
            ["effect", told.effect or "not measured yet"],
        ],
    }


def _column(point: Point, name: str) -> float | None:
    if name.startswith("cause_"):
        causes = point["stalled_by_cause"]
        return None if causes is None else _number(causes.get(name.removeprefix("cause_"), 0))
    value = point[name]
    # In RocksDB a limit of 0 is off; a line at 0 would look as if everything exceeded it.
    return None if value == 0 and name.endswith("_limit") else _number(value)


def _number(value: float | None) -> float | None:
    if value is None or isinstance(value, int):
        return value
    return float(f"{value:.4g}")


def ranges(span_s: float) -> tuple[str, int]:
    """Return the resolution and the number of points to request for a range."""
    return ("1s", round(span_s)) if span_s <= SHORT_S else ("1m", min(MOST_POINTS, round(span_s / 60)))
