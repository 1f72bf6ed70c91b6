"""The points of the papers, and what our blocks say to each, if the mechanism that it is about acted in them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from adocd_bench.evaluation.report.claims import DIRECTIONS, ClaimFinding, ClaimRule, ClaimVerdict, stands
from adocd_bench.evaluation.report.lasting import Lasts
from adocd_bench.evaluation.report.mechanisms import acting, applied
from adocd_bench.evaluation.report.summary import Block
from adocd_bench.evaluation.search.sustained import Search


@dataclass(frozen=True, slots=True)
class ClaimPoint:
    """A sentence of a paper: where it stands, what it says, what it claims in short, and our rule.

    `needs` is scheme -> mechanism, where the sentence is not about what the scheme's own mechanism is.
    """

    source: str
    sentence: str
    claims: str
    rule: ClaimRule
    needs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Claim:
    """One of the five: its title and its points."""

    title: str
    points: tuple[ClaimPoint, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """A point with what our blocks say to it."""

    point: ClaimPoint
    verdict: ClaimVerdict
    findings: tuple[ClaimFinding, ...]


def judge(
    point: ClaimPoint, blocks: Sequence[Block], searches: Mapping[str, Search] = MappingProxyType({})
) -> Judgement:
    """Hold a point against all blocks, or against the searches for what lasts."""
    rule = point.rule
    found = [_finding(point, block) for block in blocks]
    if isinstance(rule, Lasts):
        found = [rule.judge_search(name, search) for name, search in searches.items()]
    findings = tuple(each for each in found if each is not None)
    return Judgement(point, _together(findings), findings)


def _finding(point: ClaimPoint, block: Block) -> ClaimFinding | None:
    """Hold a point against those runs of a block in which the mechanisms acted."""
    found = point.rule.judge(block)
    if found is None:
        return None
    schemes = {name: stands(block, name) for name in point.rule.schemes()}
    left, why = acting(block, {mine: point.needs.get(name, mine) for name, mine in schemes.items()})
    if left is None:
        return ClaimFinding(found.block, "did not act", f"{found.ours}; {why}", why)
    found = found if left is block else point.rule.judge(left)
    rules = applied(left, schemes.values())
    return replace(found, ours=f"{found.ours}; {rules}") if found is not None and rules else found


def _together(findings: Sequence[ClaimFinding]) -> ClaimVerdict:
    said = {finding.verdict for finding in findings}
    if verdicts := said - DIRECTIONS - {"not shown", "did not act"}:
        if verdicts == {"refuted", "not reproduced here"}:
            return "not reproduced here"
        return verdicts.pop() if len(verdicts) == 1 else "in part"
    if directions := said & DIRECTIONS:
        return directions.pop() if len(directions) == 1 else "not shown"
    # Where it acted in one block, and nothing was shown there, the others say nothing of it.
    return "did not act" if said == {"did not act"} else "not shown"
