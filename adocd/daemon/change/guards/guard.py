"""What a safety guard is, what it returns, and how the guards are asked. Pure."""

from collections.abc import Callable, Iterable, Sequence, Set
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
    "thread shortage",
    "shared",
    "compaction",
    "step",
    "pacing",
    "refractory",
    "judge",
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
    """The memory of the machine, or of the target's cgroup, in bytes; None where it cannot be read.

    `promised_bytes` of what is available are for memtables that have been enlarged and have not taken it yet.
    """

    available_bytes: int | None = None
    total_bytes: int | None = None
    promised_bytes: int = 0


@dataclass(frozen=True, slots=True)
class TasksInUse:
    """The tasks (processes and their threads) of the target's cgroup, and how many it allows."""

    used: int
    limit: int


@dataclass(frozen=True, slots=True)
class Beside:
    """What the guards must know of the target's surroundings in this cycle.

    Attributes:
        budget_bytes: limit for the memtables of all targets together; None: no limit.
        memtables_bytes: the worst case of the other targets' memtables.
        process_memtables_bytes: the same of those that share its process.
        process_limit_bytes: the cgroup's memory limit for the target's process; None: no limit.
        read_memory: reads what that process may still take of its cgroup and of the machine; called only when memtables
            are to grow.
        read_tasks: reads the tasks of that process's cgroup, None without a limit; called only for more threads.
        shared_with: the path of another database of that process whose law or operator turns the shared options.
        written: the target's column families that were written to lately, though they may be empty now.
        originals: the values from before we changed any; `check` fills them in.

    """

    budget_bytes: int | None = None
    memtables_bytes: int = 0
    process_memtables_bytes: int = 0
    process_limit_bytes: int | None = None
    read_memory: Callable[[], tuple[MemoryInUse, ...]] = tuple
    read_tasks: Callable[[], TasksInUse | None] = lambda: None
    shared_with: str | None = None
    written: Set[str] = frozenset()
    originals: Values = field(default_factory=dict)


#: A target without neighbours, on a machine of which nothing is known.
ALONE = Beside()
#: Takes the wanted values, the sample and the target's surroundings; returns the refusals.
Guard = Callable[[Values, Sample, Beside], tuple[GuardRefusal, ...]]


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    """The values that the guards let through, and the refusals."""

    values: Values
    refusals: tuple[GuardRefusal, ...]

    @property
    def refused(self) -> frozenset[OptionName]:
        """The options of all refusals."""
        return frozenset(option for refusal in self.refusals for option in refusal.options)


def check(
    guards: Iterable[Guard],
    wanted: Values,
    sample: Sample,
    beside: Beside = ALONE,
    *,
    groups: Sequence[Values] = (),
    exempt: Values | None = None,
) -> GuardVerdict:
    """Ask the guards in turn; each sees what the previous ones let through.

    `groups` are options that carry one knob together: when one is refused, the others have no meaning. `exempt` are the
    originals, to which no guard prevents a return; but an original may be invalid in combination with a value that
    is not restored yet: then both stay as they are, and the refusal goes to whoever wants the other value.
    """
    left, back, current = dict(wanted), exempt or {}, sample.values
    beside = replace(beside, originals=back)
    refusals: list[GuardRefusal] = []

    def put_down(refusal: GuardRefusal, options: set[OptionName]) -> None:
        options |= {option for group in groups if options & group.keys() for option in group}
        refusals.append(replace(refusal, options=frozenset(options)))
        for option in options:
            left.pop(option, None)
        left.update(refusal.instead)

    def not_exempt(options: frozenset[OptionName]) -> set[OptionName]:
        return {option for option in options if left.get(option, current.get(option)) != back.get(option)}

    for guard in guards:
        leads_back = False
        for refusal in guard(dict(left), sample, beside):
            options = not_exempt(refusal.options)
            leads_back |= options != refusal.options
            if options:
                put_down(refusal, options)
        for refusal in guard(dict(left), sample, beside) if leads_back else ():
            others = not_exempt(refusal.about)
            if others:
                put_down(refusal, {*refusal.options, *(others & left.keys())})
    return GuardVerdict(left, tuple(refusals))
