"""What of the papers our runs cover: every figure and table, with the verdict of the points that are about it."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adocd_bench.evaluation.report.claims import ClaimVerdict, Where
from adocd_bench.evaluation.report.papers_shown import SHOWN, PaperFigure
from adocd_bench.evaluation.report.points import Judgement
from adocd_bench.evaluation.report.summary import Block

CoverageVerdict = ClaimVerdict | Literal["not reachable from outside", "not judged", "not run", "nothing measured"]
#: What no point is about, and runs of a scheme under a workload show: one run's course, or a figure without a claim.
_SHOWN_BY: Mapping[tuple[str, str], tuple[str, Where]] = {
    ("ADOC", "figure 1"): ("default", Where(("fillrandom",))),
    ("Thesis", "figure 4.7"): ("toggle-without-bounds", Where(("sine-1000",))),
    ("SILK", "figure 2"): ("default", Where(("peaks-*",))),
    ("SILK", "figure 3"): ("default", Where(("peaks-*",))),
    ("SILK", "figure 9"): ("silk", Where(("trace*",))),
    ("SILK", "figure 11"): ("silk", Where(("trace*",))),
}
_NAMED = re.compile(r"\b(figure|table)s? (\d[\w.]*(?:(?:, | and )\d[\w.]*)*)")


@dataclass(frozen=True, slots=True)
class Covered:
    """A figure or table, its verdict, or how often each where its points differ, and why, or what the points are."""

    shown: PaperFigure
    verdict: str
    why: str
    differing: bool = False


def coverage(judged: Sequence[Judgement], blocks: Sequence[Block]) -> list[Covered]:
    """Go through every figure and table."""
    return [_covered(shown, [found for found in judged if is_about(found, shown)], blocks) for shown in SHOWN]


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


def _covered(shown: PaperFigure, points: Sequence[Judgement], blocks: Sequence[Block]) -> Covered:
    if shown.kind != "ours":
        return Covered(shown, _kind(shown), shown.why)
    verdicts = Counter(_verdict(found) for found in points)
    if not verdicts:
        found = [block.name for block in blocks if _shows(block, shown)]
        return Covered(shown, "not judged" if found else "not run", "; ".join((shown.why, *found)))
    why = "; ".join(f"{found.point.claims}: {_in_words(found)}{_reason(found)}" for found in points)
    if len(verdicts) == 1:
        return Covered(shown, next(iter(verdicts)), why)
    said = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
    return Covered(shown, said, why, differing=True)


def _shows(block: Block, shown: PaperFigure) -> bool:
    scheme, where = _SHOWN_BY.get((shown.paper, shown.label), ("", Where(())))
    return block.scheme(scheme) is not None and where.has(block)


def _kind(shown: PaperFigure) -> CoverageVerdict:
    return "not reachable from outside" if shown.kind == "inside" else "nothing measured"


def _verdict(found: Judgement) -> CoverageVerdict:
    return found.verdict if found.findings else "not run"


def _in_words(found: Judgement) -> str:
    return found.in_words if found.findings else _verdict(found)


def _reason(found: Judgement) -> str:
    """Say why no law did what the point is about, where that is its verdict."""
    reasons = dict.fromkeys(finding.why for finding in found.findings)
    return f" ({'; '.join(reasons)})" if found.verdict == "did not act" else ""
