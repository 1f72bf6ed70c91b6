"""Human-readable output of `adocctl lint`."""

import sys
import textwrap
from typing import Any

from rich.console import Console
from rich.text import Text

from adocd.cli.console import Terminal

_COLOURS = {"danger": "bold red", "useless": "yellow", "note": "cyan"}
#: Most column families named; the others are only counted.
_NAMED = 3


def findings(answer: dict[str, Any], console: Console | None = None) -> None:
    """Print all findings, dangers first, and the number of each severity."""
    console = console or Terminal()
    # One line each for programs that read the output; a person's terminal gets a hanging indent.
    width = console.width if console.is_terminal else sys.maxsize
    found = answer["findings"]
    console.print(Text(f"{answer['path']}: {_counts(found)}"))
    for finding in found:
        severity = finding["severity"]
        console.print()
        console.print(
            Text.assemble((severity, _COLOURS.get(severity, "")), f"  {finding['subject']}", _families(finding))
        )
        see = f"{finding['source']}; docs/lint.md, {finding['rule']}"
        for label, sentence in (("why", finding["reason"]), ("fix", finding["fix"]), ("see", see)):
            line = f"  {label}: {sentence}"
            console.print(Text(textwrap.fill(line, width, subsequent_indent=" " * 7, break_on_hyphens=False)))


def has_danger(answer: dict[str, Any]) -> bool:
    """Whether any finding is a danger."""
    return any(finding["severity"] == "danger" for finding in answer["findings"])


def _counts(found: list[dict[str, Any]]) -> str:
    count = dict.fromkeys(_COLOURS, 0)
    for finding in found:
        count[finding["severity"]] += 1
    if not found:
        return "nothing that makes tuning dangerous or useless"
    return f"{count['danger']} dangerous, {count['useless']} that make tuning useless, {count['note']} to note"


def _families(finding: dict[str, Any]) -> str:
    names = finding["column_families"]
    if not names:
        return ""
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f" of {', '.join(names[:_NAMED])}{more}"
