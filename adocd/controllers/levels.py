"""Compaction debt, computed from the sizes of levels."""

from adocd.model.knob import Knob
from adocd.model.reading import owners_value
from adocd.model.sample import ColumnFamilySample, Sample

_DEFAULT_MULTIPLIER = 10.0


def debt_bytes(cf: ColumnFamilySample, sample: Sample) -> int:
    """Sum the bytes by which levels below L0 exceed their targets under the owner's base; 0 if no sizes are reported.

    The target is the base for level 1, and the multiplier times the previous target for each further level
    (advanced_options.h, max_bytes_for_level_multiplier); the last level has none. With dynamic level bytes the first
    non-empty level gets the base. RocksDB computes targets from the last level up there and may come to less, so the
    sum is then a lower bound.
    """
    base = owners_value(Knob.LEVEL_BASE_SIZE, sample, cf.name)
    if cf.level_bytes is None or base is None:
        return 0
    options = sample.options.column_families.get(cf.name, {})
    multiplier = float(options.get("max_bytes_for_level_multiplier", _DEFAULT_MULTIPLIER))
    is_dynamic = options.get("level_compaction_dynamic_level_bytes") == "true"
    debt, target = 0, float(base)
    for size in cf.level_bytes[1:-1]:
        if is_dynamic and size == 0 and target == base:
            continue
        debt += max(0, size - int(target))
        target *= multiplier
    return debt
