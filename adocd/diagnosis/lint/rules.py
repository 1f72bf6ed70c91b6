"""All rules in order. A new one is a function in one of these modules, in its RULES, and a row of docs/lint.md."""

from adocd.diagnosis.lint import knobs, measuring, memory, writes
from adocd.diagnosis.lint.facts import Facts
from adocd.diagnosis.lint.finding import LintFinding, Severity

RULES = (*writes.RULES, *knobs.RULES, *memory.RULES, *measuring.RULES)

#: Rules about what a law or an operator can change and the memory that takes; they do not apply where nobody can.
_ABOUT_CHANGES = frozenset(
    (
        *knobs.RULES,
        *memory.RULES,
        measuring.rocksdb_is_too_old,
        measuring.changes_may_revert,
        measuring.limiter_may_tune_itself,
        measuring.limiter_tunes_itself,
        measuring.sync_comes_with_changes,
        measuring.families_are_many,
    )
)
_ORDER = tuple(Severity)


def findings(facts: Facts) -> tuple[LintFinding, ...]:
    """Apply every rule. Dangers come first, then what makes tuning useless, then notes. Pure, and never raises.

    For a database that is only observed, e.g. by its directory, the rules about changing it are left out.
    """
    asked = RULES if facts.capabilities.can_change else [rule for rule in RULES if rule not in _ABOUT_CHANGES]
    found = [finding for rule in asked for finding in rule.findings(facts)]
    return tuple(sorted(found, key=lambda finding: _ORDER.index(finding.severity)))
