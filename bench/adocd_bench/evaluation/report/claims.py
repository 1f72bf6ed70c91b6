"""How a paper's sentence is held against our runs: rules that end in a verdict, with our figures.

- `reproduced`: the difference is there, in the paper's direction, and at least of the size that the paper gives for
  this kind of device, where it gives one.
- `smaller`: the difference is there, but smaller than the paper's.
- `refuted`: the opposite was measured here, by our law on this machine: the difference is there the other way round.
- `not reproduced here`: the two are the same, by the rule of `comparison`; or no run keeps a bound.
- `direction`, `opposite direction`: what three or four undisturbed pairs show; a search for what lasts is made once, so
  it shows no more. That is no verdict.
- `not shown`: anything else: too few undisturbed repetitions, neither a difference nor sameness, a baseline that did
  not stall, a cause for which neither of the two was held, or not run at all.
- `did not act`: no run of a scheme in which the mechanism acted that the claim is about, or whose load is within what
  the law presumes (mechanisms.py). Other runs of that kind are left out.
- `in part`: blocks say different things.

A verdict needs five undisturbed pairs, or runs, in either direction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from adocd_bench.evaluation.raw import BASELINE
from adocd_bench.evaluation.report import words
from adocd_bench.evaluation.report.comparison import DIRECTION_PAIRS, LEAST_HELD, LEAST_PAIRS, SAME_WITHIN
from adocd_bench.evaluation.report.measures import MEASURES
from adocd_bench.evaluation.report.summary import Block, SchemeSummary, compared

ClaimVerdict = Literal[
    "reproduced",
    "smaller",
    "not reproduced here",
    "refuted",
    "direction",
    "opposite direction",
    "not shown",
    "did not act",
    "in part",
]
#: What three or four pairs show is no verdict.
DIRECTIONS: frozenset[ClaimVerdict] = frozenset({"direction", "opposite direction"})
NO_VERDICTS: frozenset[ClaimVerdict] = DIRECTIONS | {"not shown", "did not act"}
#: Where one of them was run in a block, it is the law there: the same with a floor that flushes what the peaks write.
_INSTEAD = {"silk": "silk-floor", "silk-bandwidth": "silk-floor-bandwidth"}


@dataclass(frozen=True, slots=True)
class ClaimFinding:
    """What one of our blocks says to a point.

    `why` no law did what it is about, where that is the verdict. `shows_nothing`: enough pairs for a verdict count, and
    they show none.
    """

    block: str
    verdict: ClaimVerdict
    ours: str
    why: str = ""
    shows_nothing: bool = False


class ClaimRule(Protocol):
    """Judges a block; None where it does not speak to the point."""

    def words(self) -> str:
        """Say the rule in a sentence."""
        ...

    def schemes(self) -> tuple[str, ...]:
        """Name the schemes whose mechanisms must have acted."""
        ...

    def judge(self, block: Block) -> ClaimFinding | None:
        """Hold it against a block."""
        ...


@dataclass(frozen=True, slots=True)
class Where:
    """Which blocks speak to a point: by workload (or the beginning of its name with `*`), and by profile if said."""

    workloads: tuple[str, ...]
    profiles: tuple[str, ...] = ()

    def has(self, block: Block) -> bool:
        """Say whether a block does."""
        named = any(
            block.workload.startswith(name[:-1]) if name.endswith("*") else block.workload == name
            for name in self.workloads
        )
        return named and (not self.profiles or block.speed in self.profiles)

    def words(self) -> str:
        """Name them."""
        profiles = f" on {', '.join(self.profiles)}" if self.profiles else ""
        return f"{', '.join(self.workloads)}{profiles}"


@dataclass(frozen=True, slots=True)
class Compares:
    """A scheme has more (or less) of a figure than another; `sizes` are the paper's ratios by device profile.

    A block whose baseline hardly stalls shows nothing: there was nothing to win, and no reason for a law to act.
    """

    scheme: str
    against: str
    measure: str
    more: bool
    where: Where
    sizes: Mapping[str, float] = field(default_factory=dict)

    def words(self) -> str:
        """Say the rule in a sentence."""
        side = "more" if self.more else "less"
        return f"{MEASURES[self.measure].title}: {self.scheme} {side} than {self.against}, in {self.where.words()}"

    def schemes(self) -> tuple[str, ...]:
        """Name them."""
        return (self.scheme, self.against)

    def judge(self, block: Block) -> ClaimFinding | None:
        """Hold it against a block."""
        mine, other = _scheme(block, self.scheme), _scheme(block, self.against)
        if mine is None or other is None or not self.where.has(block):
            return None
        if self.measure not in mine.cells or self.measure not in other.cells:
            return ClaimFinding(block.name, "not shown", f"{MEASURES[self.measure].title} was not measured")
        ours = self._figures(mine, other)
        if idle := _idle(block):
            return ClaimFinding(block.name, "not shown", f"{ours}; {idle}")
        found, verdict = compared(self.measure, mine, other), self._verdict(block, mine, other)
        # Where the limit was never reached there was nothing to be shown.
        nothing = verdict == "not shown" and found.pairs >= LEAST_PAIRS and found.difference != "nothing to improve"
        return ClaimFinding(block.name, verdict, ours + _weak(mine, other), shows_nothing=nothing)

    def _figures(self, mine: SchemeSummary, other: SchemeSummary) -> str:
        unit = MEASURES[self.measure].unit
        found = compared(self.measure, mine, other)
        said = [f"{each.name} {words.cell(unit, each.cells[self.measure], each.marked)}" for each in (mine, other)]
        return f"{said[0]}, {said[1]}; {words.compared(found)} times"

    def _verdict(self, block: Block, mine: SchemeSummary, other: SchemeSummary) -> ClaimVerdict:
        found = compared(self.measure, mine, other)
        if found.difference in ("not shown", "too few", "nothing to improve"):
            return "not shown"
        if found.difference in ("direction more", "direction less"):
            return "direction" if (found.difference == "direction more") == self.more else "opposite direction"
        size = self.sizes.get(block.speed, self.sizes.get("*"))
        if found.difference == "same":
            # Within the margin there is room for a difference of that size.
            in_margin = size is not None and 1 / (1 + SAME_WITHIN) <= size <= 1 + SAME_WITHIN
            return "not shown" if in_margin else "not reproduced here"
        if (found.difference == "more") != self.more:
            return "refuted"
        if size is None or found.ratio is None:
            return "reproduced"
        reached = found.ratio.median >= size if self.more else found.ratio.median <= size
        return "reproduced" if reached else "smaller"


@dataclass(frozen=True, slots=True)
class Exceeds:
    """Within each run of a scheme, one figure is so many times another."""

    scheme: str
    measure: str
    over: str
    times: float
    where: Where

    def words(self) -> str:
        """Say the rule in a sentence."""
        large, small = MEASURES[self.measure].title, MEASURES[self.over].title
        return f"every run of {self.scheme}: {large} at least {self.times:g} times {small}, in {self.where.words()}"

    def schemes(self) -> tuple[str, ...]:
        """Name them."""
        return (self.scheme,)

    def judge(self, block: Block) -> ClaimFinding | None:
        """Hold it against a block."""
        scheme = _scheme(block, self.scheme)
        if scheme is None or not self.where.has(block):
            return None
        if self.measure not in scheme.cells or self.over not in scheme.cells:
            return ClaimFinding(block.name, "not shown", f"{MEASURES[self.measure].title} was not measured")
        large, small = scheme.by_repetition(self.measure), scheme.by_repetition(self.over)
        ours = ", ".join(_figure(scheme, name) for name in (self.measure, self.over))
        holds = [large[repetition] >= self.times * small[repetition] for repetition in large]
        return ClaimFinding(block.name, _by_runs(holds, scheme), ours + _weak(scheme))


@dataclass(frozen=True, slots=True)
class FigureBound:
    """A figure is at least, or at most, a value."""

    measure: str
    at_least: bool
    value: float

    def words(self) -> str:
        """Say it."""
        measure = MEASURES[self.measure]
        return f"{measure.title} {'at least' if self.at_least else 'at most'} {words.value(measure.unit, self.value)}"

    def holds(self, found: float) -> bool:
        """Say whether a run's figure keeps it."""
        return found >= self.value if self.at_least else found <= self.value


