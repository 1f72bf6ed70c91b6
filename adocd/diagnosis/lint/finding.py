"""A finding, and the rule that makes it.

A rule is one function. Its docstring, "Find that ...", becomes its entry in docs/lint.md.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from adocd.diagnosis.lint.facts import Facts, Values


class Severity(StrEnum):
    """How much a finding matters, the worst first."""

    DANGER = "danger"
    """Tuning, or the configuration itself, can hurt the database."""
    USELESS = "useless"
    """A knob or a signal is dead: tuning does less than it seems to."""
    NOTE = "note"
    """Worth knowing before reading decisions and figures."""


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One finding; `reason`, `fix` and `source` are for a person to read, one sentence each."""

    rule: str
    severity: Severity
    #: The option or the knob that it is about.
    subject: str
    #: The column families concerned; empty if it is about the whole database.
    column_families: tuple[str, ...]
    reason: str
    fix: str
    #: Where RocksDB documents or does this: a file of its source, or an issue by repository and number.
    source: str


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule's function found, before the rule adds its constant parts."""

    subject: str
    reason: str
    fix: str
    column_families: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LintRule:
    """A rule's name, its summary, and the function that checks a database."""

    name: str
    severity: Severity
    summary: str
    source: str
    look: Callable[[Facts], Iterable[Hit]]

    def findings(self, facts: Facts) -> Iterator[LintFinding]:
        """Check one database."""
        for hit in self.look(facts):
            yield LintFinding(
                self.name, self.severity, hit.subject, hit.column_families, hit.reason, hit.fix, self.source
            )


def rule(severity: Severity, source: str) -> Callable[[Callable[[Facts], Iterable[Hit]]], LintRule]:
    """Make a rule from a function that checks the whole database; the rule takes the function's name."""

    def make(look: Callable[[Facts], Iterable[Hit]]) -> LintRule:
        summary = " ".join((inspect.getdoc(look) or "").split()).removeprefix("Find that ")
        return LintRule(look.__name__.replace("_", "-"), severity, summary, source, look)

    return make


def family_rule(severity: Severity, source: str) -> Callable[[Callable[[Values], Hit | None]], LintRule]:
    """Make a rule from a function that checks one column family.

    Column families with the same values share one finding, because there may be hundreds of them.
    """

    def make(look: Callable[[Values], Hit | None]) -> LintRule:
        def look_at_all(facts: Facts) -> Iterator[Hit]:
            found: dict[Hit, list[str]] = {}
            for name, options in sorted(facts.families.items()):
                if (hit := look(options)) is not None:
                    found.setdefault(hit, []).append(name)
            for hit, names in found.items():
                yield replace(hit, column_families=tuple(names))

        look_at_all.__name__, look_at_all.__doc__ = look.__name__, look.__doc__
        return rule(severity, source)(look_at_all)

    return make
