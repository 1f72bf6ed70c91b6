"""A target's figures over time, for charts: 15 minutes in 1 s points and 24 hours in 1 min points, in memory. Pure."""

import math
import struct
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from math import isnan
from typing import Any, Literal

from adocd.diagnosis.held import MeasuredSpan
from adocd.model.stall import CAUSES, Cause

Resolution = Literal["1s", "1m"]
Knobs = Mapping[str, int | None]

#: Seconds that one point of each tier covers, and how far back the tier goes.
RESOLUTION_S: Mapping[Resolution, float] = {"1s": 1.0, "1m": 60.0}
REACH_S: Mapping[Resolution, float] = {"1s": 900.0, "1m": 86400.0}


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a chart: the `interval_s` measured seconds that end at `unix_s`; None means unknown.

    Rates and fractions are means over the interval, and so are the percentiles of write latencies, of the windows
    in which writes ended; files, memtables, bytes, `device_busy_fraction` and `write_max_s` are the largest values
    in it. Level-0 files and triggers are those of the column family with most level-0 files; under universal
    compaction `l0_files` counts sorted runs, which RocksDB compares with the triggers. Pending compaction bytes and
    their limits are those of the column family nearest to a stall by them. `memtables_bytes` is the sum over all.
    `stalled_by_cause` is the share of the interval in which a cause held writes, as known when the sample was taken.
    `knobs` are the values in force at the end: options by RocksDB's name, the largest of all column families.
    `controller` is the law that acted at the end; None without control, so also in a dry run.
    """

    unix_s: float
    interval_s: float
    writes_per_s: float | None = None
    written_bytes_per_s: float | None = None
    flush_written_bytes_per_s: float | None = None
    compaction_read_bytes_per_s: float | None = None
    compaction_written_bytes_per_s: float | None = None
    stopped_fraction: float | None = None
    delayed_fraction: float | None = None
    stalled_by_cause: Mapping[Cause, float] | None = None
    l0_files: int | None = None
    l0_slowdown_trigger: int | None = None
    l0_stop_trigger: int | None = None
    immutable_memtables: int | None = None
    memtables_bytes: int | None = None
    pending_compaction_bytes: int | None = None
    soft_pending_compaction_bytes_limit: int | None = None
    hard_pending_compaction_bytes_limit: int | None = None
    device_bytes_per_s: float | None = None
    device_busy_fraction: float | None = None
    write_p50_s: float | None = None
    write_p99_s: float | None = None
    write_p99_9_s: float | None = None
    write_max_s: float | None = None
    knobs: Knobs | None = None
    controller: str | None = None


class History:
    """Both tiers of one target.

    A full history takes about 0.5 MB, or 0.7 MB if knobs change every minute: measured with tracemalloc, and enforced
    by tests/daemon/watch/test_history.py. So 1,000 targets take about half a GB once full, after a day. Figures are
    kept to seven digits.
    """

    def __init__(self) -> None:
        self._tiers = {name: _Tier(RESOLUTION_S[name], REACH_S[name]) for name in RESOLUTION_S}
        #: The last point's settings, which the next point usually shares.
        self._settings: _Settings | None = None

    def add(self, point: Point) -> None:
        """Add the newest point."""
        row = _row(point)
        settings = _Settings(*(getattr(point, name) for name in _SETTINGS))
        if self._settings == settings:
            settings = self._settings
        self._settings = settings
        for tier in self._tiers.values():
            tier.add(row, settings)

    def read(self, resolution: Resolution) -> tuple["Packed", ...]:
        """Return one tier's points, oldest first, for `points_of` or `thinned`: a copy that other threads may read."""
        return self._tiers[resolution].read()


#: A stored point: its figures, and its settings, which rarely change and are shared between points.
Packed = tuple[bytes, "_Settings"]


@dataclass(frozen=True, slots=True)
class _Settings:
    l0_slowdown_trigger: int | None
    l0_stop_trigger: int | None
    soft_pending_compaction_bytes_limit: int | None
    hard_pending_compaction_bytes_limit: int | None
    knobs: Knobs | None
    controller: str | None


