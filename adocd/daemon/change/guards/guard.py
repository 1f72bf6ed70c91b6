"""What a safety guard is, what it says, and how all of them are asked. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from adocd.model.sample import Sample
from adocd.model.values import OptionName, Values

#: Who speaks about a decision: the safety guards, a policy's shaping, an operator's pin.
GuardName = Literal[
    "bounds",
    "order",
    "memory budget",
    "memory shortage",
    "shared",
    "compaction",
    "step",
    "pacing",
    "refractory",
    "override",
]
NAMES: tuple[GuardName, ...] = get_args(GuardName)


@dataclass(frozen=True, slots=True, order=True)
class Note:
    """What a guard says of a decision."""

    guard: GuardName
    words: str

    def __str__(self) -> str:
        return f"{self.guard}: {self.words}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a guard does not let through, and what it puts in its place, if anything.

    `about` are all options that are wrong only together, those that would stay as they are included.
    """

    guard: GuardName
    options: frozenset[OptionName]
    reason: str
    instead: Values = field(default_factory=dict)
    about: frozenset[OptionName] = frozenset()

    @property
    def note(self) -> Note:
        """What it says."""
        return Note(self.guard, self.reason)


@dataclass(frozen=True, slots=True)
class Memory:
    """What the machine and the target's process have of memory now, in bytes; None where that cannot be read."""

    available_bytes: int | None = None
    total_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """What the guards must know that is not of this target, as it is in this cycle.

    Attributes:
        budget_bytes: what the memtables of all targets together may take; None: no limit.
        memtables_bytes: the worst case of the other targets' memtables.
        process_limit_bytes: what the cgroup of the target's process allows it of memory; None: no limit.
        read_memory: reads what is free for that process; called only when memtables are to grow.
        shared_with: the path of another database of that process whose law or operator turns what they share.

    """

    budget_bytes: int | None = None
    memtables_bytes: int = 0
    process_limit_bytes: int | None = None
    read_memory: Callable[[], Memory] = Memory
    shared_with: str | None = None


#: A target that nothing else is beside, on a machine of which nothing is known.
ALONE = Beside()
#: Given what is wanted, the sample and what is beside the target, what must not be.
Guard = Callable[[Values, Sample, Beside], tuple[Refusal, ...]]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the guards leave of what was wanted, what was refused without anything in its place, and what they say."""

    values: Values
    dropped: frozenset[OptionName]
    refusals: tuple[Refusal, ...]


def check(
    guards: Iterable[Guard],
    wanted: Values,
    sample: Sample,
    beside: Beside = ALONE,
    *,
    groups: Sequence[Values] = (),
    exempt: Values | None = None,
    standing: Values | None = None,
) -> Verdict:
    """Ask the guards in turn; each sees what the ones before it left.

    `groups` are options that carry one knob together: when one is refused, the others have no meaning. `exempt` are
    values that lead back to an original, in whose way no guard stands; but an original may be wrong beside what is not
    back yet: then both stay as they are, and whoever wants the other one is told. `standing` is what was wanted before:
    a new value that is refused makes way for it, and the guard is asked about that.
    """
    verdict = _Asking(wanted, sample, beside, groups, exempt or {}, standing or {})
    for guard in guards:
        verdict.ask(guard)
    return Verdict(verdict.left, frozenset(verdict.dropped), tuple(verdict.refusals))


class _Asking:
    """What is left while the guards are asked."""

    def __init__(
        self,
        wanted: Values,
        sample: Sample,
        beside: Beside,
        groups: Sequence[Values],
        exempt: Values,
        standing: Values,
    ) -> None:
        self.left = dict(wanted)
        self.dropped: set[OptionName] = set()
        self.refusals: list[Refusal] = []
        self._sample = sample
        self._beside = beside
        self._groups = groups
        self._exempt = exempt
        self._standing = standing

    def ask(self, guard: Guard) -> None:
        """Ask one guard, and once more about what its refusals leave where that is something new."""
        leads_back, made_way = self._ask(guard)
        if made_way:
            leads_back |= self._ask(guard)[0]
        for refusal in self._hear(guard) if leads_back else ():
            beside = self._not_exempt(refusal.about)
            if beside:
                self._put_down(refusal, {*refusal.options, *(beside & self.left.keys())})

    def _ask(self, guard: Guard) -> tuple[bool, bool]:
        """Put down what it refuses; whether some of that leads back, and whether a former wish came in its place."""
        leads_back = made_way = False
        for refusal in self._hear(guard):
            options = self._not_exempt(refusal.options)
            leads_back |= options != refusal.options
            if options:
                made_way |= self._put_down(refusal, options)
        return leads_back, made_way

    def _hear(self, guard: Guard) -> tuple[Refusal, ...]:
        return guard(dict(self.left), self._sample, self._beside)

    def _not_exempt(self, options: frozenset[OptionName]) -> set[OptionName]:
        current = self._sample.values
        return {o for o in options if self.left.get(o, current.get(o)) != self._exempt.get(o)}

    def _put_down(self, refusal: Refusal, options: set[OptionName]) -> bool:
        """Take options out of what is wanted; whether something that was wanted before came in their place."""
        options |= {option for group in self._groups if options & group.keys() for option in group}
        self.refusals.append(replace(refusal, options=frozenset(options)))
        made_way = False
        for option in options:
            before = self._standing.get(option)
            if before is not None and self.left.get(option, before) != before:
                self.left[option] = before
                made_way = True
            else:
                self.left.pop(option, None)
                self.dropped.add(option)
        self.left.update(refusal.instead)
        return made_way
