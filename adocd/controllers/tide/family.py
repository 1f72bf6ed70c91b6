"""What the law asks of a column family, apart from level 0. Pure."""

from adocd.model.knob import KNOBS, Knob
from adocd.model.options import LEVEL_COMPACTION, UNIVERSAL_COMPACTION
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.values import of_family


def is_governed(cf: ColumnFamilySample, sample: Sample) -> bool:
    """Whether the law acts on it."""
    style = sample.options.compaction_style(cf.name)
    return style in (LEVEL_COMPACTION, UNIVERSAL_COMPACTION) and not cf.options.disable_auto_compactions


def is_held(cf: ColumnFamilySample) -> bool:
    """Whether its memtables wait for flushes, or it has stalled writes."""
    return cf.memtables_wait or any(cf.stall_counts.values())


def is_behind(cf: ColumnFamilySample) -> bool:
    """Whether RocksDB delays writes for its pending compactions."""
    soft = cf.options.soft_pending_compaction_bytes_limit
    return cf.options.compaction_holds_writes and 0 < soft <= cf.pending_compaction_bytes


def is_pinned(knob: Knob, cf: ColumnFamilySample, sample: Sample) -> bool:
    """Whether an operator has pinned one of its options."""
    return of_family(cf.name, KNOBS[knob].options[0]) in sample.pinned
