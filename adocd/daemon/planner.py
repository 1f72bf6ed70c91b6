"""From a decision to ordered option changes, and the plan that leads back. Pure: values in, values out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from adocd.model.decision import Setting
from adocd.model.knob import MIB, Knob
from adocd.model.sample import ColumnFamilySample, Sample
from adocd.model.snapshot import OptionValues
from adocd.model.threads import ThreadsBy, pool_sizes
from adocd.targets.base import Change, ColumnFamilyChange, DatabaseChange, RestoreStep, ThreadPoolChange

#: delayed_write_rate is never sent below this. Set live, 0 means about 1 byte/s (and killed a 6.29 process).
DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S = 1 * MIB
#: What RocksDB takes at open for a delayed_write_rate of 0 without a rate limiter (options.h).
DELAYED_WRITE_RATE_DEFAULT_BYTES_PER_S = 16 * MIB
#: What carries the batch, of each column family.
BATCH_OPTIONS = ("write_buffer_size", "target_file_size_base", "max_bytes_for_level_base")


@dataclass(frozen=True, slots=True)
class Touched:
    """The options that a session's leases have changed, so that a restore plan can name every one of them."""

    database: frozenset[str] = frozenset()
    column_families: Mapping[str, frozenset[str]] = field(default_factory=dict)
    thread_pools: frozenset[str] = frozenset()

    def and_those_of(self, changes: Iterable[Change]) -> "Touched":
        """Add what the changes touch."""
        database, families, pools = self.database, dict(self.column_families), self.thread_pools
        for change in changes:
            match change:
                case DatabaseChange(options):
                    database |= options.keys()
                case ThreadPoolChange(pool):
                    pools |= {pool}
                case ColumnFamilyChange(name, options):
                    families[name] = families.get(name, frozenset()) | options.keys()
        return Touched(database, families, pools)


def differing_from(originals: OptionValues, current: OptionValues, by: ThreadsBy | None) -> Touched:
    """Find what an earlier lease of this session left changed, so that a successor's plan leads back from it.

    The pools count only where they are the knob: elsewhere RocksDB itself lets them grow with max_background_jobs.
    An original bytes_per_sync of 0 is no way back: any effective SetDBOptions makes it 1 MiB, and setting 0 live
    makes 1 MiB of it again (7.8, db_impl.cc, DBImpl::SetDBOptions).
    """
    database = _differing(originals.database, current.database, only_current=True)
    if originals.database.get("bytes_per_sync") == "0":
        database.pop("bytes_per_sync", None)
    families = {
        name: frozenset(_differing(values, current.column_families.get(name, {}), only_current=True))
        for name, values in originals.column_families.items()
    }
    pools = {pool for pool, threads in originals.thread_pools.items() if current.thread_pools.get(pool) != threads}
    return Touched(
        frozenset(database),
        {name: options for name, options in families.items() if options},
        frozenset(pools & current.thread_pools.keys()) if by is ThreadsBy.POOLS else frozenset(),
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """Calls in order, the way back from all that was touched, and what will then have been touched."""

    changes: tuple[Change, ...]
    restore: tuple[RestoreStep, ...]
    touched: Touched


def plan(settings: Iterable[Setting], sample: Sample, originals: OptionValues, touched: Touched) -> Plan:
    """Turn settings into calls; only what differs from the sampled options, one call a column family.

    Column families come first. Each of their changes lowers the delayed rate while writes are delayed, and a
    database-wide change resets it to its maximum (HAZARDS 6, 7: write_controller.h, set_max_delayed_write_rate);
    so the database's call comes last and, during a delay, carries the rate that was in force.
    """
    database: dict[str, str] = {}
    pools: dict[str, int] = {}
    families: dict[str, dict[str, str]] = {}
    by_name = {cf.name: cf for cf in sample.column_families}
    for setting in settings:
        if setting.knob is Knob.BACKGROUND_JOBS and sample.threads_by is ThreadsBy.POOLS:
            pools = pool_sizes(setting.value)
        elif setting.knob is Knob.BACKGROUND_JOBS:
            database["max_background_jobs"] = str(setting.value)
        elif setting.column_family in by_name:
            families[setting.column_family] = _batch_options(setting.value, by_name[setting.column_family])
    changes: list[Change] = []
    for name, wanted in families.items():
        if differing := _differing(wanted, sample.options.column_families.get(name, {})):
            changes.append(ColumnFamilyChange(name, differing))
    changes += [
        ThreadPoolChange(pool, threads)
        for pool, threads in pools.items()
        if sample.options.thread_pools.get(pool) != threads
    ]
    if differing := _differing(database, sample.options.database):
        changes.append(DatabaseChange(differing | _brake(sample)))
    return _with_way_back(tuple(changes), originals, touched)


def release_brake(sample: Sample, originals: OptionValues, touched: Touched) -> Plan:
    """Put delayed_write_rate back once the delay is over in which a change had to carry it."""
    now = sample.options.database.get("delayed_write_rate")
    original = _original_delayed_write_rate(originals)
    delayed = sample.condition != "normal" or sample.delayed_write_rate_bytes_per_s > 0
    if delayed or "delayed_write_rate" not in touched.database or now in (None, original):
        return Plan((), (), touched)
    return _with_way_back((DatabaseChange({"delayed_write_rate": original}),), originals, touched)


def _batch_options(batch_bytes: int, cf: ColumnFamilySample) -> dict[str, str]:
    """Spread the batch over its three options; the base level holds what triggers an L0 compaction."""
    trigger = max(1, cf.options.level0_file_num_compaction_trigger)
    merge = max(1, cf.options.min_write_buffer_number_to_merge)
    sizes = (batch_bytes, batch_bytes, trigger * merge * batch_bytes)
    return {option: str(size) for option, size in zip(BATCH_OPTIONS, sizes, strict=True)}


def _differing(wanted: Mapping[str, str], current: Mapping[str, str], *, only_current: bool = False) -> dict[str, str]:
    """Pick what is wanted otherwise than it is; with `only_current` among the options that are reported at all."""
    return {
        name: value
        for name, value in wanted.items()
        if current.get(name) != value and (name in current or not only_current)
    }


def _brake(sample: Sample) -> dict[str, str]:
    rate = sample.delayed_write_rate_bytes_per_s
    if rate <= 0:
        return {}
    return {"delayed_write_rate": str(max(rate, DELAYED_WRITE_RATE_FLOOR_BYTES_PER_S))}


def _original_delayed_write_rate(originals: OptionValues) -> str:
    original = originals.database.get("delayed_write_rate", "0")
    return str(DELAYED_WRITE_RATE_DEFAULT_BYTES_PER_S) if original == "0" else original


def _with_way_back(changes: tuple[Change, ...], originals: OptionValues, touched: Touched) -> Plan:
    touched = touched.and_those_of(changes)
    steps: list[RestoreStep] = []
    for name, options in sorted(touched.column_families.items()):
        values = originals.column_families.get(name, {})
        if back := {option: values[option] for option in sorted(options) if option in values}:
            steps.append(RestoreStep(ColumnFamilyChange(name, back)))
    steps += [
        RestoreStep(ThreadPoolChange(pool, originals.thread_pools[pool]))
        for pool in sorted(touched.thread_pools)
        if pool in originals.thread_pools
    ]
    back = {option: originals.database[option] for option in sorted(touched.database) if option in originals.database}
    if "delayed_write_rate" in back:
        back["delayed_write_rate"] = _original_delayed_write_rate(originals)
    if back:
        steps.append(RestoreStep(DatabaseChange(back)))
    return Plan(changes, tuple(steps), touched)
