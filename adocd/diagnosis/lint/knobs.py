"""Rules about knobs that have no effect, are out of reach, or do something else than they seem to."""

from collections.abc import Iterator

from adocd.diagnosis.lint.facts import Facts, Values
from adocd.diagnosis.lint.finding import Hit, Severity, family_rule, rule
from adocd.model.in_words import size
from adocd.model.knob import KNOBS, Knob
from adocd.model.options import LEVEL_COMPACTION
from adocd.model.threads import COMPACTION_POOL, FEWEST_POOL_THREADS, FLUSH_POOL

_OLD = ("max_background_flushes", "max_background_compactions")
#: RocksDB switches memtables when the mutable ones take this share of db_write_buffer_size.
_CAP_NUMERATOR, _CAP_DENOMINATOR = 7, 8

#: Fewest flushes to judge by.
_ENOUGH_FLUSHES = 3
#: By RocksDB's name of a flush reason: its cause and the fix.
_EARLY = {
    "Write Buffer Manager": (
        "a WriteBufferManager, or db_write_buffer_size, caps all memtables together",
        "give the program's WriteBufferManager more, or lower the law's batch_max_bytes to what it allows",
    ),
    "WAL Full": (
        "the logs reached max_total_wal_size before the memtables were full",
        "raise max_total_wal_size, or lower the law's batch_max_bytes to what it allows",
    ),
}


def _old_options(facts: Facts) -> dict[str, int]:
    values = {name: facts.database.number(name) for name in _OLD}
    return {name: value for name, value in values.items() if value is not None and value != -1}


def _has_the_option(facts: Facts) -> bool:
    return "max_background_jobs" in facts.capabilities.database_options


def _jobs_allowed(facts: Facts) -> int | None:
    """Count the background jobs that the database may run, as adocd.model.threads does."""
    old = _old_options(facts)
    return sum(max(1, old.get(name, 1)) for name in _OLD) if old else facts.database.number("max_background_jobs")


@rule(Severity.USELESS, "RocksDB options.h, max_background_jobs; DBImpl::GetBGJobLimits")
def old_thread_options(facts: Facts) -> Iterator[Hit]:
    """Find that an old-style thread option is set, so max_background_jobs has no effect."""
    if not _has_the_option(facts):
        return
    for name, value in _old_options(facts).items():
        yield Hit(
            name,
            f"{name} = {value} overrides max_background_jobs, so the knob for threads has no effect",
            "set max_background_flushes and max_background_compactions to -1 in the program's options, and "
            "max_background_jobs instead",
        )


@rule(Severity.USELESS, "RocksDB env.h, SetBackgroundThreads; DBImpl::GetBGJobLimits")
def threads_out_of_reach(facts: Facts) -> Iterator[Hit]:
    """Find that the agent cannot change max_background_jobs, and the thread pools beneath it have no room."""
    if _has_the_option(facts):
        return
    jobs = _jobs_allowed(facts)
    pools = {FLUSH_POOL, COMPACTION_POOL} <= set(facts.capabilities.thread_pools)
    if not pools or jobs is None:
        yield Hit(
            Knob.BACKGROUND_JOBS,
            "this agent can change neither max_background_jobs nor the thread pools",
            "use a law without threads, such as adoc with tune_threads=false",
        )
    elif jobs <= FEWEST_POOL_THREADS:
        yield Hit(
            "max_background_jobs",
            f"the database was opened with {jobs} background jobs: this agent cannot change max_background_jobs, and "
            "larger thread pools have no effect",
            f"open the database with max_background_jobs = {facts.bounds.threads_max}, or use tune_threads=false",
        )


@rule(Severity.NOTE, "ADOC, FAST'23, section 5 (the bounds are the law's parameters)")
def threads_at_their_bound(facts: Facts) -> Iterator[Hit]:
    """Find that max_background_jobs is at the law's upper bound or above it, so the law can only lower it."""
    jobs = facts.database.number("max_background_jobs")
    if jobs is None or jobs < facts.bounds.threads_max or _old_options(facts) or not _has_the_option(facts):
        return
    yield Hit(
        "max_background_jobs",
        f"max_background_jobs = {jobs}, and the law's upper bound is {facts.bounds.threads_max}: it can only halve it",
        f"raise the law's threads_max above {jobs}, or open the database with fewer",
    )


