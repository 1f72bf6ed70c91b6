"""What a safety guard is, what it returns, and how the guards are asked. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from adocd.model.sample import Sample
from adocd.model.values import OptionName, Values

#: Everything that can limit a decision: safety guards, a policy's shaping, an operator's pin.
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
    """A guard's remark on a decision."""

    guard: GuardName
    words: str

    def __str__(self) -> str:
        return f"{self.guard}: {self.words}"


@dataclass(frozen=True, slots=True)
class GuardRefusal:
    """What a guard refuses, and its substitute, if any.

    `about` holds all options that are wrong only in combination, including those that would keep their values.
    """

    guard: GuardName
    options: frozenset[OptionName]
    reason: str
    instead: Values = field(default_factory=dict)
    about: frozenset[OptionName] = frozenset()

    @property
    def note(self) -> Note:
        """The refusal as a note on the decision."""
        return Note(self.guard, self.reason)


@dataclass(frozen=True, slots=True)
class MemoryInUse:
    """The memory of the machine, or of the target's cgroup, in bytes; None where it cannot be read."""

    available_bytes: int | None = None
    total_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Beside:
    """What the guards must know of the target's surroundings in this cycle.

    Attributes:
        budget_bytes: limit for the memtables of all targets together; None: no limit.
        memtables_bytes: the worst case of the other targets' memtables.
        process_limit_bytes: the cgroup's memory limit for the target's process; None: no limit.
        read_memory: reads the memory free for that process; called only when memtables are to grow.
        shared_with: the path of another database of that process whose law or operator turns the shared options.

    """

    budget_bytes: int | None = None
    memtables_bytes: int = 0
    process_limit_bytes: int | None = None
    read_memory: Callable[[], MemoryInUse] = MemoryInUse
    shared_with: str | None = None


#: A target without neighbours, on a machine of which nothing is known.
ALONE = Beside()
#: Takes the wanted values, the sample and the target's surroundings; returns the refusals.
Guard = Callable[[Values, Sample, Beside], tuple[GuardRefusal, ...]]


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    """The values that the guards let through, the options dropped without a substitute, and the refusals."""

    values: Values
    dropped: frozenset[OptionName]
    refusals: tuple[GuardRefusal, ...]


def check(
    guards: Iterable[Guard],
    wanted: Values,
    sample: Sample,
    beside: Beside = ALONE,
    *,
    groups: Sequence[Values] = (),
    exempt: Values | None = None,
    standing: Values | None = None,
) -> GuardVerdict:
    """Ask the guards in turn; each sees what the previous ones let through.

    `groups` are options that carry one knob together: when one is refused, the others have no meaning. `exempt` are the
    originals being restored, which no guard prevents; but an original may be invalid in combination with a value that
    is not restored yet: then both stay as they are, and the refusal goes to whoever wants the other value. `standing`
    is what was wanted before: it replaces a new value that is refused, and the guard is asked about it, too.
    """
    verdict = _Asking(wanted, sample, beside, groups, exempt or {}, standing or {})
    for guard in guards:
        verdict.ask(guard)
    return GuardVerdict(verdict.left, frozenset(verdict.dropped), tuple(verdict.refusals))


class _Asking:
    """The values that remain while the guards are asked."""

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
        self.refusals: list[GuardRefusal] = []
        self._sample = sample
        self._beside = beside
        self._groups = groups
        self._exempt = exempt
        self._standing = standing

    def ask(self, guard: Guard) -> None:
        """Ask one guard, and again if its refusals brought values that it has not judged yet."""
        leads_back, made_way = self._ask(guard)
        if made_way:
            leads_back |= self._ask(guard)[0]
        for refusal in self._hear(guard) if leads_back else ():
            beside = self._not_exempt(refusal.about)
            if beside:
                self._put_down(refusal, {*refusal.options, *(beside & self.left.keys())})

    def _ask(self, guard: Guard) -> tuple[bool, bool]:
        """Drop what the guard refuses; returns whether it hit an original, and whether a former wish came back."""
        leads_back = made_way = False
        for refusal in self._hear(guard):
            options = self._not_exempt(refusal.options)
            leads_back |= options != refusal.options
            if options:
                made_way |= self._put_down(refusal, options)
        return leads_back, made_way

    def _hear(self, guard: Guard) -> tuple[GuardRefusal, ...]:
        return guard(dict(self.left), self._sample, self._beside)

    def _not_exempt(self, options: frozenset[OptionName]) -> set[OptionName]:
        current = self._sample.values
        return {o for o in options if self.left.get(o, current.get(o)) != self._exempt.get(o)}

    def _put_down(self, refusal: GuardRefusal, options: set[OptionName]) -> bool:
        """Drop options from the wanted values; returns whether former wishes replaced them."""
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
