"""How `adocctl explain` shows a diagnosis: what stalled, how long, when, why, and what to do."""

import sys
import textwrap
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from adocd.cli.show import table

_NAMES = {"memtable": "memtables", "l0": "level-0 files", "pending_bytes": "pending compaction", "other": "other"}
_COLOURS = {"memtable": "magenta", "l0": "yellow", "pending_bytes": "cyan", "other": "white"}
_KINDS = {"stopped": "stopped", "delayed": "slowed"}
#: By the dumps of statistics, spread evenly over the time between two.
_WAITED = "writers waited"
_DISKS, _CPUS = "disks", "CPUs"
_EIGHTHS = "▁▂▃▄▅▆▇█"
_BAR = 20
_UNITS = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def diagnosis(d: dict[str, Any], console: Console | None = None) -> None:
    """Show all of it."""
    console = console or Console(highlight=False, soft_wrap=True)
    if d["begin"] is None:
        console.print(Text(f"{d['path']}: nothing has been seen of it yet; try again in two seconds"))
        return
    version = f"RocksDB {d['rocksdb_version']}" if d["rocksdb_version"] else "RocksDB of a version that it does not say"
    console.print(Text(f"{d['path']}: {version}, {_clock(d['begin'], date=True)} to {_clock(d['end'], date=True)} UTC"))
    if d.get("source") == "agent":
        _print(console, "", f"From what its agent tells, for {d['no_log'] or 'nothing is in its LOG yet'}.")
    if d["unread_lines"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(d["unread_lines_by_kind"].items()))
        console.print(Text(f"{d['unread_lines']} of {d['lines']} lines could not be read ({kinds})."))
    console.print(Text(_verdict(d), style="bold"))
    _now(d, console)
    if d["stalls"]:
        _causes(d, console)
        _over_time(d, console)
        _longest(d, console)
        _advice(d, console)


def _now(d: dict[str, Any], console: Console) -> None:
    """Show what a daemon adds: what is now."""
    if now := d.get("now"):
        _print(
            console, "", f"Now: {now['condition']} since {_clock(now['since_unix_s'])}: {now['why']}.", style="bold red"
        )
    if d.get("around"):
        _print(console, "", f"Around it: {d['around']}.")


def _verdict(d: dict[str, Any]) -> str:
    length_s = d["end"] - d["begin"]
    waited_s = d["stall_s_by_rocksdb"]
    if waited_s is None:
        waited = "there is no dump of statistics that says how long writers waited"
    else:
        waited = f"writers waited {_seconds(waited_s)} by RocksDB's own count"
    if not d["stalls"]:
        return f"No line tells of a stall in {_seconds(length_s)}; {waited}."
    share = f", {d['stalled_s'] / length_s:.0%} of the time" if length_s > 0 else ""
    return f"Writes were slowed or stopped for {_seconds(d['stalled_s'])} of {_seconds(length_s)}{share}; {waited}."


def _causes(d: dict[str, Any], console: Console) -> None:
    console.print()
    longest_s = max(d["stall_s"].values()) or 1.0
    rows = table("because of", "for", "", "times", "stopped / slowed")
    for cause, stall_s in sorted(d["stall_s"].items(), key=lambda each: -each[1]):
        of_it = [stall for stall in d["stalls"] if stall["cause"] == cause]
        if of_it:
            by_kind = (sum(s["stalled_s"] for s in of_it if s["kind"] == kind) for kind in ("stopped", "delayed"))
            bar = Text("█" * max(1, round(_BAR * stall_s / longest_s)), style=_COLOURS[cause])
            rows.add_row(_NAMES[cause], _seconds(stall_s), bar, str(len(of_it)), " / ".join(map(_seconds, by_kind)))
    console.print(rows)


def _over_time(d: dict[str, Any], console: Console) -> None:
    buckets = d["over_time"]
    if not buckets:
        return
    width_s = buckets[0]["end"] - buckets[0]["begin"]
    console.print()
    console.print(Text(f"Over time: a column is {_seconds(width_s)}, a full one is stalled throughout."))
    label = max(map(len, (_WAITED, *_NAMES.values())))
    for cause, stall_s in d["stall_s"].items():
        if stall_s > 0:
            chart = "".join(_column(bucket[cause], bucket["end"] - bucket["begin"]) for bucket in buckets)
            console.print(Text.assemble(f"{_NAMES[cause]:<{label}} |", (chart, _COLOURS[cause]), "|"))
    if d["stall_s_by_rocksdb"]:
        chart = "".join(_column(bucket["by_rocksdb"], bucket["end"] - bucket["begin"]) for bucket in buckets)
        console.print(Text(f"{_WAITED:<{label}} |{chart}|"))
    _around_over_time([bucket["around"] for bucket in buckets], label, console)
    begin, end = _clock(d["begin"]), _clock(d["end"])
    console.print(Text(f"{'':<{label}}  {begin}{end:>{max(len(end) + 1, len(buckets) - len(begin))}}"))


def _around_over_time(arounds: list[dict[str, Any] | None], label: int, console: Console) -> None:
    """Draw what disks and process did in the same columns; an empty column was not measured, or nothing happened."""
    disks = [_disk_bytes_per_s(around) for around in arounds]
    most = max((each for each in disks if each is not None), default=0.0)
    if most > 0:
        chart = "".join(_column(each or 0.0, most) for each in disks)
        console.print(Text.assemble(f"{_DISKS:<{label}} |", (chart, "blue"), f"|  most: {_bytes(most)}/s"))
    cpus = [None if around is None else around["cpu_cores"] for around in arounds]
    limit = max((around["cpu_limit_cores"] or 0.0 for around in arounds if around is not None), default=0.0)
    if limit > 0 and any(cpus):
        chart = "".join(_column(each or 0.0, limit) for each in cpus)
        console.print(Text.assemble(f"{_CPUS:<{label}} |", (chart, "green"), f"|  of {limit:.3g}"))


