"""How `adocctl explain` prints a diagnosis: what stalled, how long, when, why, and what to do."""

import sys
import textwrap
from typing import Any

from rich.console import Console
from rich.text import Text

from adocd.api import explained
from adocd.cli.console import Terminal, columns
from adocd.cli.show import table
from adocd.cli.show_over_time import COLOURS, over_time
from adocd.cli.terminal import clock, zone
from adocd.model.in_words import span

_BAR = 20
#: Width of the other columns of the table of causes.
_BESIDE_BAR = 58


def diagnosis(d: dict[str, Any], console: Console | None = None) -> None:
    """Print a diagnosis; `d` is REST's JSON of it."""
    console = console or Terminal(width=columns())
    if d["begin"] is None:
        _print(console, "", f"{d['path']}: nothing has been seen of it yet; try again in two seconds")
        return
    version = f"RocksDB {d['rocksdb_version']}" if d["rocksdb_version"] else "RocksDB of a version that it does not say"
    from_to = f"{clock(d['begin'], date=True)} to {clock(d['end'], date=True)} {zone(d['end'])}".rstrip()
    _print(console, "", f"{d['path']}: {version}, {from_to}")
    if d.get("source") == "agent":
        _print(console, "", f"From what its agent tells, for {d['no_log'] or 'nothing is in its LOG yet'}.")
    elif d.get("no_log"):
        _print(console, "", f"Nothing newer is seen of it, for {d['no_log']}.")
    if d.get("is_reading"):
        _print(console, "", explained.READING)
    if d["unread_lines"]:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(d["unread_lines_by_kind"].items()))
        console.print(Text(f"{d['unread_lines']} of {d['lines']} lines could not be read ({kinds})."))
    if d["stepped_back"]:
        _print(console, "", _stepped_back(d["stepped_back"]))
    console.print(Text(_verdict(d), style="bold"))
    _now(d, console)
    if d["stalls"]:
        _causes(d, console)
        over_time(d, console)
        _longest(d, console)
        _advice(d, console)


def _now(d: dict[str, Any], console: Console) -> None:
    """Print what only a daemon knows: the current condition."""
    if now := d.get("now"):
        _print(
            console, "", f"Now: {now['condition']} since {clock(now['since_unix_s'])}: {now['why']}.", style="bold red"
        )
    if d.get("around"):
        _print(console, "", f"Around it: {d['around']}.")


def _stepped_back(steps: list[dict[str, Any]]) -> str:
    first, more = steps[0], len(steps) - 1
    again = f", and {more} more {'time' if more == 1 else 'times'}" if more else ""
    return (
        f"Times go back at line {first['line']}, from {clock(first['from_s'], date=True)} to "
        f"{clock(first['to_s'], date=True)}{again}: those lines are counted as if no time had passed."
    )


def _verdict(d: dict[str, Any]) -> str:
    waited_s = d["stall_s_by_rocksdb"]
    if waited_s is None:
        waited = "there is no dump of statistics that says how long writers waited"
    else:
        until = clock(d["stall_s_by_rocksdb_until"])
        waited = f"writers waited {span(waited_s)} by RocksDB's own count, last told at {until}"
    return f"{explained.held(d)}; {waited}."


def _causes(d: dict[str, Any], console: Console) -> None:
    console.print()
    longest_s = max(d["stall_s"].values()) or 1.0
    most = max(4, min(_BAR, console.width - _BESIDE_BAR))
    rows = table("because of", "for", "", "times", "stopped / slowed")
    for cause, stall_s in sorted(d["stall_s"].items(), key=lambda each: -each[1]):
        of_it = [stall for stall in d["stalls"] if stall["cause"] == cause]
        if of_it:
            by_kind = (sum(s["stalled_s"] for s in of_it if s["kind"] == kind) for kind in ("stopped", "delayed"))
            bar = Text("█" * max(1, round(most * stall_s / longest_s)), style=COLOURS[cause])
            rows.add_row(explained.CAUSES[cause], span(stall_s), bar, str(len(of_it)), " / ".join(map(span, by_kind)))
    console.print(rows)


def _longest(d: dict[str, Any], console: Console) -> None:
    console.print()
    console.print(Text("The longest:" if len(d["longest"]) > 1 else "The only one:"))
    dated = clock(d["begin"], date=True)[:10] != clock(d["end"], date=True)[:10]
    for stall in d["longest"]:
        _print(console, "  ", f"{clock(stall['begin'], date=dated)}  {explained.stall(stall)}")
        _print(console, "    ", explained.led(stall["led"]))
        if around := explained.around(stall["around"]):
            _print(console, "    ", around)
        values = {name: value for name, value in stall["led"]["options"].items() if name != "rate_limiter"}  # a pointer
        if values:
            _print(console, "    ", "with " + ", ".join(f"{name}={value}" for name, value in values.items()))


def _advice(d: dict[str, Any], console: Console) -> None:
    console.print()
    if not d["advice"]:
        console.print(Text("No rule knows what would help: the options now, where they are known, are usual."))
        return
    console.print(Text("What would likely help, the worst first:"))
    for each in d["advice"]:
        _print(
            console, "  ", f"{explained.CAUSES[each['cause']]} ({each['column_family']}): {each['do']}", style="bold"
        )
        _print(console, "    ", f"why: {each['why']}")
        _print(console, "    ", f"see: {each['source']}")


def _print(console: Console, indent: str, line: str, style: str = "") -> None:
    # One line each for programs that read the output; a person's terminal gets a hanging indent.
    width = console.width if console.is_terminal else sys.maxsize
    wrapped = textwrap.fill(line, width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)
    console.print(Text(wrapped, style=style))
