"""The rules as a table of Markdown, for docs/lint.md; `python -m adocd.diagnosis.lint.table` prints it."""

from adocd.diagnosis.lint.finding import LintRule, Severity
from adocd.diagnosis.lint.rules import RULES


def rows() -> list[str]:
    """Return the table with one row per rule, dangers first."""
    ordered = sorted(RULES, key=lambda rule: tuple(Severity).index(rule.severity))
    return ["| rule | kind | what it finds | source |", "|---|---|---|---|", *map(_row, ordered)]


def _row(rule: LintRule) -> str:
    option = "_" in rule.summary.split()[0]
    summary = rule.summary if option else rule.summary[:1].upper() + rule.summary[1:]
    return f"| `{rule.name}` | {rule.severity} | {summary} | {rule.source} |"


if __name__ == "__main__":
    print("\n".join(rows()))