@rule(Severity.USELESS, "adocd agents/admin-api.yaml, Capabilities")
def batch_out_of_reach(facts: Facts) -> Iterator[Hit]:
    """Find that the agent cannot change the options that make up the batch size."""
    missing = [name for name in KNOBS[Knob.BATCH_SIZE].options if name not in facts.capabilities.column_family_options]
    if missing:
        yield Hit(
            Knob.BATCH_SIZE,
            f"this agent cannot change {', '.join(missing)}, which {Knob.BATCH_SIZE} needs",
            "use a law without batches, such as adoc with tune_batch=false",
        )


@rule(Severity.NOTE, "ADOC, FAST'23, section 6.1 (the bounds are the law's parameters)")
def batch_at_its_bound(facts: Facts) -> Iterator[Hit]:
    """Find that write_buffer_size is at the law's upper bound or above it, so the law can only halve it."""
    most = facts.bounds.batch_max_bytes
    found: dict[int, list[str]] = {}
    for name, options in sorted(facts.families.items()):
        batch = options.number("write_buffer_size")
        if batch is not None and batch >= most:
            found.setdefault(batch, []).append(name)
    for batch, names in found.items():
        yield Hit(
            "write_buffer_size",
            f"write_buffer_size = {batch}, and the law's upper bound is {size(most)}: it can only halve it",
            "raise the law's batch_max_bytes, or open the database with a smaller one",
            tuple(names),
        )


@rule(Severity.DANGER, "ADOC, FAST'23, section 5 and the authors' code: the base level is the L0 trigger's files")
def first_step_shrinks_the_base_level(facts: Facts) -> Iterator[Hit]:
    """Find that the law's first memory step makes max_bytes_for_level_base smaller than it is configured."""
    step = facts.bounds.batch_step_bytes
    found: dict[tuple[int, int], list[str]] = {}
    for name, options in sorted(facts.families.items()) if step is not None else ():
        batch, base = options.number("write_buffer_size"), options.number("max_bytes_for_level_base")
        trigger = options.number("level0_file_num_compaction_trigger")
        if options.text("compaction_style") not in (LEVEL_COMPACTION, None):
            continue
        if batch is None or base is None or trigger is None or trigger < 1 or batch >= facts.bounds.batch_max_bytes:
            continue
        merged = max(1, options.number("min_write_buffer_number_to_merge") or 1)
        after = trigger * merged * min(facts.bounds.batch_max_bytes, batch + (step or batch))
        if after < base:
            found.setdefault((base, after), []).append(name)
    for (base, after), names in found.items():
        yield Hit(
            "max_bytes_for_level_base",
            f"max_bytes_for_level_base = {base}, and the law's first memory step makes it {size(after)}: all bytes "
            "in level 1 above that are due for compaction at once, and can stop writes for pending compaction bytes",
            "use tune_batch=false, or try a dry run first; adocd restores the base when the policy ends",
            tuple(names),
        )


@rule(Severity.USELESS, "RocksDB write_buffer_manager.h, WriteBufferManager::ShouldFlush")
def memtables_are_capped(facts: Facts) -> Iterator[Hit]:
    """Find that db_write_buffer_size caps all memtables together below the largest batch of the law."""
    cap = facts.database.number("db_write_buffer_size")
    if cap is None or cap <= 0:
        return
    usable = cap * _CAP_NUMERATOR // _CAP_DENOMINATOR
    if usable < facts.bounds.batch_max_bytes:
        yield Hit(
            "db_write_buffer_size",
            f"db_write_buffer_size = {cap}: RocksDB switches memtables once all of them take {size(usable)}, so "
            f"{Knob.BATCH_SIZE} has no effect above that, and the law goes up to {size(facts.bounds.batch_max_bytes)}",
            "set it to 0 and limit the memory by adocd's memory_budget_bytes, or lower the law's batch_max_bytes to it",
        )


