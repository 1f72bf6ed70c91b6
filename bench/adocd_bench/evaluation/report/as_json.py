"""All figures for programs: every run's, every block's, and what the claims came to."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from adocd_bench.evaluation.plan import FailedRun
from adocd_bench.evaluation.report.comparison import Cell, Comparison
from adocd_bench.evaluation.report.coverage import coverage
from adocd_bench.evaluation.report.sections_claims import judgements
from adocd_bench.evaluation.report.sections_notes import notes
from adocd_bench.evaluation.report.summary import Block, Judged, SchemeSummary, Standing
from adocd_bench.evaluation.report.taken import taken
from adocd_bench.evaluation.report.twins import SelfTold, twins
from adocd_bench.evaluation.search.halving import Searched
from adocd_bench.evaluation.search.sustained import Search


def as_json(
    blocks: Sequence[Block],
    failed: Sequence[FailedRun],
    searches: Mapping[str, Search],
    grids: Sequence[Searched],
    unlike_maximum: Sequence[str] = (),
) -> dict[str, Any]:
    """Make the report's JSON object; what was not measured is null."""
    claims = judgements(blocks, searches)
    return {
        "failed": sum(not each.succeeded for each in failed),
        "failed_runs": [asdict(each) for each in failed],
        "sustainable": {name: asdict(found) | {"lasts_per_s": found.lasts_per_s} for name, found in searches.items()},
        "grids": [asdict(grid) for grid in grids],
        "unlike_maximum": list(unlike_maximum),
        "blocks": [_block(block) for block in blocks],
        "claims": [
            {
                "title": title,
                "points": [
                    {
                        "source": found.point.source,
                        "sentence": found.point.sentence,
                        "claims": found.point.claims,
                        "rule": found.point.rule.words(),
                        "verdict": found.verdict,
                        "findings": [asdict(finding) for finding in found.findings],
                    }
                    for found in judged
                ],
            }
            for title, judged in claims
        ],
        "coverage": [
            {**asdict(each.shown), "verdict": each.verdict, "why": each.why}
            for each in coverage([found for _, judged in claims for found in judged], blocks)
        ],
    }


def _block(block: Block) -> dict[str, Any]:
    return {
        "block": block.name,
        "profile": block.profile,
        "workload": block.workload,
        "scale": block.scale,
        "seconds": block.seconds,
        "open_loop": block.open_loop,
        "rank_by": block.rank_by,
        "drained_under": "the owner's options" if block.restored else "the law's options",
        "weak": list(block.weak),
        "notes": list(notes(block)),
        "schemes": [_scheme(scheme) for scheme in block.schemes],
        "identical_to_default": {name: [_told(each) for each in told] for name, told in twins(block)},
    }


def _scheme(scheme: SchemeSummary) -> dict[str, Any]:
    return {
        "scheme": scheme.name,
        "standing": _standing(scheme.standing),
        "standing_in_phase": _standing(scheme.phase_standing),
        "marked": scheme.marked,
        "weak": scheme.weak,
        "figures": {name: _cell(found) for name, found in scheme.cells.items()},
        "against_default": {name: _comparison(found) for name, found in scheme.against.items()},
        "runs": [_run(judged, judged in scheme.used) for judged in scheme.runs],
    }


def _standing(found: Standing | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)


def _cell(found: Cell | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)


def _comparison(found: Comparison) -> dict[str, Any]:
    return {"pairs": found.pairs, "difference": found.difference, "ratio": _cell(found.ratio)}


def _told(found: SelfTold) -> dict[str, Any]:
    return {
        "measure": found.measure,
        "all_pairs": _comparison(found.all_pairs),
        "fives_beside_each_other": {"told_apart": found.apart[0], "of": found.apart[1]},
        "any_five": {"told_apart": found.any_apart[0], "same": found.same, "of": found.any_apart[1]},
    }


def _run(judged: Judged, counts: bool) -> dict[str, Any]:
    found = asdict(judged.figures)
    found["decided"] = [
        {"rule": rule, "outcome": outcome, "count": count} for (rule, outcome), count in judged.figures.decided.items()
    ]
    return {
        "repetition": judged.run.repetition,
        "started_unix_s": judged.run.started_unix_s,
        "wall_s": judged.run.wall_s,
        "disturbed_by": list(judged.marks),
        "counts": counts,
        "written_bytes_per_s": asdict(taken(judged.run)),
        "figures": found,
    }
