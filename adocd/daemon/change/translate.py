"""From the knobs of a law to the options that carry them. Pure.

The base level is made as large as level 0 is when its compaction begins. That is computed from the owner's compaction
trigger, the one a restore sets. The live trigger may come from another law (2^30 while `toggle` has compaction off) or
from a pin, which expires: the base level would keep a size computed from it for good. Universal and FIFO compaction
have no base level, and the size of a file does not decide what they merge: under them the batch is the memtable alone.

A knob of several options that goes back to the owner's value is all of what the owner had: the owner's base level need
not be as large as level 0 is, nor the owner's pools divided as RocksDB divides jobs.
"""

from adocd.model.decision import Setting
from adocd.model.knob import KNOBS, Knob
from adocd.model.options import LEVEL_COMPACTION
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.threads import COMPACTION_POOL, FLUSH_POOL, ThreadsBy, pool_sizes
from adocd.model.values import RATE_LIMITER, OptionName, Values, of_database, of_family, of_pool

_MEMTABLE = "write_buffer_size"
_TRIGGER = "level0_file_num_compaction_trigger"
_POOLS = {Knob.FLUSH_THREADS: FLUSH_POOL, Knob.COMPACTION_THREADS: COMPACTION_POOL}


def options_of(setting: Setting, sample: Sample, owners: Values) -> dict[OptionName, str]:
    """Return the options that carry a setting, with their values; none for a column family that is gone.

    `owners` holds the originals, which a restore sets.
    """
    facts, knob = KNOBS[setting.knob], setting.knob
    if facts.scope == "column_family":
        family = next((cf for cf in sample.column_families if cf.name == setting.column_family), None)
        return {} if family is None else _of_family(setting, family, sample, owners)
    if knob is Knob.RATE_LIMIT:
        return {RATE_LIMITER: str(setting.value)}
    if sample.threads_by is ThreadsBy.POOLS:
        if knob is Knob.BACKGROUND_JOBS:
            found = _owners_pools(owners)
            pools = found if sum(found.values()) == setting.value else pool_sizes(setting.value)
            return {of_pool(pool): str(threads) for pool, threads in pools.items()}
        if knob in _POOLS:
            return {of_pool(_POOLS[knob]): str(setting.value)}
    return {of_database(facts.options[0]): str(setting.value)}


def may_carry(option: OptionName, knob: Knob) -> bool:
    """Whether the option carries the knob, in any column family and whichever way a database sets its threads."""
    if option.scope == "thread_pool":
        return knob is Knob.BACKGROUND_JOBS or option.name == _POOLS.get(knob)
    if option == RATE_LIMITER:
        return knob is Knob.RATE_LIMIT
    return option.option in KNOBS[knob].options


def _of_family(setting: Setting, cf: ColumnFamilySample, sample: Sample, owners: Values) -> dict[OptionName, str]:
    if setting.knob is Knob.BATCH_SIZE:
        if sample.options.compaction_style(cf.name) != LEVEL_COMPACTION:
            return {of_family(cf.name, _MEMTABLE): str(setting.value)}
        return _batch(setting.value, cf, sample, owners)
    facts = KNOBS[setting.knob]
    match facts.unit:
        case "switch":  # RocksDB's is inverted: disable_auto_compactions.
            value = "false" if setting.value else "true"
        case "percent":
            value = f"{setting.value / 100:.6f}"  # as RocksDB writes a double, for the value that is read back
        case _:
            value = str(setting.value)
    return {of_family(cf.name, facts.options[0]): value}


def _batch(batch_bytes: int, cf: ColumnFamilySample, sample: Sample, owners: Values) -> dict[OptionName, str]:
    """Spread the batch over its three options; the base level holds as much as triggers an L0 compaction."""
    if owners.get(of_family(cf.name, _MEMTABLE)) == str(batch_bytes) and (back := _owners_batch(cf, sample, owners)):
        return back
    live = cf.options.level0_file_num_compaction_trigger
    trigger = max(1, int(owners.get(of_family(cf.name, _TRIGGER), live)))
    sizes = (batch_bytes, batch_bytes, trigger * cf.memtables_of_flush * batch_bytes)
    return {
        of_family(cf.name, option): str(size)
        for option, size in zip(KNOBS[Knob.BATCH_SIZE].options, sizes, strict=True)
    }


def _owners_batch(cf: ColumnFamilySample, sample: Sample, owners: Values) -> dict[OptionName, str] | None:
    """Return what the owner had of the batch's options; None where one of them is not known."""
    live = sample.options.column_families.get(cf.name, {})
    found = {}
    for option in KNOBS[Knob.BATCH_SIZE].options:
        name = of_family(cf.name, option)
        if (value := owners.get(name, live.get(option))) is None:
            return None
        found[name] = value
    return found


def _owners_pools(owners: Values) -> dict[str, int]:
    """Return the threads of the owner's pools; nothing where they are not known, or never changed."""
    pools = {pool: owners.get(of_pool(pool)) for pool in (FLUSH_POOL, COMPACTION_POOL)}
    return {pool: int(size) for pool, size in pools.items() if size is not None}
