"""What a reader of a block must know before its figures: which runs are no pairs, and what has no figure, and why."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from adocd_bench.evaluation.raw import RawRun
from adocd_bench.evaluation.report import words
from adocd_bench.evaluation.report.accounting import compacted_while_read
from adocd_bench.evaluation.report.document import Items, Part
from adocd_bench.evaluation.report.pairs import FAR_S, unlike
from adocd_bench.evaluation.report.summary import Block


def note_parts(block: Block) -> list[Part]:
    """Write the notes as a list; nothing where there is nothing to note."""
    found = tuple(notes(block))
    return [Items(found)] if found else []


def notes(block: Block) -> Iterator[str]:
    """Give each as a sentence."""
    yield from _unlike(block)
    yield from _far(block)
    yield from _other_settings(block)
    yield from _cut_off(block)
    yield from _compacted(block)


def _pairs(block: Block) -> list[tuple[RawRun, RawRun]]:
    """Give the runs of any two schemes in one repetition, where both count."""
    used = [{judged.run.repetition: judged.run for judged in scheme.used} for scheme in block.schemes]
    return [
        (mine[repetition], others[repetition])
        for mine, others in itertools.combinations(used, 2)
        for repetition in sorted(mine.keys() & others.keys())
    ]


def _unlike(block: Block) -> Iterator[str]:
    pairs = _pairs(block)
    left_out = Counter(why for pair in pairs if (why := unlike(*pair)) is not None)
    if left_out:
        said = ", ".join(f"{count} of {why}" for why, count in sorted(left_out.items()))
        yield (
            f"{left_out.total()} of its {len(pairs)} pairs (two schemes in one repetition) count in no ratio and no "
            f"verdict: {said}."
        )


def _far(block: Block) -> Iterator[str]:
    pairs = [pair for pair in _pairs(block) if unlike(*pair) is None]
    apart_s = [abs(one.started_unix_s - other.started_unix_s) for one, other in pairs]
    far_s = [each for each in apart_s if each > FAR_S]
    if far_s:
        yield (
            f"In {len(far_s)} of its {len(pairs)} pairs the runs began more than an hour apart, at most "
            f"{words.span(max(far_s))}; they count."
        )


def _other_settings(block: Block) -> Iterator[str]:
    for scheme in block.schemes:
        known = scheme.used_as.setting
        other = [judged.run for judged in scheme.runs if judged.run.scheme.setting != known]
        if other:
            apart = [name for name, value in known.items() if any(run.scheme.setting[name] != value for run in other)]
            yield (
                f"{scheme.name} had other {' and '.join(apart)} on another machine, in "
                f"{_repetitions([run.repetition for run in other])}."
            )


def _cut_off(block: Block) -> Iterator[str]:
    for scheme in block.schemes:
        if scheme.cut_off:
            yield (
                f"The drain of {words.counted(scheme.cut_off, 'run')} of {scheme.name} was cut off, so the scheme has "
                "no figure and no verdict over run and drain here."
            )


def _compacted(block: Block) -> Iterator[str]:
    for scheme in block.schemes:
        count = sum(compacted_while_read(judged.run) for judged in scheme.used)
        if count:
            yield (
                f"The reads after the phase of {scheme.name} have no figure: in {words.counted(count, 'run')} of it "
                "compaction was on again while they went on."
            )


def _repetitions(numbers: Sequence[int]) -> str:
    return f"repetition {', '.join(str(number) for number in numbers)}"
