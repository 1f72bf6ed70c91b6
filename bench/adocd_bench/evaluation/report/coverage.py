"""What of the papers our runs cover: every figure and table, with the verdict of the points that are about it."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from adocd_bench.evaluation.report.papers_shown import SHOWN, PaperFigure
from adocd_bench.evaluation.report.points import Judgement

CoverageVerdict = Literal[
    "reproduced",
    "direction",
    "opposite direction",
    "refuted",
    "did not act",
    "not shown",
    "in part",
    "not reachable from outside",
    "not run",
    "nothing measured",
]
_CALLED: dict[str, CoverageVerdict] = {
    "reproduced": "reproduced",
    "smaller": "direction",
    "direction": "direction",
    "opposite direction": "opposite direction",
    "not reproduced": "refuted",
    "did not act": "did not act",
    "not shown": "not shown",
    "in part": "in part",
}
_NAMED = re.compile(r"\b(figure|table)s? (\d[\w.]*(?:(?:, | and )\d[\w.]*)*)")


@dataclass(frozen=True, slots=True)
class Covered:
    """A figure or table, its verdict, or how often each where its points differ, and why, or what the points are."""

    shown: PaperFigure
    verdict: str
    why: str
    differing: bool = False


def coverage(judged: Sequence[Judgement]) -> list[Covered]:
    """Go through every figure and table."""
    return [_covered(shown, [found for found in judged if is_about(found, shown)]) for shown in SHOWN]


def is_about(found: Judgement, shown: PaperFigure) -> bool:
    """Say whether a point names this figure or table in its source."""
    source = found.point.source
    return source.startswith(shown.paper) and shown.label in named(source)


def named(source: str) -> set[str]:
    """Name the figures and tables of a source; the part of a figure (12a, but SILK's 8A is one) is left out."""
    return {
        f"{kind} {re.sub('[a-z]$', '', number)}"
        for kind, numbers in _NAMED.findall(source)
        for number in re.split(", | and ", numbers)
    }


def _covered(shown: PaperFigure, points: Sequence[Judgement]) -> Covered:
    if shown.kind != "ours":
        return Covered(shown, _kind(shown), shown.why)
    verdicts = Counter(_verdict(found) for found in points)
    if not verdicts:
        return Covered(shown, "not run", shown.why)
    why = "; ".join(f"{found.point.claims}: {_verdict(found)}" for found in points)
    if len(verdicts) == 1:
        return Covered(shown, next(iter(verdicts)), why)
    said = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    return Covered(shown, said, why, differing=True)


def _kind(shown: PaperFigure) -> CoverageVerdict:
    return "not reachable from outside" if shown.kind == "inside" else "nothing measured"


def _verdict(found: Judgement) -> CoverageVerdict:
    return _CALLED[found.verdict] if found.findings else "not run"
