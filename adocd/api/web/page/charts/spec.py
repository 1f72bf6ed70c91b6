"""What each chart of a target shows, as data, which static/charts.js draws. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from adocd.api.web.page.model import decisions, history
from adocd.api.web.page.model.decisions import ToldDecision
from adocd.api.web.page.model.history import Point

#: How a value is written beside an axis and in a tooltip; charts.js has a function for each.
Unit = Literal["count", "per_s", "bytes", "bytes_per_s", "share", "switch"]
#: A colour's name; page.css has its values for dark and light.
Colour = Literal["blue", "teal", "amber", "red", "violet", "grey"]

#: The ranges that can be looked at, in seconds, with their names.
RANGES = {900: "15 min", 3600: "1 h", 21600: "6 h", 86400: "24 h"}
#: A point of the browser's copy is so many seconds of a range; the server thins, the browser draws.
MOST_POINTS = 600
MOST_KNOBS = 6


@dataclass(frozen=True, slots=True)
class Curve:
    """One line of a chart: `column` says where its values stand in a row; a limit is drawn dashed, in its own scale.

    `stack`: lines of the same stack are filled and put on one another.
    """

    name: str
    column: str
    colour: Colour
    limit: bool = False
    stack: str | None = None


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: a title that is also its label for who cannot see it, the unit of its scale, and its lines."""

    key: str
    title: str
    unit: Unit
    lines: tuple[Curve, ...]


CHARTS: tuple[Chart, ...] = (
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
        "l0", "Level-0 files", "count",
        (
            Curve("files", "l0_files", "blue"),
            Curve("slowdown at", "l0_slowdown_trigger", "amber", limit=True),
            Curve("stop at", "l0_stop_trigger", "red", limit=True),
        ),
    ),
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

#: The columns of a row as the browser gets it, behind the time; knobs follow them.
COLUMNS: tuple[str, ...] = tuple(dict.fromkeys(line.column for chart in CHARTS for line in chart.lines))

_SWITCHES = ("disable_auto_compactions",)


def rows(points: Iterable[Point], knobs: Sequence[str]) -> list[list[float | None]]:
    """Lay points out as rows: the time in milliseconds, the columns, the knobs. Four digits are enough to draw."""
    return [
        [round(point["unix_s"] * 1000), *(_column(point, name) for name in COLUMNS)]
        + [_number(history.knobs(point).get(name)) for name in knobs]
        for point in points
    ]


def as_data(knobs: Sequence[str]) -> dict[str, Any]:
    """Give the browser what it has to draw, knobs among it."""
    return {
        "columns": [*COLUMNS, *knobs],
        "charts": [asdict(chart) for chart in CHARTS],
        "knobs": [{"name": name, "unit": knob_unit(name)} for name in knobs],
    }


def marks(records: Sequence[dict[str, Any]], points: Sequence[Point], now_unix_s: float) -> list[dict[str, Any]]:
    """Make the marks of decisions that lie within the points: the last ones, each with its words."""
    if not points:
        return []
    begin = points[0]["unix_s"]
    within = [record for record in records if record["unix_s"] >= begin][-decisions.MOST_MARKS :]
    return [_mark(decisions.told(record, points, now_unix_s)) for record in within]


def knob_unit(name: str) -> Unit:
    """Say how a knob's value is written."""
    if name in _SWITCHES:
        return "switch"
    if name.endswith("_rate") or name.endswith("per_s"):
        return "bytes_per_s"
    return "bytes" if any(word in name for word in ("size", "bytes")) else "count"


def _mark(told: ToldDecision) -> dict[str, Any]:
    return {
        "at": round(told.unix_s * 1000),
        "number": told.sequence,
        "good": told.good,
        "lines": [
            ["set", "; ".join(told.what)],
            ["signal", told.signal],
            ["rule", told.rule],
            ["guard", "; ".join(told.guards) or "nothing refused"],
            ["outcome", told.outcome],
            ["effect", told.effect or "not measured yet"],
        ],
    }


def _column(point: Point, name: str) -> float | None:
    if name.startswith("cause_"):
        causes = point["stalled_by_cause"]
        return None if causes is None else _number(causes.get(name.removeprefix("cause_"), 0))
    value = point[name]
    # RocksDB's 0 is a limit that is off, and a line at nothing would say that everything is beyond it.
    return None if value == 0 and name.endswith("_limit") else _number(value)


def _number(value: float | None) -> float | None:
    if value is None or isinstance(value, int):
        return value
    return float(f"{value:.4g}")


def ranges(span_s: int) -> tuple[str, int]:
    """Say at which resolution the daemon is asked for a range, and for how many points."""
    return ("1s" if span_s <= min(RANGES) else "1m"), min(
        MOST_POINTS, span_s if span_s <= min(RANGES) else span_s // 60
    )
