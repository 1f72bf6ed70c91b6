"""How often the rule tells a scheme from itself: a block in which one was run twice, under two names.

`adocd bench run --scheme default-again --repeat 20` makes such a block. For each measure that varied, the rule is asked
what it says of the first five pairs, the next five and so on, which are experiments of their own; and of any five
pairs, which overlap: their share is an estimate from these pairs, not from so many experiments.
"""

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from adocd_bench.evaluation.raw import BASELINE
from adocd_bench.evaluation.report import words
from adocd_bench.evaluation.report.accounting import ALL
from adocd_bench.evaluation.report.comparison import LEAST_PAIRS, Comparison, difference_of
from adocd_bench.evaluation.report.document import Heading, Paragraph, Part, Table
from adocd_bench.evaluation.report.measures import MEASURES, Measure
from adocd_bench.evaluation.report.summary import Block, SchemeSummary, compared, paired

#: As many fives at most; drawn with a fixed seed, so that the same results give the same bytes.
_FIVES = 1000
_SEED = 1


@dataclass(frozen=True, slots=True)
class SelfTold:
    """What the rule says of one measure of two identical schemes.

    Attributes:
        measure: its name.
        all_pairs: by all undisturbed pairs.
        apart: in how many of the first five pairs, the next five and so on it calls a difference, and of how many.
        any_apart: the same of any five pairs: of all of them, or of those that were drawn.
        same: in how many of these it calls the two the same.

    """

    measure: str
    all_pairs: Comparison
    apart: tuple[int, int]
    any_apart: tuple[int, int]
    same: int


def twins(block: Block) -> Iterator[tuple[str, tuple[SelfTold, ...]]]:
    """Give each scheme that was run as the baseline was, under another name, with what the rule says of it."""
    baseline = block.scheme(BASELINE)
    if baseline is None:
        return
    for scheme in block.schemes:
        if scheme is not baseline and scheme.used_as.setting == baseline.used_as.setting:
            yield scheme.name, tuple(_told(block, scheme, baseline))


def twin_parts(block: Block, command: str) -> list[Part]:
    """Write them; `command` is what measures the block anew."""
    parts: list[Part] = []
    head = ("measure", "pairs", "by all of them", "told apart in fives, one after the other", "in any five")
    for name, told in twins(block):
        rows = [
            (
                _title(MEASURES[each.measure]),
                str(each.all_pairs.pairs),
                words.compared(each.all_pairs),
                f"{each.apart[0]} of {each.apart[1]}",
                words.share(each.any_apart[0] / each.any_apart[1]),
                words.share(each.same / each.any_apart[1]),
            )
            for each in told
        ]
        title = f"{name} against {BASELINE}, which are the same"
        parts += [
            Heading(3, title),
            Paragraph(_said(told)),
            Table("What the rule says of them", (*head, "the same in any five"), tuple(rows), command=command),
        ]
    return parts


def _said(told: Sequence[SelfTold]) -> str:
    if not told:
        return f"There are fewer than {LEAST_PAIRS} undisturbed pairs, or nothing varied: the rule says nothing."
    beside, beside_of = (sum(each.apart[side] for each in told) for side in (0, 1))
    any_, any_of = (sum(each.any_apart[side] for each in told) for side in (0, 1))
    return (
        f"The rule told them apart in {beside} of {beside_of} cases ({words.share(beside / beside_of)}): "
        f"{words.counted(len(told), 'measure')} that varied, in the first {LEAST_PAIRS} pairs, the next {LEAST_PAIRS} "
        f"and so on. Of any {LEAST_PAIRS} pairs, it told them apart in {words.share(any_ / any_of)} of cases, which "
        "share pairs. Measures are not independent of each other."
    )


def _title(measure: Measure) -> str:
    return f"{measure.title}, s" if measure.unit == "s" else measure.title


def _told(block: Block, scheme: SchemeSummary, baseline: SchemeSummary) -> Iterator[SelfTold]:
    for name, measure in MEASURES.items():
        mine, others = paired(name, scheme, baseline, undisturbed=True)
        pairs = list(zip(mine.values(), others.values(), strict=True))
        values = {value for pair in pairs for value in pair}
        if len(pairs) < LEAST_PAIRS or len(values) == 1 or _again(block, name):
            continue
        beside = [pairs[at : at + LEAST_PAIRS] for at in range(0, len(pairs) - LEAST_PAIRS + 1, LEAST_PAIRS)]
        said = [difference_of(measure, five) for five in _drawn(pairs)]
        yield SelfTold(
            name,
            compared(name, scheme, baseline),
            (sum(difference_of(measure, five) in ("more", "less") for five in beside), len(beside)),
            (sum(each in ("more", "less") for each in said), len(said)),
            said.count("same"),
        )


def _again(block: Block, name: str) -> bool:
    """Whether a measure repeats another one: all operations where there is one kind, held seconds beside the share."""
    kinds = {each.kind for each in block.schemes[0].used[0].figures.latencies} - {ALL}
    return (len(kinds) == 1 and name.startswith(f"{ALL}_")) or name == "held_s"


def _drawn(pairs: Sequence[tuple[float, float]]) -> list[tuple[tuple[float, float], ...]]:
    if math.comb(len(pairs), LEAST_PAIRS) <= _FIVES:
        return list(itertools.combinations(pairs, LEAST_PAIRS))
    draw = random.Random(_SEED)  # noqa: S311  # no secret
    return [tuple(draw.sample(pairs, LEAST_PAIRS)) for _ in range(_FIVES)]
