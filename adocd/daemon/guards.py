"""Safety guards: what no law and no operator can get past. Each says in its own name what it refused."""

from collections.abc import Callable
from dataclasses import dataclass

from adocd.model.decision import Setting
from adocd.model.knob import FACTS, MIB, Knob
from adocd.model.sample import Sample

#: A memtable smaller than this holds no writes worth counting; a column family that is not written costs nothing.
IDLE_MEMTABLE_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is left of a decision's settings, and what each guard that spoke has to say."""

    settings: tuple[Setting, ...]
    notes: tuple[str, ...]


Guard = Callable[[tuple[Setting, ...], Sample], Verdict]


def bounds(settings: tuple[Setting, ...], sample: Sample) -> Verdict:  # noqa: ARG001
    """Keep every value within its knob's bounds (adocd.model.knob)."""
    kept, notes = [], []
    for setting in settings:
        facts = FACTS[setting.knob]
        if facts.minimum <= setting.value <= facts.maximum:
            kept.append(setting)
        else:
            notes.append(
                f"bounds: {setting.knob} {setting.value} is outside of {facts.minimum} to {facts.maximum} {facts.unit}"
            )
    return Verdict(tuple(kept), tuple(notes))


#: Memtables may take this share of what a process can have: 1 / 4.
MEMORY_SHARE = 4


def memory_budget(
    budget_bytes: int, beside: Callable[[], int] = lambda: 0, process_limit: Callable[[], int | None] = lambda: None
) -> Guard:
    """Keep the worst case of all memtables within a budget, and of this target's within a quarter of its process's.

    `beside` is the worst case of the other targets, `process_limit` what the cgroup of the target's process allows it
    (None without a limit), in bytes. Only growth is refused: a database that is above the budget already may stay there
    or shrink.
    """

    def guard(settings: tuple[Setting, ...], sample: Sample) -> Verdict:
        own = worst_case_bytes(sample)
        total = beside() + own
        limit = process_limit()
        families = {cf.name: cf for cf in sample.column_families}
        kept, notes = [], []
        for setting in settings:
            cf = families.get(setting.column_family or "")
            if setting.knob is not Knob.BATCH_SIZE or cf is None:
                kept.append(setting)
                continue
            growth = (setting.value - cf.options.write_buffer_size_bytes) * cf.options.max_write_buffer_number
            wish = f"memory budget: {setting.value // MIB} MiB for {cf.name} would take"
            if growth > 0 and total + growth > budget_bytes:
                notes.append(
                    f"{wish} the memtables to {(total + growth) // MIB} MiB, the budget is {budget_bytes // MIB} MiB"
                )
            elif growth > 0 and limit is not None and own + growth > limit // MEMORY_SHARE:
                notes.append(
                    f"{wish} this database's memtables to {(own + growth) // MIB} MiB, and its process can have "
                    f"{limit // MIB} MiB, of which they may take a quarter"
                )
            else:
                total += max(0, growth)
                own += max(0, growth)
                kept.append(setting)
        return Verdict(tuple(kept), tuple(notes))

    return guard


def worst_case_bytes(sample: Sample) -> int:
    """Sum write_buffer_size x max_write_buffer_number over the column families that are written.

    RocksDB counts the same product as the worst case of a column family's memtables (options.h,
    db_write_buffer_size). Hundreds of idle column families would otherwise block every growth.
    """
    return sum(
        cf.options.write_buffer_size_bytes * cf.options.max_write_buffer_number
        for cf in sample.column_families
        if cf.memtables_bytes > IDLE_MEMTABLE_BYTES
    )


def check(guards: tuple[Guard, ...], settings: tuple[Setting, ...], sample: Sample) -> Verdict:
    """Ask the guards in turn; each sees what the one before it left."""
    notes: tuple[str, ...] = ()
    for guard in guards:
        verdict = guard(settings, sample)
        settings, notes = verdict.settings, notes + verdict.notes
    return Verdict(settings, notes)
