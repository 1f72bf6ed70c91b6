"""The points of the papers, and what our blocks say to each, if the mechanism that it is about acted in them."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report import words
from adocd_bench.evaluation.report.claims import DIRECTIONS, NO_VERDICTS, ClaimFinding, ClaimRule, ClaimVerdict, stands
from adocd_bench.evaluation.report.lasting import Lasts
from adocd_bench.evaluation.report.mechanisms import acting, applied, idle
from adocd_bench.evaluation.report.pairs import unlike
from adocd_bench.evaluation.report.summary import Block, SchemeSummary
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

    @property
    def in_words(self) -> str:
        """Say the verdict, and of how many blocks it is where others with enough pairs show nothing."""
        verdicts = sum(found.verdict not in NO_VERDICTS for found in self.findings)
        silent = sum(found.shows_nothing for found in self.findings)
        if not verdicts or not silent:
            return self.verdict
        return f"{self.verdict} ({verdicts} of {verdicts + silent} blocks; {silent} show{'s' * (silent == 1)} nothing)"


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
    mechanisms = {mine: point.needs.get(name, mine) for name, mine in schemes.items()}
    left, why = acting(block, mechanisms)
    if left is None:
        return ClaimFinding(found.block, "did not act", f"{found.ours}; {why}", why)
    found = found if left is block else point.rule.judge(left)
    if found is None:
        return None
    said = (found.ours, applied(left, schemes.values()), left_out(block, idle(block, mechanisms)))
    return replace(found, ours="; ".join(each for each in said if each))


def left_out(block: Block, missing: Mapping[str, Mapping[int, str]]) -> str:
    """Say how many pairs, or runs of one scheme, count in a verdict, and why the others do not; empty where all do.

    `missing` is what the mechanism lacked, by scheme and repetition, of the schemes that the verdict is on.
    """
    schemes = [scheme for scheme in map(block.scheme, missing) if scheme is not None]
    repetitions = sorted({judged.run.repetition for scheme in schemes for judged in scheme.runs})
    by_reason: dict[str, list[int]] = {}
    for repetition in repetitions:
        if why := _why_left_out(schemes, missing, repetition):
            by_reason.setdefault(why, []).append(repetition)
    if not by_reason:
        return ""
    counting = len(repetitions) - sum(len(each) for each in by_reason.values())
    whole = words.counted(len(repetitions), "pair" if len(schemes) > 1 else "run")
    said = "; ".join(f"repetition {', '.join(map(str, each))}: {why}" for why, each in by_reason.items())
    return f"{counting} of {whole} count, without {said}"


def _why_left_out(
    schemes: Sequence[SchemeSummary], missing: Mapping[str, Mapping[int, str]], repetition: int
) -> str | None:
    runs: list[RawRun] = []
    for scheme in schemes:
        judged = scheme.run(repetition)
        if judged is None:
            return f"{scheme.name} has no run"
        if why := missing[scheme.name].get(repetition):
            return f"{scheme.name} did not act ({why})"
        if judged.marks:
            return f"{scheme.name} was disturbed ({'; '.join(judged.marks)})"
        runs.append(judged.run)
    return next((why for one, other in itertools.pairwise(runs) if (why := unlike(one, other))), None)


def _together(findings: Sequence[ClaimFinding]) -> ClaimVerdict:
    said = {finding.verdict for finding in findings}
    if verdicts := said - NO_VERDICTS:
        if verdicts == {"refuted", "not reproduced here"}:
            return "not reproduced here"
        return verdicts.pop() if len(verdicts) == 1 else "in part"
    if directions := said & DIRECTIONS:
        return directions.pop() if len(directions) == 1 else "not shown"
    # Where it acted in one block, and nothing was shown there, the others say nothing of it.
    return "did not act" if said == {"did not act"} else "not shown"
