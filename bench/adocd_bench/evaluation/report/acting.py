"""What a run's law did, from its decisions: rules that were applied, knobs that moved and when, share under control.

- A decision counts where its outcome is `applied`, from the moment at which it was applied and read back.
- A knob's values are what was sent of the option that carries it: a guard may send less than the law wants, and a guard
  or the daemon puts it back in decisions that name no knob. Runs made before 2026-11-28 recorded only what laws want.
- A knob is away while its last applied value differs by more than 1 % from the one at open: the recorded option, or
  what it was before the first change. Where neither is known, every applied value differs, for laws only send what is
  not there yet. For the same reason a knob whose first value recorded up to the phase's end is the one at open was away
  before, by a decision that was not recorded.
- The phase is as long as the load: what an open loop does late, after its last arrival, is none of it (`phase_s`).
- The phase is under control while any knob is away. A change that lasts from before the phase (the loading) counts; one
  that comes after the phase does not.
- RocksDB's auto-tuned limiter decides inside RocksDB: its moves are those of the limit in the daemon's samples.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from adocd.model.knob import KNOBS, Knob
from adocd.model.values import RATE_LIMITER_WORD
from adocd_bench.evaluation.raw import RawDecision, RawRun, SchemeUsed

When = Literal["before", "phase", "after"]
Span = tuple[float, float]
_WHENS: tuple[When, ...] = ("before", "phase", "after")
_SWITCHED = {"true": 0, "false": 1}
#: Values this close to the one at open are that one: a rate that is sent again is sent as R + 1 (admitted.py).
_BESIDE = 0.01


@dataclass(frozen=True, slots=True)
class Fired:
    """A rule that was applied before, in or after the measured phase; the first and the last time, in seconds."""

    rule: str
    when: When
    count: int
    first_s: float
    last_s: float


@dataclass(frozen=True, slots=True)
class KnobMoved:
    """A knob that moved in the measured phase, or was away in it.

    Attributes:
        knob: its name; one of a column family other than `default` has the family before it.
        moves: changes that were applied in the phase, the first and the last of them at `first_s` and `last_s`.
        at_open: the value at open; None where it is not recorded.
        at_begin: the value at the phase's begin; None where that is not recorded.
        at_end: the value at the phase's end.
        low: the lowest value that was applied in the phase; None without one.
        high: the highest.
        away_s: the spans of the phase in which it was away.

    """

    knob: str
    moves: int
    first_s: float | None
    last_s: float | None
    at_open: int | None
    at_begin: int | None
    at_end: int | None
    low: int | None
    high: int | None
    away_s: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Acted:
    """What a law did; `controlled_share` is the share of the phase in which some knob was away."""

    phase_s: float
    fired: tuple[Fired, ...]
    knobs: tuple[KnobMoved, ...]
    controlled_share: float

    def of(self, when: When) -> tuple[Fired, ...]:
        """Give the rules that were applied before, in or after the phase."""
        return tuple(each for each in self.fired if each.when == when)

    def away_share(self, *knobs: str) -> float:
        """Give the share of the phase in which any of these knobs was away."""
        return _share((span for each in self.knobs if _plain(each.knob) in knobs for span in each.away_s), self.phase_s)


@dataclass(frozen=True, slots=True)
class _Change:
    """A knob's new value, and the one before where it is recorded."""

    at_s: float
    knob: str
    value: int
    before: int | None = None


def acted(run: RawRun) -> Acted:
    """Work out what a run's law did."""
    changes = sorted(_changes(run), key=lambda change: change.at_s)
    names = sorted({change.knob for change in changes})
    moved = [_knob(name, [each for each in changes if each.knob == name], run) for name in names]
    knobs = tuple(each for each in moved if each.moves or each.away_s)
    share = _share((span for each in knobs for span in each.away_s), run.phase_s)
    return Acted(run.phase_s, tuple(_fired(run)), knobs, share)


def _applied_s(decision: RawDecision) -> float:
    return decision.at_s + (decision.elapsed_s or 0.0)


def _when(at_s: float, run: RawRun) -> When:
    if at_s < 0:
        return "before"
    return "phase" if at_s <= run.phase_s else "after"


def _fired(run: RawRun) -> Iterator[Fired]:
    applied = [(_applied_s(each), each.rule) for each in run.decisions if each.outcome == "applied"]
    for when in _WHENS:
        for rule in sorted({rule for at_s, rule in applied if _when(at_s, run) == when}):
            times = [at_s for at_s, fired in applied if fired == rule and _when(at_s, run) == when]
            yield Fired(rule, when, len(times), min(times), max(times))


