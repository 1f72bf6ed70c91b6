"""All rules in order. A new one is a function in one of these modules, in its RULES, and a row of docs/lint.md."""

from adocd.diagnosis.lint import knobs, measuring, memory, writes
from adocd.diagnosis.lint.facts import Facts
from adocd.diagnosis.lint.finding import Finding, Severity

RULES = (*writes.RULES, *knobs.RULES, *memory.RULES, *measuring.RULES)

#: These speak of what a law or an operator changes, and of what it may take: they have no say where nobody can.
_ABOUT_CHANGES = frozenset(
    (
        *knobs.RULES,
        *memory.RULES,
        measuring.changes_may_revert,
        measuring.limiter_may_tune_itself,
        measuring.limiter_tunes_itself,
        measuring.sync_comes_with_changes,
        measuring.families_are_many,
    )
)
_ORDER = tuple(Severity)


def findings(facts: Facts) -> tuple[Finding, ...]:
    """Ask every rule; dangers come first, then what makes tuning useless, then notes. Pure, and never raises.

    Of a database that is only observed, as by its directory, those are left out that are about changing it.
    """
    asked = RULES if facts.capabilities.can_change else [rule for rule in RULES if rule not in _ABOUT_CHANGES]
    found = [finding for rule in asked for finding in rule.findings(facts)]
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))
