"""Safety guards: what no law and no operator can get past. Pure; each says in its own name what it refused."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from adocd.model.knob import MIB
from adocd.model.memtables import is_written
from adocd.model.options import OPTIONS, OptionFacts
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.values import OptionName, Values, of_family

#: Memtables may take this share of what a process can have: 1 / 4.
MEMORY_SHARE = 4
#: Memtables do not grow when less than this share of the memory there is would be left: 1 / 20.
SPARE_SHARE = 20
#: A limiter below this would starve flushes, and with them the writers.
_RATE_LIMIT_FLOOR_BYTES_PER_S = 1 * MIB
_THREADS_MAX = 128
_SWITCH = ("true", "false")
_MEMTABLES = ("write_buffer_size", "max_write_buffer_number")
_TRIGGERS = ("level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger", "level0_stop_writes_trigger")
_LIMITS = ("soft_pending_compaction_bytes_limit", "hard_pending_compaction_bytes_limit")


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a guard does not let through, and what it puts in its place, if anything.

    `about` are all options that are wrong only together, those that would stay as they are included.
    """

    guard: str
    options: frozenset[OptionName]
    reason: str
    instead: Values = field(default_factory=dict)
    about: frozenset[OptionName] = frozenset()

    def __str__(self) -> str:
        return f"{self.guard}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is left of what was wanted, and what each guard that spoke has to say."""

    values: Values
    refusals: tuple[Refusal, ...]


#: Given what is wanted and the sample, what must not be.
Guard = Callable[[Values, Sample], tuple[Refusal, ...]]


def check(
    guards: Iterable[Guard],
    wanted: Values,
    sample: Sample,
    groups: Sequence[Values] = (),
    exempt: Values | None = None,
) -> Verdict:
    """Ask the guards in turn; each sees what the ones before it left.

    `groups` are options that carry one knob together: when one is refused, the others have no meaning. `exempt` are
    values that lead back to an original, in whose way no guard stands; but an original may be wrong beside what is not
    back yet: then both stay as they are, and whoever wants the other one is told.
    """
    left, back, current = dict(wanted), exempt or {}, sample.values
    refusals: list[Refusal] = []

    def put_down(refusal: Refusal, options: set[OptionName]) -> None:
        options |= {option for group in groups if options & group.keys() for option in group}
        refusals.append(replace(refusal, options=frozenset(options)))
        for option in options:
            left.pop(option, None)
        left.update(refusal.instead)

    for guard in guards:
        leads_back = False
        for refusal in guard(dict(left), sample):
            options = {o for o in refusal.options if left.get(o, current.get(o)) != back.get(o)}
            leads_back |= options != refusal.options
            if options:
                put_down(refusal, options)
        for refusal in guard(dict(left), sample) if leads_back else ():
            beside = {o for o in refusal.about if left.get(o, current.get(o)) != back.get(o)}
            if beside:
                put_down(refusal, {*refusal.options, *(beside & left.keys())})
    return Verdict(left, tuple(refusals))


def bounds(wanted: Values, sample: Sample) -> tuple[Refusal, ...]:
    """Keep every value within the bounds of the options' catalogue (adocd.model.options).

    What is there already is left alone: a host may have its own reasons.
    """
    current = sample.values
    return tuple(
        Refusal("bounds", frozenset({option}), why)
        for option, value in wanted.items()
        if current.get(option) != value and (why := out_of_bounds(option, value)) is not None
    )


def out_of_bounds(option: OptionName, value: str) -> str | None:
    """Say why adocd never sends this value; None when it may."""
    match option.scope:
        case "rate_limiter":
            return _number(option, value, _RATE_LIMIT_FLOOR_BYTES_PER_S, (1 << 63) - 1, "bytes/s")
        case "thread_pool":
            return _number(option, value, 1, _THREADS_MAX, "threads")
    facts = OPTIONS.get(option.option)
    if facts is None or facts.scope != option.scope:
        return f"{option} is not an option that adocd knows the bounds of; docs/safety.md lists those it turns"
    if not facts.live:
        return f"{option} cannot be changed while the database is open"
    return _of_its_kind(option, value, facts)


