"""RocksDB's background threads: set by one option if it can be changed, else by the sizes of the thread pools.

RocksDB allows max(1, max_background_jobs / 4) flushes and leaves the rest to compactions
(db_impl_compaction_flush.cc, DBImpl::GetBGJobLimits); flushes run in the Env's pool `high`, compactions in `low`. If
max_background_jobs cannot be changed live (rocksdict has no SetDBOptions), the pools' sizes have the same effect, up to
the number of jobs that the database was opened with.
"""

from collections.abc import Mapping
from enum import StrEnum

from adocd.model.capabilities import Capabilities
from adocd.model.snapshot import OptionValues

FLUSH_POOL = "high"
COMPACTION_POOL = "low"
#: One thread for flushes and one for compactions: the minimum, and RocksDB's default.
FEWEST_POOL_THREADS = 2


class ThreadsBy(StrEnum):
    """What carries the knob for background threads: the option or the thread pools."""

    OPTION = "max_background_jobs"
    POOLS = "thread pools"


def threads_by(options: OptionValues, capabilities: Capabilities) -> ThreadsBy | None:
    """Return what sets the background threads here; None if nothing can.

    max_background_jobs has no effect unless max_background_flushes and max_background_compactions are both -1
    (options.h). Pool threads beyond the jobs that the database may run have no effect.
    """
    if "max_background_jobs" in capabilities.database_options:
        return ThreadsBy.OPTION if not has_old_options(options) and jobs_allowed(options) is not None else None
    both = {FLUSH_POOL, COMPACTION_POOL}
    if both <= set(capabilities.thread_pools) and both <= options.thread_pools.keys():
        return ThreadsBy.POOLS if (jobs_allowed(options) or 0) > FEWEST_POOL_THREADS else None
    return None


def has_old_options(options: OptionValues) -> bool:
    """Whether max_background_flushes or max_background_compactions is set, which overrides max_background_jobs."""
    return _has_old(options.database)


def jobs_allowed(options: OptionValues) -> int | None:
    """Return how many background jobs the options allow at once; None if they are not reported."""
    if has_old_options(options):
        return sum(job_limits(options.database).values())
    jobs = options.database.get("max_background_jobs")
    return None if jobs is None else int(jobs)


def threads_now(options: OptionValues, by: ThreadsBy | None) -> int | None:
    """Return the knob's value: jobs, or the threads of both pools that the database may use."""
    if by is None:
        return None
    allowed = jobs_allowed(options)
    if by is ThreadsBy.OPTION or allowed is None:
        return allowed
    return min(allowed, sum(options.thread_pools[pool] for pool in (FLUSH_POOL, COMPACTION_POOL)))


def job_limits(database: Mapping[str, str]) -> dict[str, int]:
    """Return how many jobs of each pool RocksDB runs at once under these database options (GetBGJobLimits)."""
    if _has_old(database):
        flushes, compactions = (max(1, int(database.get(old, -1))) for old in _OLD)
        return {FLUSH_POOL: flushes, COMPACTION_POOL: compactions}
    return pool_sizes(int(database.get("max_background_jobs", FEWEST_POOL_THREADS)))


def pool_sizes(jobs: int) -> dict[str, int]:
    """Split jobs between the two pools as RocksDB splits max_background_jobs."""
    flushes = max(1, jobs // 4)
    return {FLUSH_POOL: flushes, COMPACTION_POOL: max(1, jobs - flushes)}


def _has_old(database: Mapping[str, str]) -> bool:
    return any(int(database.get(old, -1)) != -1 for old in _OLD)


_OLD = ("max_background_flushes", "max_background_compactions")
