"""The report's claims: what must act, the verdicts point by point, and what of the papers they cover."""

from collections import Counter
from collections.abc import Mapping, Sequence

from adocd_bench.evaluation.report import comparison
from adocd_bench.evaluation.report.coverage import coverage
from adocd_bench.evaluation.report.document import Heading, Paragraph, Part, Table
from adocd_bench.evaluation.report.mechanisms import MECHANISMS
from adocd_bench.evaluation.report.papers import CLAIMS
from adocd_bench.evaluation.report.points import Judgement, judge
from adocd_bench.evaluation.report.summary import Block
from adocd_bench.evaluation.search.sustained import Search


def judgements(blocks: Sequence[Block], searches: Mapping[str, Search]) -> list[tuple[str, list[Judgement]]]:
    """Hold every claim against the blocks, and against what lasts."""
    return [(claim.title, [judge(point, blocks, searches) for point in claim.points]) for claim in CLAIMS]


def claim_parts(blocks: Sequence[Block], searches: Mapping[str, Search]) -> list[Part]:
    """Write what must act, the claims, and what of the papers they cover."""
    judged = judgements(blocks, searches)
    parts: list[Part] = [
        *_mechanisms(),
        Heading(2, "Five claims, point by point"),
        Paragraph(
            "Each sentence of a paper is held against our runs by the rule beside it. Reproduced: the difference is "
            "there, and at least of the size that the paper gives for this kind of device. Smaller: it is there, but "
            "smaller. Refuted: the opposite was measured here, by our law on this machine. Not reproduced here: the "
            "two schemes are the same, or no run keeps the bound. These verdicts need "
            f"{comparison.LEAST_PAIRS} undisturbed pairs. Direction, opposite direction: what "
            f"{comparison.DIRECTION_PAIRS} or {comparison.LEAST_PAIRS - 1} pairs show, or one search for what lasts. "
            "Not shown: fewer pairs, neither a difference nor sameness, a baseline in which writes were held "
            f"for less than {100 * comparison.LEAST_HELD:g} % of the time, a cause for which neither of the two was "
            "held, or not run. Did not act: in no run did the "
            "law do what the sentence is about, or the load was beyond what the law presumes. Where a block has the "
            "scheme silk-floor, it is judged as silk, and silk-floor-bandwidth as silk-bandwidth. "
            "2 of 3 blocks; 1 shows nothing: of the blocks with enough pairs so many have a verdict, and in the others "
            "the pairs do not decide it."
        ),
    ]
    for number, (title, points) in enumerate(judged, 1):
        rows = [
            (found.point.source, f"\N{LEFT DOUBLE QUOTATION MARK}{found.point.sentence}\N{RIGHT DOUBLE QUOTATION MARK}",
             found.point.claims, found.point.rule.words(), _ours(found), found.in_words)
            for found in points
        ]  # fmt: skip
        parts.append(Heading(3, f"{number}. {title}"))
        head = ("source", "the paper's words", "claims", "our rule", "our figures", "verdict")
        parts.append(Table(f"Points of claim {number}", head, tuple(rows), words=6))
    return parts + _coverage(judged, blocks)


def _mechanisms() -> list[Part]:
    rows = tuple((name, found.words(), found.workload) for name, found in MECHANISMS.items())
    return [
        Heading(2, "What must act"),
        Paragraph(
            "A claim rests on the runs in which its law did what the claim is about: the knobs below were away from "
            "their values at open by more than 1 %, by an applied decision, for at least this share of the phase, "
            "which in an open loop is the time of its load, without what was done late. And the load must be one "
            "that the law presumes: SILK's floor must flush what is written in the peaks, as its paper has it "
            "(5.2.2). Other schemes are options at open, and need nothing."
        ),
        Table("Mechanisms, and the load that makes them act", ("scheme", "what must act", "load"), rows, words=3),
    ]


def _coverage(judged: Sequence[tuple[str, Sequence[Judgement]]], blocks: Sequence[Block]) -> list[Part]:
    covered = coverage([found for _, points in judged for found in points], blocks)
    rows = tuple((each.shown.paper, each.shown.label, each.shown.what, each.verdict, each.why) for each in covered)
    counted = Counter("differing points" if each.differing else each.verdict for each in covered)
    head = ("paper", "figure", "what it shows", "ours", "why, or by which points")
    return [
        Heading(2, "Every figure and table of the papers"),
        Paragraph(
            f"{len(covered)} figures and tables: "
            + ", ".join(f"{verdict} {count}" for verdict, count in counted.most_common())
            + ". Where the points of a figure differ, the numbers count them. Not judged: the blocks that are named "
            "show it, and no point of ours is about it."
        ),
        Table("Coverage", head, rows, words=5),
    ]


def _ours(found: Judgement) -> str:
    if not found.findings:
        return "no block of ours speaks to it"
    return "; ".join(f"{each.block}: {each.ours} ({each.verdict})" for each in found.findings)