_SETTINGS = tuple(field.name for field in fields(_Settings))
#: Figures by how they are combined, time-weighted mean or maximum, with the number of decimals shown.
_MEANS: dict[str, int | None] = {
    "writes_per_s": 1,
    "written_bytes_per_s": 0,
    "flush_written_bytes_per_s": 0,
    "compaction_read_bytes_per_s": 0,
    "compaction_written_bytes_per_s": 0,
    "stopped_fraction": 4,
    "delayed_fraction": 4,
    "device_bytes_per_s": 0,
    "write_p50_s": 9,
    "write_p99_s": 9,
    "write_p99_9_s": 9,
    **dict.fromkeys(CAUSES, 4),
}
_LARGEST: dict[str, int | None] = {
    "l0_files": None,
    "immutable_memtables": None,
    "memtables_bytes": None,
    "pending_compaction_bytes": None,
    "device_busy_fraction": 4,
    "write_max_s": 9,
}
_COLUMNS = _MEANS | _LARGEST
_FIRST_LARGEST = len(_MEANS)
_WRITES, _STOPPED, _DELAYED, _P99, _FIRST_CAUSE, _WORST = map(
    list(_COLUMNS).index,
    ("writes_per_s", "stopped_fraction", "delayed_fraction", "write_p99_s", CAUSES[0], "write_max_s"),
)
_ROW = struct.Struct(f"<d{1 + len(_COLUMNS)}f")
#: The largest number that fits; larger ones, which only a faulty agent sends, are capped.
_MOST = 3.0e38
#: A row before packing: unix_s, interval_s, then one column per figure; NaN means unknown.
_Row = list[float]


class _Tier:
    """Points of one width, aligned to multiples of it, so that their borders never move."""

    def __init__(self, width_s: float, reach_s: float) -> None:
        self._width_s = width_s
        most = math.ceil(reach_s / width_s)
        self._rows: deque[bytes] = deque(maxlen=most)
        self._settings: deque[_Settings] = deque(maxlen=most)
        self._open: tuple[_Row, _Settings] | None = None

    def add(self, row: "_Row", settings: "_Settings") -> None:
        """Merge a point into the open one, or start a new one. Where the wall clock was set back, drop the later ones.

        Points stay in the order of their time: readers take the last one for the newest.
        """
        if self._open is not None:
            before, _ = self._open
            if before[0] // self._width_s == row[0] // self._width_s:
                row = _together(before, row)
            elif before[0] > row[0]:
                self._drop_later(row[0])
            else:
                self._rows.append(_ROW.pack(*before))
                self._settings.append(self._open[1])
        self._open = (row, settings)

    def _drop_later(self, unix_s: float) -> None:
        """Drop the closed points that end after this time; the caller replaces the open one."""
        while self._rows and _ROW.unpack_from(self._rows[-1])[0] > unix_s:
            self._rows.pop()
            self._settings.pop()

    def read(self) -> tuple[Packed, ...]:
        """Return all points, the open one included."""
        kept = zip(self._rows, self._settings, strict=True)
        return (*kept, *([] if self._open is None else [(_ROW.pack(*self._open[0]), self._open[1])]))


def points_of(packed: Iterable[Packed], from_unix_s: float, to_unix_s: float) -> Iterator[Point]:
    """Yield the points that end in this range."""
    for row, settings in packed:
        if from_unix_s <= _ROW.unpack_from(row)[0] <= to_unix_s:
            yield _point(list(_ROW.unpack(row)), settings)


