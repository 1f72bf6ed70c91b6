"""From the knobs of a law to the options that carry them. Pure.

The base level is as large as level 0 when its compaction begins, and the trigger that is meant is the owner's, to which
the way back leads. The live one may be another law's turn (2^30 while `toggle` has compaction off), or a pin, which
ends by itself: the base level would keep what was reckoned by it for good.
"""

from adocd.model.decision import Setting
from adocd.model.knob import KNOBS, Knob
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.threads import COMPACTION_POOL, FLUSH_POOL, ThreadsBy, pool_sizes
from adocd.model.values import RATE_LIMITER, OptionName, Values, of_database, of_family, of_pool

_TRIGGER = "level0_file_num_compaction_trigger"
_POOLS = {Knob.FLUSH_THREADS: FLUSH_POOL, Knob.COMPACTION_THREADS: COMPACTION_POOL}


def options_of(setting: Setting, sample: Sample, owners: Values) -> dict[OptionName, str]:
    """Say which options carry a setting, with their values; none for a column family that has gone.

    `owners` are the values that the way back leads to.
    """
    facts, knob = KNOBS[setting.knob], setting.knob
    if facts.scope == "column_family":
        family = next((cf for cf in sample.column_families if cf.name == setting.column_family), None)
        return {} if family is None else _of_family(setting, family, owners)
    if knob is Knob.RATE_LIMIT:
        return {RATE_LIMITER: str(setting.value)}
    if sample.threads_by is ThreadsBy.POOLS:
        if knob is Knob.BACKGROUND_JOBS:
            return {of_pool(pool): str(threads) for pool, threads in pool_sizes(setting.value).items()}
        if knob in _POOLS:
            return {of_pool(_POOLS[knob]): str(setting.value)}
    return {of_database(facts.options[0]): str(setting.value)}


def _of_family(setting: Setting, cf: ColumnFamilySample, owners: Values) -> dict[OptionName, str]:
    if setting.knob is Knob.BATCH_SIZE:
        return _batch(setting.value, cf, owners)
    facts = KNOBS[setting.knob]
    # RocksDB's switch is the other way round: disable_auto_compactions.
    value = ("false" if setting.value else "true") if facts.unit == "switch" else str(setting.value)
    return {of_family(cf.name, facts.options[0]): value}


def _batch(batch_bytes: int, cf: ColumnFamilySample, owners: Values) -> dict[OptionName, str]:
    """Spread the batch over its three options; the base level holds what triggers an L0 compaction."""
    live = cf.options.level0_file_num_compaction_trigger
    trigger = max(1, int(owners.get(of_family(cf.name, _TRIGGER), live)))
    merge = max(1, cf.options.min_write_buffer_number_to_merge)
    sizes = (batch_bytes, batch_bytes, trigger * merge * batch_bytes)
    return {
        of_family(cf.name, option): str(size)
        for option, size in zip(KNOBS[Knob.BATCH_SIZE].options, sizes, strict=True)
    }
