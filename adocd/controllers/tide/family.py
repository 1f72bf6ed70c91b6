"""What the law asks of a column family, apart from level 0's gate. Pure."""

from adocd.model.knob import KNOBS, Knob
from adocd.model.options import LEVEL_COMPACTION, UNIVERSAL_COMPACTION
from adocd.model.reading import owners_value
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.values import of_family

#: Of the way from the soft limit of pending compaction bytes to the hard one, where RocksDB is near a stop.
_NEAR_STOP = 0.75
#: Where the owner has switched the hard one off, it is as many soft ones as by RocksDB's defaults.
_HARD_OF_SOFT = 4
#: Twice the owner's trigger presses, but not fewer files: with a trigger of 1, any flush during a merge makes two.
_PRESSES_LEAST = 8


def is_governed(cf: ColumnFamilySample, sample: Sample) -> bool:
    """Whether the law acts on it."""
    style = sample.options.compaction_style(cf.name)
    return style in (LEVEL_COMPACTION, UNIVERSAL_COMPACTION) and not cf.options.disable_auto_compactions


def is_held(cf: ColumnFamilySample) -> bool:
    """Whether its memtables wait for flushes, or it has stalled writes."""
    return cf.memtables_wait or any(cf.stall_counts.values())


def level0_presses(cf: ColumnFamilySample, sample: Sample) -> bool:
    """Whether level 0 has many files by the owner's limits, but before they delay writes: then a change can be late."""
    trigger, slowdown = (
        owners_value(knob, sample, cf.name) or 0 for knob in (Knob.LEVEL0_TRIGGER, Knob.LEVEL0_SLOWDOWN)
    )
    least = _PRESSES_LEAST if slowdown <= 0 else min(_PRESSES_LEAST, slowdown - 1)
    return trigger > 0 and cf.l0_files >= max(2 * trigger, least)


def anyone_is_held(sample: Sample) -> bool:
    """Whether memtables wait for flushes, or writes have stalled, in a column family that the law acts on."""
    return any(is_governed(cf, sample) and is_held(cf) for cf in sample.column_families)


def delays_by_runs(sample: Sample) -> bool:
    """Whether the sorted runs of a column family with universal compaction delay writes to all of them."""
    return any(
        cf.options.compaction_style == UNIVERSAL_COMPACTION
        and cf.options.compaction_holds_writes
        and 0 <= cf.options.level0_slowdown_writes_trigger <= cf.l0_delay_trigger_count
        for cf in sample.column_families
    )


def pending_share(cf: ColumnFamilySample) -> float:
    """Return the share of a rate that is left where RocksDB delays writes for pending compactions.

    1 up to the soft limit, and 0 where RocksDB is near a stop (column_family.cc, RecalculateWriteStallConditions).
    """
    soft, hard = cf.options.soft_pending_compaction_bytes_limit, cf.options.hard_pending_compaction_bytes_limit
    if not cf.options.compaction_holds_writes or not 0 < soft <= cf.pending_compaction_bytes:
        return 1.0
    way = _NEAR_STOP * ((hard or _HARD_OF_SOFT * soft) - soft)
    return max(0.0, 1 - (cf.pending_compaction_bytes - soft) / max(1.0, way))


def is_pinned(knob: Knob, cf: ColumnFamilySample, sample: Sample) -> bool:
    """Whether an operator has pinned one of its options."""
    return of_family(cf.name, KNOBS[knob].options[0]) in sample.pinned