@rule(Severity.USELESS, "RocksDB options.h, max_total_wal_size; DBImpl::SwitchWAL")
def wal_caps_memtables(facts: Facts) -> Iterator[Hit]:
    """Find that max_total_wal_size flushes memtables before they are full, with several column families."""
    cap = facts.database.number("max_total_wal_size")
    if cap is None or not 0 < cap < facts.bounds.batch_max_bytes or len(facts.all_families) < 2:
        return
    yield Hit(
        "max_total_wal_size",
        f"max_total_wal_size = {cap} flushes memtables once the WAL files reach that size together, so "
        f"{Knob.BATCH_SIZE} has no effect above that, but the law goes up to {size(facts.bounds.batch_max_bytes)}",
        "set it to 0, which means four times the memory of all memtables, or lower the law's batch_max_bytes to it",
    )


@rule(Severity.USELESS, "RocksDB listener.h, FlushReason; db/db_impl/db_impl_write.cc, DBImpl::PreprocessWrite")
def flushes_come_early(facts: Facts) -> Iterator[Hit]:
    """Find that a WriteBufferManager or the WAL's size limit has flushed memtables before they were full."""
    reasons = [event.reason for event in facts.snapshot.events if event.kind == "flush_end"]
    for reason, (what, way_out) in _EARLY.items():
        early = reasons.count(reason)
        # Databases may share a WriteBufferManager, so a few early flushes do not mean that its cap binds this one.
        if early >= _ENOUGH_FLUSHES and 2 * early >= len(reasons):
            yield Hit(
                Knob.BATCH_SIZE,
                f"{early} of the last {len(reasons)} flushes had the reason {reason!r}: {what}, so {Knob.BATCH_SIZE} "
                "has little effect",
                way_out,
            )


@rule(Severity.NOTE, "RocksDB options.h, atomic_flush")
def families_flush_together(facts: Facts) -> Iterator[Hit]:
    """Find that with atomic_flush the first full memtable flushes the memtables of all column families."""
    if facts.database.flag("atomic_flush") is not True or len(facts.all_families) < 2:
        return
    yield Hit(
        "atomic_flush",
        "atomic_flush = true: the first full memtable flushes the memtables of all column families, so the "
        f"{Knob.BATCH_SIZE} of the others has little effect",
        "turn it off if every write uses the WAL: RocksDB's documentation says that it is not needed then",
    )


@family_rule(Severity.NOTE, "RocksDB db/version_set.cc, VersionStorageInfo::EstimateCompactionBytesNeeded")
def not_level_compaction(options: Values) -> Hit | None:
    """Find that compaction is universal, FIFO or none, under which a law turns memtables and threads alone."""
    style = options.text("compaction_style")
    if style is None or style == LEVEL_COMPACTION:
        return None
    return Hit(
        "compaction_style",
        f"compaction_style = {style}: there is no base level and RocksDB reports no pending compaction bytes, so the "
        "law turns memtables and threads alone, and never sees redundancy overflow",
        "check the law's decisions in a dry run first; a law that needs level compaction is refused",
    )


@family_rule(Severity.NOTE, "RocksDB advanced_options.h, level_compaction_dynamic_level_bytes")
def levels_are_dynamic(options: Values) -> Hit | None:
    """Find that with dynamic level bytes max_bytes_for_level_base is only an upper bound of the base level."""
    style = options.text("compaction_style")
    if options.flag("level_compaction_dynamic_level_bytes") is not True or style not in (LEVEL_COMPACTION, None):
        return None
    return Hit(
        "level_compaction_dynamic_level_bytes",
        "level_compaction_dynamic_level_bytes = true: max_bytes_for_level_base, which follows the batch, is only an "
        "upper bound, and RocksDB derives a smaller base level from the size of the last level",
        "nothing to do; expect the batch to affect level 1 less than in the paper, whose levels are static",
    )


RULES = (
    old_thread_options,
    threads_out_of_reach,
    threads_at_their_bound,
    batch_out_of_reach,
    batch_at_its_bound,
    first_step_shrinks_the_base_level,
    memtables_are_capped,
    wal_caps_memtables,
    flushes_come_early,
    families_flush_together,
    not_level_compaction,
    levels_are_dynamic,
)
