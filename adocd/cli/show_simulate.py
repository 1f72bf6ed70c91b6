"""Human-readable output of `simulate`: one line per signal over time, then the figures."""

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from adocd.cli.console import Terminal
from adocd.cli.show import table
from adocd.model.in_words import count, size, span

_EIGHTHS = "▁▂▃▄▅▆▇█"
_CAUSES = {"memtable": "memtables", "l0": "level-0 files", "pending_bytes": "pending compaction"}


def simulation(s: dict[str, Any], parts: list[dict[str, Any]], console: Console | None = None) -> None:
    """Print a run's figures, and its signals over time from `parts`."""
    console = console or Terminal()
    words = ", ".join(f"{name}={value}" for name, value in s["parameters"].items())
    policy = f"{s['policy']} ({words})" if words else s["policy"]
    console.print(
        Text(f"{policy} on {s['profile']}, {s['workload']}, {span(s['simulated_s'])} simulated", style="bold")
    )
    if (limiter := s["rate_limiter_bytes_per_s"]) is not None:
        console.print(Text(f"with a rate limiter that starts at {limiter / 1e6:,.0f} MB/s"))
    console.print()
    if parts:
        _draw(console, parts)
    console.print()
    _figures(console, s)


def _draw(console: Console, parts: list[dict[str, Any]]) -> None:
    for name, key, write, style in _LINES:
        values = [part[key] for part in parts]
        known = [value for value in values if value is not None]
        if not known:
            continue
        top = 1.0 if key == "stalled_fraction" else max(known)
        chart = "".join(" " if value is None else _column(value, top) for value in values)
        range_ = write(known[0]) if min(known) == max(known) else f"{write(min(known))} to {write(max(known))}"
        console.print(Text.assemble(f"{name:<16}|", (chart, style), f"| {range_}"))
    end = span(parts[-1]["end_s"])
    console.print(Text(f"{'':<17}0{end:>{max(len(end) + 1, len(parts) - 1)}}"))


def _column(value: float, top: float) -> str:
    if value <= 0 or top <= 0:
        return " "
    return _EIGHTHS[min(7, int(8 * value / top))]


def _figures(console: Console, s: dict[str, Any]) -> None:
    rows = table("writes/s", "waited", "because of", "", "decisions", "write amplification")
    causes = sorted(s["stall_s"].items(), key=lambda each: -each[1])
    waited = [(cause, seconds) for cause, seconds in causes if seconds > 0]
    amplification = "-" if s["write_amplification"] is None else f"{s['write_amplification']:.1f}"
    for index, (cause, seconds) in enumerate(waited or [(None, 0.0)]):
        first = index == 0
        rows.add_row(
            f"{s['writes_per_s']:,.0f}" if first else "",
            f"{s['stalled_fraction']:.1%} of the time" if first else "",
            "nothing" if cause is None else _CAUSES[cause],
            "" if cause is None else span(seconds),
            str(s["decisions"]) if first else "",
            amplification if first else "",
        )
    console.print(rows)
    console.print(
        Text(
            f"Writes were slowed for {span(s['delayed_s'])} and stopped for {span(s['stopped_s'])}; "
            f"simulated in {s['elapsed_s']:.1f} s. A model of RocksDB 7.8, not a prediction: docs/simulator.md."
        )
    )


_LINES: tuple[tuple[str, str, Callable[[float], str], str], ...] = (
    ("writes/s", "writes_per_s", count, "green"),
    ("writers waited", "stalled_fraction", lambda value: f"{value:.0%}", "red"),
    ("level-0 files", "l0_files", lambda value: f"{value:.0f}", "yellow"),
    ("pending", "pending_bytes", size, "cyan"),
    ("background jobs", "background_jobs", lambda value: f"{value:.0f}", "blue"),
    ("batch", "batch_bytes", size, "magenta"),
)
