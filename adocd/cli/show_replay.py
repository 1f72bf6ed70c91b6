"""Human-readable output of `replay`."""

from datetime import datetime
from typing import Any

from rich.console import Console
from rich.text import Text

from adocd.cli.console import Terminal
from adocd.cli.show import table
from adocd.daemon.watch.decision_log import settings_in_words
from adocd.model.decision import Setting

#: Most decisions shown; --json has all.
_SHOWN = 200


def replay(r: dict[str, Any], console: Console | None = None) -> None:
    """Print a replay's result."""
    console = console or Terminal()
    words = ", ".join(f"{name}={value}" for name, value in r["parameters"].items())
    policy = f"{r['policy']} ({words})" if words else r["policy"]
    when = _when(r["recorded"]["began_unix_s"])
    version = f", RocksDB {r['rocksdb_version']}" if r["rocksdb_version"] else ""
    console.print(
        Text(
            f"{policy} on {r['path']}{version}: {r['samples']} samples over {r['seconds']:.1f} s, "
            f"{when} under {', then '.join(r['recorded']['policies']) or 'no policy'}",
            style="bold",
        )
    )
    console.print(Text(f"{r['note']}."))
    console.print()
    for idle in r["idle"]:
        console.print(Text(f"From {idle['time_s']:.1f} s: {idle['why']}"))
    for knob, why in r["left_out"].items():
        console.print(Text(f"{knob} is left out: {why}"))
    _decisions(console, r)
    for sentence in _counts(r):
        console.print(Text(sentence))


def _decisions(console: Console, r: dict[str, Any]) -> None:
    if not r["decisions"]:
        console.print("It would have decided nothing.")
        return
    rows = table("at", "rule", "would set", "where there was", "because", "again")
    for decided in r["decisions"][:_SHOWN]:
        settings = tuple(Setting(s["knob"], s["value"], s["column_family"]) for s in decided["settings"])
        what = [settings_in_words((setting,)) for setting in settings] or ["-"]
        if decided["outcome"] == "refused":
            what = ["nothing, refused:", *decided["guards"]]
        rows.add_row(
            f"{decided['time_s']:.1f} s",
            Text(decided["rule"]),
            Text("\n".join(what)),
            Text("\n".join(_was(change) for change in decided["changes"]) or "-"),
            Text("\n".join([decided["signal"], *(decided["guards"] if decided["outcome"] == "would set" else [])])),
            str(decided["same_again"] or ""),
        )
    console.print(rows)


def _when(unix_s: float) -> str:
    if unix_s == 0:  # the start of a simulation
        return "simulated"
    return f"recorded from {datetime.fromtimestamp(unix_s).astimezone():%Y-%m-%d %H:%M:%S}"


def _was(change: dict[str, Any]) -> str:
    option = change["option"]
    return f"{option['option']}{' (' + option['name'] + ')' if option['name'] else ''} {change['before']}"


def _counts(r: dict[str, Any]) -> list[str]:
    found = []
    if (hidden := len(r["decisions"]) - _SHOWN + r["not_listed"]) > 0 and len(r["decisions"]) >= _SHOWN:
        found.append(f"{hidden} later decisions are not shown; --json has {len(r['decisions'])}.")
    if r["same_again"]:
        found.append(
            f"{r['same_again']} times it repeated a decision, because its decisions do not change the recording."
        )
    if r["unchanged"]:
        found.append(f"{r['unchanged']} times it decided the values already set.")
    if r["gaps"]:
        found.append(f"The recording has {r['gaps']} gaps, in which {r['missed']} of the daemon's samples are missing.")
    if r["damaged_lines"]:
        found.append(f"{r['damaged_lines']} lines of the recording are damaged, and were left out.")
    if r["torn"]:
        found.append("The recording is truncated: it is replayed as far as it goes.")
    return found
