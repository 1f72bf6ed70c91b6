"""The same block twice, with the write-ahead log under the cap and outside it: what that changes.

This is the only place where runs of two profiles are compared, and it says so.
"""

from collections.abc import Sequence

from adocd_bench.evaluation.report import words
from adocd_bench.evaluation.report.document import Heading, Paragraph, Part, Table
from adocd_bench.evaluation.report.measures import MEASURES
from adocd_bench.evaluation.report.summary import Block, SchemeSummary, compared
from adocd_bench.host.device import parse_profile

_SHOWN = ("throughput_per_s", "with_drain_per_s", "held_share", "waited_share", "drain_s")


def wal_parts(blocks: Sequence[Block]) -> list[Part]:
    """Write a table for each pair of such blocks; nothing without any."""
    pairs = [(under, outside) for under in blocks for outside in blocks if _are_alike(under, outside)]
    if not pairs:
        return []
    return [
        Heading(2, "The write-ahead log under the cap and outside it"),
        Paragraph(
            "Runs of one scheme on two profiles that differ in this alone, in pairs of the same repetition. A ratio is "
            "the figure with the log under the cap over the figure with the log outside."
        ),
        *(_table(under, outside) for under, outside in pairs),
    ]


def _are_alike(under: Block, outside: Block) -> bool:
    said = [
        (
            each.speed,
            each.workload,
            each.scale,
            each.seconds,
            each.restored,
            each.device_gb,
            each.at_once,
            each.offered_per_s,
        )
        for each in (under, outside)
    ]
    escapes = [parse_profile(each.profile).wal_outside for each in (under, outside)]
    return said[0] == said[1] and escapes == [False, True]


def _table(under: Block, outside: Block) -> Table:
    rows = [
        row
        for scheme in under.schemes
        if (other := outside.scheme(scheme.name)) is not None
        for row in _rows(scheme, other)
    ]
    head = ("scheme", "figure", "log under the cap", "log outside", "ratio")
    return Table(f"{under.name} and {outside.name}", head, tuple(rows), words=2)


def _rows(under: SchemeSummary, outside: SchemeSummary) -> list[tuple[str, ...]]:
    return [
        (
            under.name,
            MEASURES[name].title,
            *(words.cell(MEASURES[name].unit, each.cells[name], each.marked) for each in (under, outside)),
            words.compared(compared(name, under, outside)),
        )
        for name in _SHOWN
        if name in under.cells and name in outside.cells
    ]
