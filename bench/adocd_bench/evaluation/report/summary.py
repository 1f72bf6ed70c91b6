"""From runs to blocks: each scheme's figures over its repetitions, against its block's own baseline, and ranked.

A block is what was interleaved: one profile, workload and scale. Disturbed runs are left out where two or more others
are left of the scheme; else they are kept, and what they went into is marked. No verdict rests on them: pairs are of
undisturbed runs alone. A scheme with fewer than five undisturbed repetitions makes its block weak evidence.

Ranked by operations/s over run, restore and drain where the loop is closed, for in the phase alone a law that only puts
work off looks well; that place stands beside the first. An open loop is ranked by the 99th percentile of all latencies
from the intended start: its throughput is what was offered, unless a scheme failed. Places obey the rule of
differences: a scheme is before those that were shown to be worse and behind those that were shown to be better.

A run whose drain was cut off counts in the measures of the phase. Its scheme has no figure over run and drain in its
block: without its worst repetitions it would look better than it is.

Runs that were drained under the law's options (before the bench restored the owner's) never share a block with others.
"""

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adocd_bench.errors import BadArgument
from adocd_bench.evaluation.raw import BASELINE, RawRun, SchemeUsed
from adocd_bench.evaluation.report import disturbed
from adocd_bench.evaluation.report.accounting import RunFigures, figures
from adocd_bench.evaluation.report.comparison import (
    LEAST_HELD,
    LEAST_PAIRS,
    Cell,
    Comparison,
    Difference,
    cell,
    compare,
)
from adocd_bench.evaluation.report.measures import MEASURES, RANK_CLOSED, RANK_OPEN, RANK_PHASE
from adocd_bench.evaluation.report.pairs import machine_of, unlike
from adocd_bench.host.device import parse_profile, stands_for

