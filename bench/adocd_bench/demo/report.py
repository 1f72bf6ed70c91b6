"""The table at the end of the demo."""

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adocd_bench.demo.figures import DemoResult, HalfFigures
from adocd_bench.demo.words import as_intended, change_text, settings_text

_LISTED = 24
# The relative change of a share near 0 means nothing.
_NEGLIGIBLE_SHARE = 0.005


def print_report(console: Console, result: DemoResult) -> None:
    """Print both halves side by side, then the decisions with their reasons."""
    console.print(_table(result))
    for half in (result.fixed, result.adoc):
        _print_decisions(console, half)
    for warning in result.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))


def _table(result: DemoResult) -> Table:
    facts, fixed, adoc = result.facts, result.fixed, result.adoc
    place = f"{facts.profile} on {facts.device}" if facts.device else facts.profile
    table = Table(title=f"{facts.on} {facts.rocksdb_version}, {facts.seconds} s each, {place}", title_justify="left")
    table.add_column("")
    for name in ("fixed", "adoc", "change"):
        table.add_column(name, justify="right")
    rate, share = "{:,.0f}".format, "{:.1%}".format
    rows = [
        ("writes/s", rate, fixed.writes_per_s, adoc.writes_per_s),
        ("worst second, writes/s", rate, fixed.worst_second_writes_per_s, adoc.worst_second_writes_per_s),
        ("writer waiting, share of time", share, fixed.stalled_fraction, adoc.stalled_fraction),
        ("writes stopped, share of time", share, fixed.stopped_fraction, adoc.stopped_fraction),
        ("writes delayed, share of time", share, fixed.delayed_fraction, adoc.delayed_fraction),
    ]
    for label, form, before, after in rows:
        negligible = form is share and before < _NEGLIGIBLE_SHARE
        table.add_row(label, form(before), form(after), "" if negligible else change_text(before, after))
    table.add_row("decisions", str(len(fixed.decisions)), str(len(adoc.decisions)), "")
    return table


def _print_decisions(console: Console, half: HalfFigures) -> None:
    """Print why and how often each rule fired, then every decision."""
    if not half.decisions:
        return
    reasons = {note.rule: note.reason for note in half.decisions}
    rules = Table(title=f"Decisions of {half.policy}", title_justify="left")
    rules.add_column("times", justify="right")
    rules.add_column("rule", no_wrap=True)
    rules.add_column("reason")
    for rule, count in half.decisions_by_rule().items():
        rules.add_row(str(count), rule, reasons[rule])
    console.print(rules)
    console.print(_decision_table(half))
    if len(half.decisions) > _LISTED:
        console.print(f"and {len(half.decisions) - _LISTED} more; --json lists all", highlight=False)


def _decision_table(half: HalfFigures) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("after", justify="right", no_wrap=True)
    table.add_column("rule", no_wrap=True)
    table.add_column("set")
    table.add_column("on this signal", style="dim")
    for note in half.decisions[:_LISTED]:
        outcome = "" if as_intended(note) else f" ({note.outcome})"
        table.add_row(f"{note.after_s:.1f} s", note.rule, settings_text(note) + outcome, note.signal)
    return table