def _of_its_kind(option: OptionName, value: str, facts: OptionFacts) -> str | None:
    if facts.kind == "bool":
        return None if value in _SWITCH else f"{option} is a switch: true or false, not {value!r}"
    if facts.kind == "double":
        try:
            number = float(value)
        except ValueError:
            return f"{option} takes a number, not {value!r}"
        within = facts.minimum <= number <= facts.maximum
        return None if within else _outside(option, value, facts.minimum, facts.maximum, facts.unit)
    if facts.zero == "off" and value == "0":
        return None
    why = _number(option, value, facts.minimum, facts.maximum, facts.unit)
    return f"{why}; 0 would mean: {facts.zero}" if why is not None and facts.zero is not None and value == "0" else why


def _number(option: OptionName, value: str, minimum: int, maximum: int, unit: str) -> str | None:
    # RocksDB's own parser takes suffixes and signs, MyRocks' stops at the first letter: only plain decimals are sent.
    digits = value.removeprefix("-") if minimum < 0 else value
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 19):
        return f"{option} takes a whole number of {unit} in plain decimals, not {value!r}"
    if not minimum <= int(value) <= maximum:
        return _outside(option, value, minimum, maximum, unit)
    return None


def _outside(option: OptionName, value: str, minimum: int, maximum: int, unit: str) -> str:
    return f"{option} {value} is outside of {minimum} to {maximum} {unit}"


def order(wanted: Values, sample: Sample) -> tuple[Refusal, ...]:
    """Keep trigger <= slowdown <= stop and soft <= hard, where a limit of 0 is off (HAZARDS 4, 18).

    And more memtables than a flush waits for: with fewer, writes stop before a flush begins, for good. RocksDB
    sanitises this at open alone (column_family.cc, SanitizeOptions). What a host has configured out of order stays as
    long as nothing of it is changed.
    """
    current = sample.values
    refusals = []
    for cf in sample.column_families:
        number, merged = of_family(cf.name, _MEMTABLES[1]), cf.options.min_write_buffer_number_to_merge
        memtables = wanted.get(number)
        if memtables not in (None, current.get(number)) and int(memtables) <= merged:
            reason = (
                f"{number} {memtables} must be more than min_write_buffer_number_to_merge {merged}, which cannot be "
                "changed while the database is open: with fewer memtables writes stop before a flush begins"
            )
            refusals.append(Refusal("order", frozenset({number}), reason))
        for options, as_limits in ((_TRIGGERS, False), (_LIMITS, True)):
            names = [of_family(cf.name, option) for option in options]
            changed = frozenset(name for name in names if name in wanted and wanted[name] != current.get(name))
            values = [wanted.get(name, current.get(name)) for name in names]
            if not changed or None in values:
                continue
            sizes = [_size(value, as_limits) for value in values if value is not None]
            if sizes != sorted(sizes):
                words = " <= ".join(f"{option} {value}" for option, value in zip(options, values, strict=True))
                reason = f"in column family {cf.name} it must be that {words}"
                refusals.append(Refusal("order", changed, reason, about=frozenset(names)))
    return tuple(refusals)


def _size(value: str, as_limit: bool) -> float:
    return float("inf") if as_limit and value == "0" else int(value)


@dataclass(frozen=True, slots=True)
class Memory:
    """What the machine and the target's process have of memory now, in bytes; None where that cannot be read."""

    available_bytes: int | None = None
    total_bytes: int | None = None


def memory_budget(
    budget_bytes: int, beside: Callable[[], int] = lambda: 0, process_limit: Callable[[], int | None] = lambda: None
) -> Guard:
    """Keep the worst case of all memtables within a budget, and of this target's within a quarter of its process's.

    `beside` is the worst case of the other targets, `process_limit` what the cgroup of the target's process allows it
    (None without a limit), in bytes. Only growth is refused: a database that is above the budget already may stay there
    or shrink.
    """

    def guard(wanted: Values, sample: Sample) -> tuple[Refusal, ...]:
        growths = _growths(wanted, sample)
        if not growths:  # nearly always, and `beside` asks all other targets
            return ()
        own = worst_case_bytes(sample)
        total = beside() + own
        limit = process_limit()
        refusals = []
        for growth in growths:
            if total + growth.bytes > budget_bytes:
                reason = (
                    f"{growth} would take the memtables to {(total + growth.bytes) // MIB} MiB, "
                    f"the budget is {budget_bytes // MIB} MiB"
                )
                refusals.append(Refusal("memory budget", growth.options, reason, about=growth.about))
            elif limit is not None and own + growth.bytes > limit // MEMORY_SHARE:
                reason = (
                    f"{growth} would take this database's memtables to {(own + growth.bytes) // MIB} MiB, and its "
                    f"process can have {limit // MIB} MiB, of which they may take a quarter"
                )
                refusals.append(Refusal("memory budget", growth.options, reason, about=growth.about))
            else:
                total += growth.bytes
                own += growth.bytes
        return tuple(refusals)

    return guard


