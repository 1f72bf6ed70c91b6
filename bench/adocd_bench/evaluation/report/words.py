"""Figures as a reader wants them: three digits that mean something, and the unit."""

from collections.abc import Mapping
from datetime import UTC, datetime

from adocd.model.in_words import in_unit
from adocd_bench.evaluation.report.comparison import Cell, Comparison, Difference
from adocd_bench.evaluation.report.measures import Unit

NOT_MEASURED = "not measured"
#: Of a measure over run and drain.
CUT_OFF = "drain cut off"
#: Beside a figure that disturbed runs went into.
MARK = "\N{DAGGER}"
_DIFFERENCE: Mapping[Difference, str] = {"not shown": "difference not shown", "too few": "too few pairs"}


def digits(value: float) -> str:
    """Write a number with three digits that mean something, thousands set apart."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    shown = f"{value:.3g}"
    return f"{value:.6f}".rstrip("0").rstrip(".") if "e" in shown else shown


def share(value: float) -> str:
    """Write a share of 1 in percent."""
    return "0 %" if value == 0 else f"{digits(round(value * 100, 3))} %"


def micros(value_us: float) -> str:
    """Write a latency."""
    if value_us < 1000:
        return f"{digits(round(value_us, 1))} µs"
    return f"{digits(value_us / 1000)} ms" if value_us < 1e6 else f"{digits(value_us / 1e6)} s"


def size(value_bytes: float) -> str:
    """Write a size."""
    figure, unit = in_unit(value_bytes)
    return f"{digits(figure)} {unit}"


def rate(value_bytes_per_s: float) -> str:
    """Write a bandwidth, in powers of ten as caps have them."""
    return f"{digits(value_bytes_per_s / 1e6)} MB/s"


def span(seconds: float) -> str:
    """Write a length of time."""
    if seconds < 1:
        return f"{digits(seconds * 1000)} ms" if seconds else "0 s"
    if seconds < 120:
        return f"{digits(seconds)} s"
    return f"{digits(seconds / 60)} min" if seconds < 7200 else f"{digits(seconds / 3600)} h"


def moment(unix_s: float) -> str:
    """Write a moment, in UTC."""
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d %H:%M} UTC"


def counted(count: int, thing: str) -> str:
    """Write how many there are of a thing."""
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


_BY_UNIT = {
    "share": share,
    "us": micros,
    "bytes": size,
    "bytes_per_s": rate,
    "s": span,
    "per_s": digits,
    "count": digits,
    "times": digits,
    "cores": digits,
    "us_per_operation": micros,
}


def value(unit: Unit, amount: float | None) -> str:
    """Write one figure."""
    return NOT_MEASURED if amount is None else _BY_UNIT[unit](amount)


def cell(unit: Unit, found: Cell | None, marked: bool = False) -> str:
    """Write a median with its spread."""
    if found is None:
        return NOT_MEASURED
    mark = f" {MARK}" if marked else ""
    spread = _spread(value(unit, found.low), value(unit, found.high)) if found.count > 1 else ""
    return f"{value(unit, found.median)}{mark}{spread}"


def ratio(found: Cell | None) -> str:
    """Write a ratio with its spread."""
    if found is None:
        return "no ratio"
    spread = _spread(digits(round(found.low, 3)), digits(round(found.high, 3))) if found.count > 1 else ""
    return f"{digits(round(found.median, 3))}{spread}"


def compared(found: Comparison | None) -> str:
    """Write how a figure compares with the baseline's."""
    if found is None:
        return ""
    said = _DIFFERENCE.get(found.difference, found.difference)
    return f"{said}: {ratio(found.ratio)}"


def _spread(low: str, high: str) -> str:
    return "" if low == high else f" ({low} .. {high})"
