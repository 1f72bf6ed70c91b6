"""All rules in order. A new one is a function in one of these modules, in its RULES, and a row of docs/lint.md."""

from adocd.daemon.lint import knobs, measuring, memory, writes
from adocd.daemon.lint.facts import Facts
from adocd.daemon.lint.finding import Finding, Severity

RULES = (*writes.RULES, *knobs.RULES, *memory.RULES, *measuring.RULES)

_ORDER = tuple(Severity)


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Ask every rule; dangers come first, then what makes tuning useless, then notes. Pure, and never raises."""
    found = [finding for rule in RULES for finding in rule.findings(facts)]
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))