def measured_of(packed: Iterable[Packed]) -> Iterator[MeasuredSpan]:
    """Yield only the writers' figures of the points: a third of the work of whole points."""
    for row, settings in packed:
        unix_s, interval_s, *figures = _ROW.unpack(row)
        known = [
            None if isnan(figure) else round(figure, decimals)
            for figure, decimals in zip(figures, _MEANS.values(), strict=False)
        ]
        held_for = dict(zip(CAUSES, known[_FIRST_CAUSE:_FIRST_LARGEST], strict=True))
        worst_s = figures[_WORST]
        yield MeasuredSpan(
            unix_s,
            interval_s,
            stopped_fraction=known[_STOPPED],
            delayed_fraction=known[_DELAYED],
            stalled_by_cause={cause: share for cause, share in held_for.items() if share},
            writes_per_s=known[_WRITES],
            write_p99_s=known[_P99],
            write_max_s=None if isnan(worst_s) else round(worst_s, 9),
            controller=settings.controller,
        )


def thinned(
    packed: Iterable[Packed], resolution: Resolution, from_unix_s: float, to_unix_s: float, most: int
) -> tuple[float, list[Point]]:
    """Return at most `most` points of this range, the newest, and how many seconds each covers.

    The points are aligned to multiples of that width, so that a moving chart shows the same points again. Gauges keep
    their peak; rates become means.
    """
    width_s = RESOLUTION_S[resolution]
    # A range that begins between two borders touches one point more; that is no reason to halve the resolution.
    is_long = to_unix_s - from_unix_s > most * width_s
    while (
        is_long and (to_unix_s // width_s) - (from_unix_s // width_s) + 1 > most and to_unix_s - from_unix_s > width_s
    ):
        steps = math.ceil((to_unix_s - from_unix_s) / width_s / max(1, most - 1))
        width_s *= max(2, steps)
    found: dict[float, tuple[_Row, _Settings]] = {}
    for bytes_, settings in packed:
        row = list(_ROW.unpack(bytes_))
        if not from_unix_s <= row[0] <= to_unix_s:
            continue
        bucket = row[0] // width_s
        known = found.get(bucket)
        found[bucket] = (row if known is None else _together(known[0], row), settings)
    return width_s, [_point(row, settings) for row, settings in found.values()][-most:]


def resolution_for(from_unix_s: float, now_unix_s: float) -> Resolution:
    """Return the finest tier that reaches back to `from_unix_s`."""
    return "1s" if now_unix_s - from_unix_s <= REACH_S["1s"] else "1m"


def _row(point: Point) -> _Row:
    causes: Mapping[Any, float] = point.stalled_by_cause or {}
    unknown = math.nan if point.stalled_by_cause is None else 0.0
    row = [point.unix_s, point.interval_s]
    for name in _COLUMNS:
        value = causes.get(name, unknown) if name in CAUSES else getattr(point, name)
        row.append(math.nan if value is None or isnan(value) else float(max(-_MOST, min(_MOST, value))))
    return row


def _together(before: _Row, after: _Row) -> _Row:
    """Merge two rows; a figure known in only one of them is kept as it is."""
    whole_s = before[1] + after[1]
    share = after[1] / whole_s if whole_s > 0 else 0.5
    row = [max(before[0], after[0]), whole_s]
    for column, (one, other) in enumerate(zip(before[2:], after[2:], strict=True)):
        if isnan(one) or isnan(other):
            row.append(other if isnan(one) else one)
        elif column < _FIRST_LARGEST:
            row.append(one + (other - one) * share)
        else:
            row.append(max(one, other))
    return row


def _point(row: _Row, settings: _Settings) -> Point:
    values = [
        None if isnan(value) else round(value, decimals) if decimals else round(value)
        for value, decimals in zip(row[2:], _COLUMNS.values(), strict=True)
    ]
    by_name: dict[str, Any] = dict(zip(_COLUMNS, values, strict=True))
    causes = {cause: by_name.pop(cause) for cause in CAUSES}
    return Point(
        unix_s=row[0],
        interval_s=round(row[1], 3),
        stalled_by_cause=None if None in causes.values() else {c: v for c, v in causes.items() if v},
        **{name: getattr(settings, name) for name in _SETTINGS},
        **by_name,
    )
