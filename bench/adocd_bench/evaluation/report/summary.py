"""From runs to blocks: each scheme's figures over its repetitions, against its block's own baseline, and ranked.

A block is what was interleaved: one profile, workload and scale. Disturbed runs are left out where two or more others
are left of the scheme; else they are kept, and what they went into is marked. No verdict rests on them: pairs are of
undisturbed runs alone. A scheme with fewer than five undisturbed repetitions makes its block weak evidence.

Ranked by operations/s over run, restore and drain where the loop is closed, for in the phase alone a law that only puts
work off looks well; that place stands beside the first. An open loop is ranked by the 99th percentile of all latencies
from the intended start: its throughput is what was offered, unless a scheme failed. Places obey the rule of
differences: a scheme is before those that were shown to be worse and behind those that were shown to be better.

Runs that were drained under the law's options (before the bench restored the owner's) never share a block with others.
"""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from adocd_bench.errors import BadArgument
from adocd_bench.evaluation.raw import RawRun, SchemeUsed
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
from adocd_bench.host.device import parse_profile, stands_for

BASELINE = "default"
#: What is said of a place where nothing was shown.
NO_PLACE = "not shown"
#: So many undisturbed repetitions, and the disturbed ones are left out.
_ENOUGH = 2
#: Held time: where the scheme that is compared with was hardly held, they have nothing to say.
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

    def by_repetition(self, measure: str, *, undisturbed: bool = False) -> dict[int, float]:
        """Give a measure's figure in each repetition that counts, or in each undisturbed one."""
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

    def scheme(self, name: str) -> SchemeSummary | None:
        """Find a scheme; None where it was not run."""
        return next((scheme for scheme in self.schemes if scheme.name == name), None)


def summarise(runs: Iterable[RawRun]) -> tuple[Block, ...]:
    """Put runs together to blocks, in the order of their names. Raises BadArgument where two are the same run."""
    ordered = sorted(runs, key=_order)
    for one, other in itertools.pairwise(ordered):
        if _order(one) == _order(other):
            raise BadArgument(
                f"two raw results are of the same run ({one.block}, {one.scheme.name}, repetition {one.repetition}): "
                "take one of them away"
            )
    return tuple(_told_apart([_block(list(found)) for _, found in itertools.groupby(ordered, key=_block_key)]))


def _told_apart(blocks: Sequence[Block]) -> Iterable[Block]:
    """Add what tells them apart to the names of blocks that have the same one: it is heading, anchor and file."""
    names = Counter(block.name for block in blocks)
    longer = Counter((block.name, block.seconds, block.scale) for block in blocks)
    longest = Counter((block.name, block.seconds, block.scale, block.restored) for block in blocks)
    sized = Counter((block.name, block.seconds, block.scale, block.restored, block.device_gb) for block in blocks)
    for block in blocks:
        name = block.name
        if names[block.name] > 1:
            name += f", {block.seconds:g} s, scale 1/{block.scale}"
        if longer[block.name, block.seconds, block.scale] > 1:
            name += ", restored" if block.restored else ", not restored"
        if longest[block.name, block.seconds, block.scale, block.restored] > 1 and block.device_gb is not None:
            name += f", {block.device_gb} GB"
        if sized[block.name, block.seconds, block.scale, block.restored, block.device_gb] > 1 and block.at_once > 1:
            name += f", {block.at_once} at once"
        yield replace(block, name=name)


def compared(measure: str, one: SchemeSummary, other: SchemeSummary) -> Comparison:
    """Compare two schemes of a block by a measure: the ratio is of what counts, the verdict of undisturbed pairs."""
    counting = compare(MEASURES[measure], one.by_repetition(measure), other.by_repetition(measure))
    quiet = [each.by_repetition(measure, undisturbed=True) for each in (one, other)]
    shown = compare(MEASURES[measure], *quiet)
    return replace(shown, difference=_of_held(measure, shown.difference, other), ratio=counting.ratio)


def _of_held(measure: str, difference: Difference, other: SchemeSummary) -> Difference:
    held = other.cells.get("held_share")
    if measure not in _HELD or held is None or held.median >= LEAST_HELD:
        return difference
    return difference if difference in ("more", "direction more", "too few") else "nothing to improve"


_BlockKey = tuple[str, str, str, int, float, bool, int, int]


def _device_gb(run: RawRun) -> int | None:
    return None if run.device is None else run.device.asked_gb


def _block_key(run: RawRun) -> _BlockKey:
    load = run.block, run.profile, run.workload.name, run.scale, run.workload.seconds
    return *load, run.settled is not None, _device_gb(run) or 0, run.at_once


def _order(run: RawRun) -> tuple[_BlockKey, str, int]:
    return _block_key(run), run.scheme.name, run.repetition


def _block(runs: Sequence[RawRun]) -> Block:
    first = runs[0]
    open_loop = first.workload.offered_per_s is not None
    found = [_scheme(list(group)) for _, group in itertools.groupby(runs, key=lambda run: run.scheme.name)]
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


def _scheme(runs: Sequence[RawRun]) -> SchemeSummary:
    judged = tuple(Judged(run, figures(run), disturbed.marks(run)) for run in runs)
    quiet = tuple(each for each in judged if not each.marks)
    used = quiet if len(quiet) >= _ENOUGH else judged
    cells = {}
    for name, measure in MEASURES.items():
        values = [value for each in used if (value := measure.of(each.figures)) is not None]
        found = cell(values) if len(values) == len(used) else None
        if found is not None:
            cells[name] = found
    return SchemeSummary(
        used_as=runs[0].scheme,
        runs=judged,
        used=used,
        marked=len(quiet) < len(used),
        undisturbed=len(quiet),
        cells=cells,
        against={},
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
