"""Keep the write-stall triggers in order; RocksDB itself does so only at open. Pure."""

from adocd.daemon.change.guards.guard import Beside, GuardRefusal
from adocd.model.sample import Sample
from adocd.model.values import Values, of_family

_TRIGGERS = ("level0_file_num_compaction_trigger", "level0_slowdown_writes_trigger", "level0_stop_writes_trigger")
_LIMITS = ("soft_pending_compaction_bytes_limit", "hard_pending_compaction_bytes_limit")


def order(wanted: Values, sample: Sample, beside: Beside) -> tuple[GuardRefusal, ...]:
    """Keep trigger <= slowdown <= stop and soft <= hard, where a limit of 0 means off (HAZARDS 4, 18).

    Also keep max_write_buffer_number above min_write_buffer_number_to_merge: otherwise writes stop before a flush
    begins, for good. RocksDB sanitises these only at open (column_family.cc, SanitizeOptions). Values that the host has
    configured out of order stay as long as none of them is changed.
    """
    current = sample.values
    refusals = []
    for cf in sample.column_families:
        number, merged = of_family(cf.name, "max_write_buffer_number"), cf.options.min_write_buffer_number_to_merge
        memtables = wanted.get(number)
        if memtables not in (None, current.get(number)) and int(memtables) <= merged:
            reason = (
                f"{number} {memtables} must be more than min_write_buffer_number_to_merge {merged}, which cannot be "
                "changed while the database is open: with fewer memtables writes stop before a flush begins"
            )
            refusals.append(GuardRefusal("order", frozenset({number}), reason))
        for options, as_limits in ((_TRIGGERS, False), (_LIMITS, True)):
            names = [of_family(cf.name, option) for option in options]
            changed = frozenset(name for name in names if name in wanted and wanted[name] != current.get(name))
            values = [wanted.get(name, current.get(name)) for name in names]
            if not changed or None in values:
                continue
            sizes = [_size(value, as_limits) for value in values if value is not None]
            if sizes != sorted(sizes):
                words = " <= ".join(f"{option} {value}" for option, value in zip(options, values, strict=True))
                reason = f"in column family {cf.name} it must be that {words}{_why(sizes, as_limits)}"
                refusals.append(GuardRefusal("order", changed, reason, about=frozenset(names)))
    return tuple(refusals)


def _why(sizes: list[float], as_limits: bool) -> str:
    """Say where the wrong order is worse than a stall: RocksDB asserts that no trigger is above its slowdown."""
    if as_limits or sizes[0] <= sizes[1]:
        return ""
    return ", and a RocksDB with assertions, such as Debian's, aborts the program at a trigger above the slowdown"


def _size(value: str, as_limit: bool) -> float:
    return float("inf") if as_limit and value == "0" else int(value)