def memory_shortage(memory: Callable[[], Memory]) -> Guard:
    """Let no memtable grow while the machine, or the cgroup of the target's process, is short of memory."""

    def guard(wanted: Values, sample: Sample) -> tuple[Refusal, ...]:
        growths = _growths(wanted, sample)
        now = memory() if growths else Memory()
        if now.available_bytes is None or now.total_bytes is None:
            return ()
        left, refusals = now.available_bytes, []
        for growth in growths:
            if left - growth.bytes < now.total_bytes // SPARE_SHARE:
                reason = (
                    f"{growth} can take {growth.bytes // MIB} MiB more, and of {now.total_bytes // MIB} MiB only "
                    f"{left // MIB} MiB are free"
                )
                refusals.append(Refusal("memory shortage", growth.options, reason, about=growth.about))
            else:
                left -= growth.bytes
        return tuple(refusals)

    return guard


def shared(owner: Callable[[], str | None]) -> Guard:
    """Let one database of a process alone turn what belongs to the process: thread pools and the rate limiter.

    `owner` is the path of another one that adocd turns them for, None where there is none. Two laws would undo each
    other's turns for ever, and the second would take the first one's values for originals.
    """

    def guard(wanted: Values, sample: Sample) -> tuple[Refusal, ...]:
        options = frozenset(o for o in wanted if o.scope in ("thread_pool", "rate_limiter"))
        path = owner() if options else None
        if path is None or all(sample.values.get(option) == wanted[option] for option in options):
            return ()
        words = " and ".join(sorted(map(str, options)))
        return (Refusal("shared", options, f"{words} belong to the process, and are turned for {path} already"),)

    return guard


@dataclass(frozen=True, slots=True)
class _Growth:
    column_family: str
    size_bytes: int
    number: int
    bytes: int
    options: frozenset[OptionName]
    about: frozenset[OptionName]

    def __str__(self) -> str:
        return f"{self.size_bytes // MIB} MiB x {self.number} for {self.column_family}"


def _growths(wanted: Values, sample: Sample) -> list[_Growth]:
    """List the column families whose worst case would grow, and by how much."""
    growths: list[_Growth] = []
    if not wanted:
        return growths
    for cf in sample.column_families:
        names = [of_family(cf.name, option) for option in _MEMTABLES]
        now = (cf.options.write_buffer_size_bytes, cf.options.max_write_buffer_number)
        size, number = (int(wanted.get(name, value)) for name, value in zip(names, now, strict=True))
        growth = size * number - now[0] * now[1]
        if growth > 0:
            options = frozenset(name for name in names if name in wanted)
            growths.append(_Growth(cf.name, size, number, growth, options, frozenset(names)))
    return growths


def worst_case_bytes(sample: Sample, wanted: Mapping[OptionName, str] | None = None) -> int:
    """Sum write_buffer_size x max_write_buffer_number over the column families that are written.

    RocksDB counts the same product as the worst case of a column family's memtables (options.h,
    db_write_buffer_size). Hundreds of idle column families would otherwise block every growth. `wanted` counts
    where it is more: a growth that is on its way.
    """
    growths = {growth.column_family: growth.bytes for growth in _growths(wanted or {}, sample)}
    return sum(_family_bytes(cf) + growths.get(cf.name, 0) for cf in sample.column_families if is_written(cf))


def _family_bytes(cf: ColumnFamilySample) -> int:
    return cf.options.write_buffer_size_bytes * cf.options.max_write_buffer_number