def _changes(run: RawRun) -> Iterator[_Change]:
    knobs = sorted({knob for decision in run.decisions for knob in decision.settings})
    for decision in run.decisions:
        if decision.outcome == "applied":
            yield from _wanted(decision) if decision.changes is None else _sent(decision, decision.changes, knobs)
    if run.scheme.auto_tuned:
        limits = [
            (sample.at_s, sample.rate_limit_bytes_per_s)
            for sample in run.samples
            if sample.rate_limit_bytes_per_s is not None
        ]
        for (_, before), (at_s, limit) in itertools.pairwise([(0.0, run.scheme.rate_limiter_bytes_per_s), *limits]):
            if limit is not None and limit != before:
                yield _Change(at_s, str(Knob.RATE_LIMIT), limit)


def _wanted(decision: RawDecision) -> Iterator[_Change]:
    for knob, value in decision.settings.items():
        yield _Change(_applied_s(decision), knob, int(value))


def _sent(decision: RawDecision, changes: Mapping[str, tuple[str, str]], knobs: Iterable[str]) -> Iterator[_Change]:
    """Give what was sent of these knobs; what a call carries beside them, such as a delayed rate, is nobody's wish."""
    for knob in knobs:
        before, value = changes.get(_option(knob), ("", ""))
        if before != value:
            yield _Change(_applied_s(decision), knob, _number(knob, value), _number(knob, before))


def _option(knob: str) -> str:
    """Name the option that carries a knob, as `RawDecision.changes` does."""
    family, dot, name = knob.rpartition(".")
    options = KNOBS[Knob(name)].options
    return f"{family}{dot}{options[0]}" if options else RATE_LIMITER_WORD


def _number(knob: str, value: str) -> int:
    """Read an option's value in the unit of its knob."""
    match KNOBS[Knob(_plain(knob))].unit:
        case "switch":
            return _SWITCHED[value]
        case "percent":
            return round(100 * float(value))
        case _:
            return int(value)


def _knob(name: str, changes: Sequence[_Change], run: RawRun) -> KnobMoved:
    at_open, before = _at_open(name, run.scheme), changes[0].before
    at_open = before if at_open is None else at_open
    begun = [each for each in changes if each.at_s < 0]
    within = [each for each in changes if 0 <= each.at_s <= run.phase_s]
    unrecorded = before is None and changes[0].value == at_open and changes[0].at_s <= run.phase_s
    at_begin, away = (begun[-1].value, _away(begun[-1].value, at_open)) if begun else (at_open, unrecorded)
    spans, since_s = [], 0.0
    for change in within:
        if away and change.at_s > since_s:
            spans.append((since_s, change.at_s))
        since_s, away = change.at_s, _away(change.value, at_open)
    if away and run.phase_s > since_s:
        spans.append((since_s, run.phase_s))
    values = [change.value for change in within]
    return KnobMoved(
        knob=name,
        moves=len(within),
        first_s=within[0].at_s if within else None,
        last_s=within[-1].at_s if within else None,
        at_open=at_open,
        at_begin=None if unrecorded and not begun else at_begin,
        at_end=values[-1] if values else at_begin,
        low=min(values, default=None),
        high=max(values, default=None),
        away_s=tuple(spans),
    )


def _away(value: int, at_open: int | None) -> bool:
    return at_open is None or abs(value - at_open) > _BESIDE * abs(at_open)


def _at_open(name: str, scheme: SchemeUsed) -> int | None:
    knob = Knob(_plain(name))
    if knob is Knob.RATE_LIMIT:
        return scheme.rate_limiter_bytes_per_s
    value = scheme.options.get(KNOBS[knob].options[0])
    if knob is Knob.AUTO_COMPACTION:
        return 1 if value is None else _SWITCHED[value]
    return None if value is None else _number(name, value)


def _plain(name: str) -> str:
    """Leave out the column family."""
    return name.rpartition(".")[2]


def _share(spans: Iterable[Span], phase_s: float) -> float:
    """Give the share of the phase that the spans cover together."""
    covered_s, until_s = 0.0, 0.0
    for begin_s, end_s in sorted(spans):
        covered_s += max(0.0, end_s - max(begin_s, until_s))
        until_s = max(until_s, end_s)
    return covered_s / phase_s if phase_s > 0 else 0.0
