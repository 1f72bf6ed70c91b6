"""RocksDB's background threads: one option where it can be changed, else the thread pools beneath it.

RocksDB allows max(1, max_background_jobs / 4) flushes and gives the rest to compactions (db_impl_compaction_flush.cc,
DBImpl::GetBGJobLimits); flushes run in the Env's pool `high`, compactions in `low`. Where max_background_jobs cannot
be changed live (rocksdict has no SetDBOptions), the pools' sizes turn the same thing, up to what the database was
opened with.
"""

from enum import StrEnum

from adocd.model.capabilities import Capabilities
from adocd.model.snapshot import OptionValues

FLUSH_POOL = "high"
COMPACTION_POOL = "low"
#: One thread for flushes and one for compactions: fewer cannot be had, and RocksDB's default is no more.
FEWEST_POOL_THREADS = 2


class ThreadsBy(StrEnum):
    """What carries the knob for background threads."""

    OPTION = "max_background_jobs"
    POOLS = "thread pools"


def threads_by(options: OptionValues, capabilities: Capabilities) -> ThreadsBy | None:
    """Say what turns the background threads here; None where nothing does.

    max_background_jobs is dead unless max_background_flushes and max_background_compactions are both -1 (options.h).
    The pools do nothing beyond the jobs that the database may run.
    """
    if "max_background_jobs" in capabilities.database_options:
        return ThreadsBy.OPTION if not has_old_options(options) and jobs_allowed(options) is not None else None
    both = {FLUSH_POOL, COMPACTION_POOL}
    if both <= set(capabilities.thread_pools) and both <= options.thread_pools.keys():
        return ThreadsBy.POOLS if (jobs_allowed(options) or 0) > FEWEST_POOL_THREADS else None
    return None


def has_old_options(options: OptionValues) -> bool:
    """Whether max_background_flushes or max_background_compactions is set, which overrides max_background_jobs."""
    return any(int(options.database.get(old, -1)) != -1 for old in _OLD)


def jobs_allowed(options: OptionValues) -> int | None:
    """How many background jobs the database may run at once, by its options; None where they are not reported."""
    if has_old_options(options):
        return sum(max(1, int(options.database.get(old, -1))) for old in _OLD)
    jobs = options.database.get("max_background_jobs")
    return None if jobs is None else int(jobs)


def threads_now(options: OptionValues, by: ThreadsBy | None) -> int | None:
    """Read the knob's value: jobs, or the threads of both pools that the database may use."""
    if by is None:
        return None
    allowed = jobs_allowed(options)
    if by is ThreadsBy.OPTION or allowed is None:
        return allowed
    return min(allowed, sum(options.thread_pools[pool] for pool in (FLUSH_POOL, COMPACTION_POOL)))


def pool_sizes(jobs: int) -> dict[str, int]:
    """Divide jobs between the two pools as RocksDB divides max_background_jobs."""
    flushes = max(1, jobs // 4)
    return {FLUSH_POOL: flushes, COMPACTION_POOL: max(1, jobs - flushes)}


_OLD = ("max_background_flushes", "max_background_compactions")