@dataclass(frozen=True, slots=True)
class Keeps:
    """Each run of a scheme keeps all bounds; shorter runs than `least_s` say nothing."""

    scheme: str
    bounds: tuple[FigureBound, ...]
    where: Where
    least_s: float = 0.0

    def words(self) -> str:
        """Say the rule in a sentence."""
        long = f", for {words.span(self.least_s)} at least" if self.least_s else ""
        bounds = ", and ".join(bound.words() for bound in self.bounds)
        return f"every run of {self.scheme}: {bounds}, in {self.where.words()}{long}"

    def schemes(self) -> tuple[str, ...]:
        """Name them."""
        return (self.scheme,)

    def judge(self, block: Block) -> ClaimFinding | None:
        """Hold it against a block."""
        scheme = _scheme(block, self.scheme)
        if scheme is None or not self.where.has(block):
            return None
        for bound in self.bounds:
            if bound.measure not in scheme.cells:
                return ClaimFinding(block.name, "not shown", f"{MEASURES[bound.measure].title} was not measured")
        ours = ", ".join(_figure(scheme, bound.measure) for bound in self.bounds)
        if block.seconds < self.least_s:
            return ClaimFinding(block.name, "not shown", f"{ours}, in {words.span(block.seconds)}")
        kept = [[bound.holds(each) for each in scheme.by_repetition(bound.measure).values()] for bound in self.bounds]
        return ClaimFinding(
            block.name, _by_runs([all(run) for run in zip(*kept, strict=True)], scheme), ours + _weak(scheme)
        )


def stands(block: Block, name: str) -> str:
    """Name the scheme that stands for one of a paper's in a block."""
    instead = _INSTEAD.get(name, name)
    return name if block.scheme(instead) is None else instead


def _scheme(block: Block, name: str) -> SchemeSummary | None:
    return block.scheme(stands(block, name))


def _figure(scheme: SchemeSummary, measure: str) -> str:
    found = MEASURES[measure]
    return f"{found.title} {words.cell(found.unit, scheme.cells[measure], scheme.marked)}"


def _by_runs(holds: Sequence[bool], scheme: SchemeSummary) -> ClaimVerdict:
    if scheme.undisturbed < DIRECTION_PAIRS:
        return "not shown"
    if scheme.weak:
        return "direction" if all(holds) else "not shown" if any(holds) else "opposite direction"
    if all(holds):
        return "reproduced"
    return "in part" if any(holds) else "not reproduced here"


def _idle(block: Block) -> str | None:
    """Say where the baseline left nothing to win."""
    baseline = block.scheme(BASELINE)
    held = baseline.cells.get("held_share") if baseline else None
    if held is None:
        return "the block has no baseline"
    if held.median >= LEAST_HELD:
        return None
    return f"the baseline was held {words.share(held.median)} of the time: there was next to nothing to win"


def _weak(*schemes: SchemeSummary) -> str:
    names = " and ".join(scheme.name for scheme in schemes if scheme.weak)
    return (
        f"; fewer than {LEAST_PAIRS} repetitions of {names} count (undisturbed, and a law has acted)" if names else ""
    )