#: What is said of a place where nothing was shown.
NO_PLACE = "not shown"
#: So many undisturbed repetitions, and the disturbed ones are left out.
_ENOUGH = 2
#: Held time: where the scheme that is compared with was hardly held, or neither was at all, they have nothing to say.
_HELD = {
    "held_share", "stopped_share", "delayed_share", "held_later_share", "held_s", "memtable_l0_held_s",
    "pending_held_s", "waited_share", "stalls",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Judged:
    """A run with its figures, and what disturbed it."""

    run: RawRun
    figures: RunFigures
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """A scheme's place by a measure, 1 for the best.

    Attributes:
        place: one more than there are schemes that were shown to be better.
        last: as many as there are schemes that were not shown to be worse; all but the first place are possible.
        of: how many schemes have a place.
        tied: others are the same; all that lie between `place` and `last` were shown to be.

    """

    place: int
    last: int
    of: int
    tied: bool = False

    def __str__(self) -> str:
        if self.tied:
            return f"{self.place}="
        if self.place == self.last:
            return str(self.place)
        return NO_PLACE if self.last - self.place + 1 == self.of else f"{self.place} to {self.last}"


@dataclass(frozen=True, slots=True)
class SchemeSummary:
    """A scheme in a block.

    Attributes:
        runs: all, by repetition.
        used: those that its figures are of.
        marked: there are disturbed ones among them.
        undisturbed: how many repetitions of it were.
        cells: measure -> figure over repetitions; a measure that was not measured in all of them is not there.
        against: measure -> comparison with the baseline; empty for the baseline, or where there is none.
        standing: None where the block's rank is by what was not measured.
        phase_standing: the same by operations/s in the measured phase, of a closed loop.

    """

    used_as: SchemeUsed
    runs: tuple[Judged, ...]
    used: tuple[Judged, ...]
    marked: bool
    undisturbed: int
    cells: Mapping[str, Cell]
    against: Mapping[str, Comparison]
    standing: Standing | None = None
    phase_standing: Standing | None = None

    @property
    def name(self) -> str:
        """The scheme's name."""
        return self.used_as.name

    @property
    def weak(self) -> bool:
        """Whether there are too few undisturbed repetitions for a verdict."""
        return self.undisturbed < LEAST_PAIRS

    @property
    def cut_off(self) -> int:
        """In how many of the runs that count the drain was cut off."""
        return sum(judged.run.cut_off for judged in self.used)

    def run(self, repetition: int) -> Judged | None:
        """Find the run of a repetition; None where there is none."""
        return next((judged for judged in self.runs if judged.run.repetition == repetition), None)

    def by_repetition(self, measure: str, *, undisturbed: bool = False) -> dict[int, float]:
        """Give a measure's figure in each repetition that counts, or in each undisturbed one."""
        if MEASURES[measure].drained and self.cut_off:
            return {}
        runs = [judged for judged in self.used if not (undisturbed and judged.marks)]
        found = ((judged.run.repetition, MEASURES[measure].of(judged.figures)) for judged in runs)
        return {repetition: value for repetition, value in found if value is not None}


@dataclass(frozen=True, slots=True)
class Block:
    """Runs that were interleaved, the best scheme first; `rank_by` is the measure's name."""

    name: str
    profile: str
    workload: str
    scale: int
    seconds: float
    open_loop: bool
    rank_by: str
    schemes: tuple[SchemeSummary, ...]

    @property
    def first(self) -> RawRun:
        """Any of its runs: what all have in common."""
        return self.schemes[0].runs[0].run

    @property
    def speed(self) -> str:
        """The profile without what is outside its cap and at scale 1: the device of a paper that it stands for."""
        return stands_for(parse_profile(self.profile), self.scale)

    @property
    def slug(self) -> str:
        """Its name, as a file and an anchor may be called."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-") or "block"

    @property
    def weak(self) -> tuple[str, ...]:
        """The schemes that are weak evidence."""
        return tuple(sorted(scheme.name for scheme in self.schemes if scheme.weak))

    @property
    def repetitions(self) -> int:
        """How many there are of the scheme that has most."""
        return max(len(scheme.runs) for scheme in self.schemes)

    @property
    def restored(self) -> bool:
        """Whether its runs were drained under the owner's options; else under the law's."""
        return self.first.settled is not None

    @property
    def device_gb(self) -> int | None:
        """The size of the device that its plan asked for; None if it asked for none."""
        return _device_gb(self.first)

    @property
    def at_once(self) -> int:
        """How many of its runs went on at the same time at most."""
        return self.first.at_once

    @property
    def offered_per_s(self) -> float:
        """The rate that was offered; 0 in a closed loop."""
        return _offered(self.first)

    def scheme(self, name: str) -> SchemeSummary | None:
        """Find a scheme; None where it was not run."""
        return next((scheme for scheme in self.schemes if scheme.name == name), None)


def summarise(runs: Iterable[RawRun]) -> tuple[Block, ...]:
    """Put runs together to blocks, in the order of their names.

    Raises BadArgument where two are the same run, or a scheme was not the same in all repetitions of a block.
    """
    ordered = sorted(runs, key=_order)
    for one, other in itertools.pairwise(ordered):
        if _order(one) == _order(other):
            raise BadArgument(
                f"two raw results are of the same run ({one.block}, {one.scheme.name}, repetition {one.repetition}): "
                "take one of them away"
            )
    blocks = (map(_judged, found) for _, found in itertools.groupby(ordered, key=_block_key))
    return tuple(_told_apart([_block(list(found)) for found in blocks]))


def without(block: Block, left_out: Callable[[RawRun], bool]) -> Block:
    """Summarise a block anew without some of its runs; the figures of the others stay."""
    runs = [judged for scheme in block.schemes for judged in scheme.runs if not left_out(judged.run)]
    return replace(_block(sorted(runs, key=lambda judged: _order(judged.run))), name=block.name)


#: What tells blocks of the same name apart, in this order, as far as it is needed; empty where there is nothing to say.
_TELLS_APART: tuple[Callable[[Block], str], ...] = (
    lambda block: f"{block.seconds:g} s, scale 1/{block.scale}",
    lambda block: "restored" if block.restored else "not restored",
    lambda block: "" if block.device_gb is None else f"{block.device_gb} GB",
    lambda block: f"{block.at_once} at once" if block.at_once > 1 else "",
    lambda block: f"{block.offered_per_s:g} offered/s" if block.offered_per_s else "",
)


def _told_apart(blocks: Sequence[Block]) -> Sequence[Block]:
    """Add what tells them apart to the names of blocks that have the same one: it is heading, anchor and file."""
    for tells in _TELLS_APART:
        names = Counter(block.name for block in blocks)
        blocks = [
            replace(block, name=f"{block.name}, {said}") if names[block.name] > 1 and (said := tells(block)) else block
            for block in blocks
        ]
    return blocks


def compared(measure: str, one: SchemeSummary, other: SchemeSummary) -> Comparison:
    """Compare two schemes of a block by a measure: the ratio is of what counts, the verdict of undisturbed pairs."""
    counting = compare(MEASURES[measure], *paired(measure, one, other))
    mine, others = paired(measure, one, other, undisturbed=True)
    shown = compare(MEASURES[measure], mine, others)
    held = any((*mine.values(), *others.values()))
    return replace(shown, difference=_of_held(measure, shown.difference, other, held), ratio=counting.ratio)


def paired(
    measure: str, one: SchemeSummary, other: SchemeSummary, *, undisturbed: bool = False
) -> tuple[dict[int, float], dict[int, float]]:
    """Give the figures of two schemes by repetition, in those repetitions in which their runs are a pair."""
    mine, others = (each.by_repetition(measure, undisturbed=undisturbed) for each in (one, other))
    both = [repetition for repetition in sorted(mine.keys() & others.keys()) if _is_pair(one, other, repetition)]
    return {each: mine[each] for each in both}, {each: others[each] for each in both}


def _is_pair(one: SchemeSummary, other: SchemeSummary, repetition: int) -> bool:
    mine, others = one.run(repetition), other.run(repetition)
    return mine is not None and others is not None and unlike(mine.run, others.run) is None


def _of_held(measure: str, difference: Difference, other: SchemeSummary, held_at_all: bool) -> Difference:
    """Say nothing of held time where the other was hardly held, or neither was for this cause: 0 and 0 are no tie."""
    held = other.cells.get("held_share")
    if measure not in _HELD or (held_at_all and (held is None or held.median >= LEAST_HELD)):
        return difference
    return difference if difference in ("more", "direction more", "too few") else "nothing to improve"


_BlockKey = tuple[str, str, str, int, float, bool, int, int, float]


def _device_gb(run: RawRun) -> int | None:
    return None if run.device is None else run.device.asked_gb


def _block_key(run: RawRun) -> _BlockKey:
    load = run.block, run.profile, run.workload.name, run.scale, run.workload.seconds
    return *load, run.settled is not None, _device_gb(run) or 0, run.at_once, _offered(run)


def _offered(run: RawRun) -> float:
    """Give the rate that was offered, to the six digits that `--rate` shows; 0 in a closed loop."""
    return float(f"{run.workload.offered_per_s or 0.0:.6g}")


def _order(run: RawRun) -> tuple[_BlockKey, str, int]:
    return _block_key(run), run.scheme.name, run.repetition


def _judged(run: RawRun) -> Judged:
    return Judged(run, figures(run), disturbed.marks(run))


def _block(runs: Sequence[Judged]) -> Block:
    first = runs[0].run
    open_loop = first.workload.offered_per_s is not None
    by_scheme = itertools.groupby(runs, key=lambda judged: judged.run.scheme.name)
    found = [_scheme(tuple(group)) for _, group in by_scheme]
    baseline = next((scheme for scheme in found if scheme.name == BASELINE), None)
    rank_by = RANK_OPEN if open_loop else RANK_CLOSED
    schemes = [_with(scheme, baseline) for scheme in found]
    standings = _standings(schemes, rank_by)
    in_phase = {} if open_loop else _standings(schemes, RANK_PHASE)
    return Block(
        name=first.block,
        profile=first.profile,
        workload=first.workload.name,
        scale=first.scale,
        seconds=first.workload.seconds,
        open_loop=open_loop,
        rank_by=rank_by,
        schemes=tuple(
            replace(scheme, standing=standings.get(scheme.name), phase_standing=in_phase.get(scheme.name))
            for scheme in _ordered(schemes, rank_by)
        ),
    )


def _scheme(judged: tuple[Judged, ...]) -> SchemeSummary:
    runs = [each.run for each in judged]
    _refuse_other_settings(runs)
    quiet = tuple(each for each in judged if not each.marks)
    used = quiet if len(quiet) >= _ENOUGH else judged
    made = SchemeSummary(
        used_as=runs[0].scheme,
        runs=judged,
        used=used,
        marked=len(quiet) < len(used),
        undisturbed=len(quiet),
        cells={},
        against={},
    )
    return replace(made, cells=_cells(made))


def _cells(scheme: SchemeSummary) -> dict[str, Cell]:
    """Summarise each measure that was measured in all runs that count."""
    by_measure = {name: list(scheme.by_repetition(name).values()) for name in MEASURES}
    found = {name: cell(values) for name, values in by_measure.items() if len(values) == len(scheme.used)}
    return {name: each for name, each in found.items() if each is not None}


def _refuse_other_settings(runs: Sequence[RawRun]) -> None:
    """Raise BadArgument where a scheme's repetitions on one machine had different options, parameters or policies.

    What was measured of a device is a parameter of some laws, so on another machine they may differ; the block says so.
    """
    first = {machine_of(run): run for run in reversed(runs)}
    for run in runs:
        known = first[machine_of(run)]
        apart = [name for name, value in run.scheme.setting.items() if value != known.scheme.setting[name]]
        if apart:
            raise BadArgument(
                f"{run.scheme.name} is not the same scheme in repetitions {known.repetition} and {run.repetition} of "
                f"{run.block} ({', '.join(apart)} differ): make a report of each"
            )


def _with(scheme: SchemeSummary, baseline: SchemeSummary | None) -> SchemeSummary:
    against = {}
    if baseline is not None and baseline is not scheme:
        against = {name: compared(name, scheme, baseline) for name in scheme.cells if name in baseline.cells}
    return replace(scheme, against=against)


def _ordered(schemes: Sequence[SchemeSummary], rank_by: str) -> list[SchemeSummary]:
    """Order by the median, the best first; whatever was not measured comes last."""
    sign = -1 if MEASURES[rank_by].more_is_better else 1

    def key(scheme: SchemeSummary) -> tuple[float, str]:
        found = scheme.cells.get(rank_by)
        return (math.inf if found is None else sign * found.median), scheme.name

    return sorted(schemes, key=key)


def _standings(schemes: Sequence[SchemeSummary], rank_by: str) -> dict[str, Standing]:
    """Give places that the rule of differences allows."""
    placed = [each for each in schemes if rank_by in each.cells]
    better: Difference = "more" if MEASURES[rank_by].more_is_better else "less"
    worse: Difference = "less" if better == "more" else "more"
    standings = {}
    for scheme in placed:
        found = [compared(rank_by, scheme, other).difference for other in placed if other is not scheme]
        place, last = 1 + found.count(worse), len(placed) - found.count(better)
        tied = "same" in found and place + found.count("same") == last
        standings[scheme.name] = Standing(place, last, len(placed), tied)
    return standings