def _disk_bytes_per_s(around: dict[str, Any] | None) -> float | None:
    if around is None or around["write_bytes_per_s"] is None:
        return None
    return float(around["write_bytes_per_s"] + (around["read_bytes_per_s"] or 0.0))


def _around(around: dict[str, Any]) -> str:
    """Say in a line what disks and process did at the time of a stall."""
    parts = []
    if around["write_bytes_per_s"] is not None:
        disks = f"disks wrote {_bytes(around['write_bytes_per_s'])}/s and read {_bytes(around['read_bytes_per_s'])}/s"
        queue = f", {around['busy_fraction']:.0%} busy, queue {around['mean_queue']:.1f}"
        limit = f", at their limit {around['at_limit_fraction']:.0%} of it" if around["at_limit_fraction"] else ""
        parts.append(disks + queue + limit)
    if around["cpu_cores"] is not None:
        of = "" if around["cpu_limit_cores"] is None else f" of {around['cpu_limit_cores']:.3g}"
        parts.append(f"the process used {around['cpu_cores']:.2g}{of} CPUs")
    if around["io_pressure_some_fraction"] is not None:
        parts.append(f"some task waited for I/O {around['io_pressure_some_fraction']:.0%} of it")
    return "then " + "; ".join(parts) if parts else "nothing was measured of disks and process then"


def _column(stalled_s: float, of_s: float) -> str:
    if stalled_s <= 0 or of_s <= 0:
        return " "
    return _EIGHTHS[min(7, int(8 * stalled_s / of_s))]


def _longest(d: dict[str, Any], console: Console) -> None:
    console.print()
    console.print(Text("The longest:" if len(d["longest"]) > 1 else "The only one:"))
    for stall in d["longest"]:
        open_end = "" if stall["ended"] else ", and its end is not told"
        _print(
            console,
            "  ",
            f"{_clock(stall['begin'])}  {_seconds(stall['stalled_s'])} {_KINDS[stall['kind']]} because of "
            f"{_NAMES[stall['cause']]} in {stall['column_family']}: {_said(stall)}{open_end}",
        )
        led = stall["led"]
        _print(
            console,
            "    ",
            f"in the {led['seconds']} s before: {led['flushes']} flushes ({_bytes(led['flushed_bytes'])}), "
            f"{led['compactions']} compactions ({_bytes(led['compacted_bytes'])} written); then "
            f"{led['compactions_running']} compactions running, "
            f"{_known(led['l0_files'])} level-0 files, "
            f"{'unknown' if led['pending_compaction_bytes'] is None else _bytes(led['pending_compaction_bytes'])} "
            "pending",
        )
        if stall["around"] is not None:
            _print(console, "    ", _around(stall["around"]))
        values = {name: value for name, value in led["options"].items() if name != "rate_limiter"}  # a pointer
        if values:
            _print(console, "    ", "with " + ", ".join(f"{name}={value}" for name, value in values.items()))


def _said(stall: dict[str, Any]) -> str:
    said, figure = stall["said"], stall["said"]["figure"]
    if figure is None:
        words = "the line gives no figure"
    elif stall["cause"] == "memtable":
        words = f"{figure} memtables to flush" + (f" of {said['limit']}" if said["limit"] is not None else "")
    elif stall["cause"] == "l0":
        words = f"{figure} level-0 files"
    else:
        words = f"{_bytes(figure)} pending"
    rate = said["rate_bytes_per_s"]
    return words if rate is None else f"{words}, down to {_bytes(rate)}/s"


def _advice(d: dict[str, Any], console: Console) -> None:
    console.print()
    if not d["advice"]:
        console.print(Text("No rule knows what would help: the options in the LOG, where there are any, are usual."))
        return
    console.print(Text("What would likely help, the worst first:"))
    for each in d["advice"]:
        _print(console, "  ", f"{_NAMES[each['cause']]} ({each['column_family']}): {each['do']}", style="bold")
        _print(console, "    ", f"why: {each['why']}")
        _print(console, "    ", f"see: {each['source']}")


def _print(console: Console, indent: str, line: str, style: str = "") -> None:
    # A line each for what reads us; a person's terminal gets a hanging indent.
    width = console.width if console.is_terminal else sys.maxsize
    # Column families are named by whoever made them: nothing in a name shall steer the terminal.
    line = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in line)
    wrapped = textwrap.fill(line, width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    console.print(Text(wrapped, style=style))


def _clock(time_s: float, *, date: bool = False) -> str:
    try:
        return f"{datetime.fromtimestamp(time_s, UTC):{'%Y-%m-%d %H:%M:%S' if date else '%H:%M:%S'}}"
    except (ValueError, OverflowError, OSError):
        return f"{time_s:.0f}"


def _seconds(seconds: float) -> str:
    if seconds >= 7200:
        return f"{seconds / 3600:.1f} h"
    if seconds >= 120:
        return f"{seconds / 60:.1f} min"
    return f"{seconds:.1f} s" if seconds >= 10 else f"{seconds:.3g} s"


def _bytes(value: float) -> str:
    for unit, name in _UNITS:
        if value >= unit:
            return f"{value / unit:.3g} {name}"
    return f"{value:.0f} bytes"


def _known(value: int | None) -> str:
    return "unknown" if value is None else str(value)
