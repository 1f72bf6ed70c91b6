"""How `adocctl explain` charts stalls over time, as wide as the terminal."""

from collections.abc import Callable
from math import ceil
from typing import Any

from rich.console import Console
from rich.text import Text

from adocd.api.explained import CAUSES
from adocd.cli.terminal import clock
from adocd.model.in_words import size, span

COLOURS = {"memtable": "magenta", "l0": "yellow", "pending_bytes": "cyan", "other": "white"}
#: By RocksDB's own count; if only statistics dumps have it, spread evenly over the time between two dumps.
_WAITED = "writers waited"
_DISKS, _CPUS = "disks", "CPUs"
_LABEL = max(map(len, (_WAITED, *CAUSES.values())))
_EIGHTHS = "▁▂▃▄▅▆▇█"
_NOT_MEASURED = "?"
#: Width around a chart: its label and frame, and the disks' maximum after it.
_BESIDE = _LABEL + len(" ||") + len("  most: 1000 MiB/s")
_COLUMNS_LEAST = 10

_Column = list[dict[str, Any]]


def over_time(d: dict[str, Any], console: Console) -> None:
    """Chart each cause, how long writers waited, and what disks and process did, on one time axis."""
    buckets = d["over_time"]
    if not buckets:
        return
    columns = _columns(buckets, console.width - _BESIDE)
    lasted = [column[-1]["end"] - column[0]["begin"] for column in columns]
    console.print()
    partly = any(bucket["around"] for bucket in buckets) or (
        d["stall_s_by_rocksdb"] and any(bucket["by_rocksdb"] is None for bucket in buckets)
    )
    unmeasured = f"; {_NOT_MEASURED} was not measured" if partly else ""
    console.print(Text(f"Over time: a column is {span(lasted[0])}, a full one was stalled throughout{unmeasured}."))
    shown = {cause: (CAUSES[cause], COLOURS[cause]) for cause, stall_s in d["stall_s"].items() if stall_s > 0}
    if d["stall_s_by_rocksdb"]:
        shown["by_rocksdb"] = _WAITED, ""
    for member, (name, colour) in shown.items():
        chart = "".join(_measured(_share(column, member), 1.0) for column in columns)
        console.print(Text.assemble(f"{name:<{_LABEL}} |", (chart, colour), "|"))
    _around(columns, console)
    begin, end = clock(d["begin"]), clock(d["end"])
    console.print(Text(f"{'':<{_LABEL}}  {begin}{end:>{max(len(end) + 1, len(columns) - len(begin))}}"))


def _columns(buckets: list[dict[str, Any]], most: int) -> list[_Column]:
    """Merge neighbours, equally many per column, so that all columns fit the terminal."""
    together = ceil(len(buckets) / max(_COLUMNS_LEAST, most))
    return [buckets[at : at + together] for at in range(0, len(buckets), together)]


def _around(columns: list[_Column], console: Console) -> None:
    disks = [_mean(column, _disk_bytes_per_s) for column in columns]
    most = max((each for each in disks if each is not None), default=0.0)
    if most > 0:
        chart = "".join(_measured(each, most) for each in disks)
        console.print(Text.assemble(f"{_DISKS:<{_LABEL}} |", (chart, "blue"), f"|  most: {size(most)}/s"))
    cpus = [_mean(column, lambda around: around["cpu_cores"]) for column in columns]
    arounds = [bucket["around"] for column in columns for bucket in column]
    limit = max((around["cpu_limit_cores"] or 0.0 for around in arounds if around is not None), default=0.0)
    if limit > 0 and any(cpus):
        chart = "".join(_measured(each, limit) for each in cpus)
        console.print(Text.assemble(f"{_CPUS:<{_LABEL}} |", (chart, "green"), f"|  of {limit:.3g}"))


def _share(column: _Column, member: str) -> float | None:
    """Return the share of the measured time; None if nothing was measured."""
    known = [bucket for bucket in column if bucket[member] is not None]
    known_s = sum(bucket["end"] - bucket["begin"] for bucket in known)
    return sum(bucket[member] for bucket in known) / known_s if known_s > 0 else None


def _mean(column: _Column, figure: Callable[[dict[str, Any]], float | None]) -> float | None:
    """Return the mean over the measured parts; None if nothing was measured."""
    measured = [(bucket["end"] - bucket["begin"], bucket["around"]) for bucket in column if bucket["around"]]
    known = [(weight_s, value) for weight_s, around in measured if (value := figure(around)) is not None]
    weights_s = sum(weight_s for weight_s, _ in known)
    return sum(weight_s * value for weight_s, value in known) / weights_s if weights_s > 0 else None


def _disk_bytes_per_s(around: dict[str, Any]) -> float | None:
    if around["write_bytes_per_s"] is None:
        return None
    return float(around["write_bytes_per_s"] + (around["read_bytes_per_s"] or 0.0))


def _measured(value: float | None, most: float) -> str:
    return _NOT_MEASURED if value is None else _eighths(value, most)


def _eighths(part: float, of: float) -> str:
    if part <= 0 or of <= 0:
        return " "
    return _EIGHTHS[min(7, int(8 * part / of))]
