"""A finding, and the rule that makes it.

A rule is one function; its docstring, "Find that ...", is what the documentation says of it.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from adocd.diagnosis.lint.facts import Facts, Values


class Severity(StrEnum):
    """How much it matters, the worst first."""

    DANGER = "danger"
    """Tuning, or the configuration by itself, can hurt the database."""
    USELESS = "useless"
    """A knob or a signal is dead: tuning does less than it seems to."""
    NOTE = "note"
    """Good to know before one reads the decisions and the figures."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found; `reason`, `fix` and `source` are for a person to read, a sentence each."""

    rule: str
    severity: Severity
    #: The option or the knob.
    subject: str
    #: Those that it is true of; empty where it is about the whole database.
    column_families: tuple[str, ...]
    reason: str
    fix: str
    #: Where RocksDB says or does so: a file of its source, or an issue by repository and number.
    source: str


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule's function found, before the rule adds what is always the same."""

    subject: str
    reason: str
    fix: str
    column_families: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule's name, what it says in general, and the function that looks."""

    name: str
    severity: Severity
    summary: str
    source: str
    look: Callable[[Facts], Iterable[Hit]]

    def findings(self, facts: Facts) -> Iterator[Finding]:
        """Look at one database."""
        for hit in self.look(facts):
            yield Finding(self.name, self.severity, hit.subject, hit.column_families, hit.reason, hit.fix, self.source)


def rule(severity: Severity, source: str) -> Callable[[Callable[[Facts], Iterable[Hit]]], Rule]:
    """Make a rule of a function that looks at the whole database; its name becomes the rule's."""

    def make(look: Callable[[Facts], Iterable[Hit]]) -> Rule:
        summary = " ".join((inspect.getdoc(look) or "").split()).removeprefix("Find that ")
        return Rule(look.__name__.replace("_", "-"), severity, summary, source, look)

    return make


def family_rule(severity: Severity, source: str) -> Callable[[Callable[[Values], Hit | None]], Rule]:
    """Make a rule of a function that looks at one column family.

    Column families with the same values make one finding together: there may be hundreds of them.
    """

    def make(look: Callable[[Values], Hit | None]) -> Rule:
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
