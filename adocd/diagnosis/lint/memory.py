"""Rules about the memory that memtables may use."""

from collections.abc import Iterator

from adocd.diagnosis.lint.facts import Facts
from adocd.diagnosis.lint.finding import Hit, Severity, rule
from adocd.model.in_words import size
from adocd.model.knob import Knob
from adocd.model.memtables import MEMORY_SHARE

_SOURCE = "RocksDB options.h, max_total_wal_size (write_buffer_size x max_write_buffer_number of each column family)"


def _now(facts: Facts) -> int:
    """Sum the bytes that the memtables of the written column families may take with the current options."""
    options = [facts.families[name] for name in facts.written]
    return sum(
        max(0, (family.number("write_buffer_size") or 0) * (family.number("max_write_buffer_number") or 0))
        for family in options
    )


def _memtables(facts: Facts) -> int:
    """Count how many memtables the written column families may have."""
    return sum(max(0, facts.families[name].number("max_write_buffer_number") or 0) for name in facts.written)


def _at_bounds(facts: Facts) -> int:
    """Sum the bytes that they may take when every batch is at the law's upper bound."""
    return max(_now(facts), facts.bounds.batch_max_bytes * _memtables(facts))


@rule(Severity.USELESS, _SOURCE)
def memory_over_budget(facts: Facts) -> Iterator[Hit]:
    """Find that the memtables may already exceed the memory budget, so adocd refuses every larger batch."""
    now, budget, beside = _now(facts), facts.memory.budget_bytes, facts.memory.beside_bytes
    if now + beside <= budget:
        return
    others = f" and those of other databases {size(beside)}" if beside else ""
    yield Hit(
        Knob.BATCH_SIZE,
        f"the memtables of this database may take {size(now)}{others}, and the budget is {size(budget)}: "
        "adocd refuses every increase",
        "raise memory_budget_bytes if there is memory, or lower write_buffer_size or max_write_buffer_number",
    )


@rule(Severity.NOTE, _SOURCE)
def budget_before_bound(facts: Facts) -> Iterator[Hit]:
    """Find that the memory budget does not allow the law's largest batch."""
    memtables, beside, budget = _memtables(facts), facts.memory.beside_bytes, facts.memory.budget_bytes
    if not memtables or _now(facts) + beside > budget or _at_bounds(facts) + beside <= budget:
        return
    fits = (budget - beside) // memtables
    yield Hit(
        Knob.BATCH_SIZE,
        f"the law's largest batch, {size(facts.bounds.batch_max_bytes)}, times {memtables} memtables is "
        f"{size(_at_bounds(facts))}, and the budget is {size(budget)}: batches stop growing at about {size(fits)}",
        f"raise memory_budget_bytes to {_at_bounds(facts) + beside} if there is memory, or use fewer memtables",
    )


@rule(Severity.DANGER, _SOURCE)
def memory_over_limit(facts: Facts) -> Iterator[Hit]:
    """Find that even within what adocd grants, memtables could take more than half of the memory for the process."""
    memory = facts.memory
    limit = memory.limit_bytes
    if limit is None:
        return
    granted = [_at_bounds(facts), memory.budget_bytes]
    if memory.group_bytes is not None:
        granted.append(memory.group_bytes // MEMORY_SHARE)
    # That stops growth; it does not shrink what is there already.
    worst = max(_now(facts), min(granted))
    if worst <= limit // 2:
        return
    yield Hit(
        Knob.BATCH_SIZE,
        f"the memtables may reach {size(worst)}, and the machine or the cgroup gives the process "
        f"{size(limit)}: less than half of that is left for block cache, indexes and the program",
        "lower memory_budget_bytes, or write_buffer_size and max_write_buffer_number if they alone are too much",
    )


RULES = (memory_over_limit, memory_over_budget, budget_before_bound)
