"""Markdown tables of the detection figures, summed over the settings."""

import statistics
from collections.abc import Iterable, Sequence

from adocd_bench.detection.score import DETECTORS, Class, DetectorOutcome, Tally

_HEAD = "| cause | condition | lasting | of them |"


def tables(outcomes: Sequence[DetectorOutcome]) -> str:
    """Make one table per period, and one of all reported stalls with the false ones."""
    periods = sorted({outcome.period_s for outcome in outcomes}, reverse=True)
    return "\n".join([*(_by_class(outcomes, period_s) for period_s in periods), _told(outcomes, periods)])


def added_up(outcomes: Iterable[DetectorOutcome]) -> dict[Class, Tally]:
    """Add up the tallies of several runs."""
    total: dict[Class, Tally] = {}
    for outcome in outcomes:
        for key, tally in outcome.tallies.items():
            into = total.setdefault(key, Tally())
            into.true += tally.true
            into.seen += tally.seen
            into.right += tally.right
            into.late_s += tally.late_s
            into.off_s += tally.off_s
    return total


def _by_class(outcomes: Sequence[DetectorOutcome], period_s: float) -> str:
    totals = {d: added_up(o for o in outcomes if (o.detector, o.period_s) == (d, period_s)) for d in DETECTORS}
    lines = [
        f"Looked at every {period_s:g} s: seen / with the right cause, median and largest seconds until shown",
        "",
        f"{_HEAD} {' | '.join(DETECTORS)} |",
        f"|---|---|---|---|{'---|' * len(DETECTORS)}",
    ]
    for key in sorted({key for total in totals.values() for key in total}):
        (cause, condition), length = key
        span = f"{period_s:g} s or more" if length == "longer" else f"less than {period_s:g} s"
        true = max(total[key].true for total in totals.values() if key in total)
        cells = " | ".join(_cell(totals[detector].get(key, Tally())) for detector in DETECTORS)
        lines.append(f"| {cause} | {condition} | {span} | {true} | {cells} |")
    return "\n".join([*lines, ""])


def _cell(tally: Tally) -> str:
    counts = f"{tally.seen} / {tally.right}"
    return f"{counts}, {statistics.median(tally.late_s):.2f} {max(tally.late_s):.2f}" if tally.late_s else counts


def _told(outcomes: Sequence[DetectorOutcome], periods: Sequence[float]) -> str:
    lines = [
        "Stalls told in all, the false ones among them, and how far off their beginnings are said to be",
        "",
        "| looked at every | detector | told | false | off, median | a tenth below | a tenth above |",
        "|---|---|---|---|---|---|---|",
    ]
    for period_s in periods:
        for detector in DETECTORS:
            of_it = [o for o in outcomes if (o.detector, o.period_s) == (detector, period_s)]
            off_s = sorted(each for tally in added_up(of_it).values() for each in tally.off_s)
            cells = " | ".join(f"{each:.2f} s" for each in _spread(off_s)) if off_s else " | | "
            told, false = sum(o.told for o in of_it), sum(o.false for o in of_it)
            lines.append(f"| {period_s:g} s | {detector} | {told} | {false} | {cells} |")
    return "\n".join([*lines, ""])


def _spread(ordered: Sequence[float]) -> tuple[float, float, float]:
    last = len(ordered) - 1
    return statistics.median(ordered), ordered[round(0.1 * last)], ordered[round(0.9 * last)]
