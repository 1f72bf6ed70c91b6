"""From the knobs of a law to the options that carry them. Pure."""

from adocd.model.decision import Setting
from adocd.model.knob import Knob
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.threads import ThreadsBy, pool_sizes
from adocd.model.values import OptionName, of_database, of_family, of_pool

#: What carries the batch, of each column family.
BATCH_OPTIONS = ("write_buffer_size", "target_file_size_base", "max_bytes_for_level_base")


def options_of(setting: Setting, sample: Sample) -> dict[OptionName, str]:
    """Say which options carry a setting, with their values; none for a column family that has gone."""
    if setting.knob is Knob.BACKGROUND_JOBS:
        if sample.threads_by is ThreadsBy.POOLS:
            return {of_pool(pool): str(threads) for pool, threads in pool_sizes(setting.value).items()}
        return {of_database("max_background_jobs"): str(setting.value)}
    family = next((cf for cf in sample.column_families if cf.name == setting.column_family), None)
    return {} if family is None else _batch(setting.value, family)


def _batch(batch_bytes: int, cf: ColumnFamilySample) -> dict[OptionName, str]:
    """Spread the batch over its three options; the base level holds what triggers an L0 compaction."""
    trigger = max(1, cf.options.level0_file_num_compaction_trigger)
    merge = max(1, cf.options.min_write_buffer_number_to_merge)
    sizes = (batch_bytes, batch_bytes, trigger * merge * batch_bytes)
    return {of_family(cf.name, option): str(size) for option, size in zip(BATCH_OPTIONS, sizes, strict=True)}
