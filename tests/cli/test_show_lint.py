"""How findings look in a terminal."""

from __future__ import annotations

from io import StringIO
from typing import Any

from rich.console import Console

from adocd.cli import show_lint


def finding(severity: str, *families: str) -> dict[str, Any]:
    return {
        "rule": "a-rule",
        "severity": severity,
        "subject": "an_option",
        "column_families": list(families),
        "reason": "an_option = [1]: it is so",
        "fix": "set it",
        "source": "RocksDB options.h",
    }


def shown(*findings: dict[str, Any]) -> str:
    output = StringIO()
    show_lint.findings({"path": "/db", "findings": list(findings)}, Console(file=output, width=100))
    return output.getvalue()


def test_nothing_found() -> None:
    assert shown() == "/db: nothing that makes tuning dangerous or useless\n"


def test_why_what_to_do_and_where_it_stands() -> None:
    assert shown(finding("danger", "default"), finding("note")) == (
        "/db: 1 dangerous, 0 that make tuning useless, 1 to note\n"
        "\n"
        "danger  an_option of default\n"
        "  why: an_option = [1]: it is so\n"
        "  fix: set it\n"
        "  see: RocksDB options.h; docs/lint.md, a-rule\n"
        "\n"
        "note  an_option\n"
        "  why: an_option = [1]: it is so\n"
        "  fix: set it\n"
        "  see: RocksDB options.h; docs/lint.md, a-rule\n"
    )


def test_a_terminal_gets_a_hanging_indent() -> None:
    output = StringIO()
    long = finding("note") | {"reason": "an_option = 1: it is so and so and so and so and so"}
    terminal = Console(file=output, width=40, force_terminal=True, color_system=None)
    show_lint.findings({"path": "/db", "findings": [long]}, terminal)
    assert "  why: an_option = 1: it is so and so\n       and so and so and so\n" in output.getvalue()


def test_hundreds_of_column_families_are_counted() -> None:
    assert "an_option of a, b, c and 2 more" in shown(finding("useless", *"abcde"))


def test_only_a_danger_is_one() -> None:
    assert show_lint.has_danger({"findings": [finding("note"), finding("danger")]})
    assert not show_lint.has_danger({"findings": [finding("useless")]})
