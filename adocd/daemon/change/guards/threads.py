"""Keep a change from starting more threads than the database's process may have. Pure, but for reading its tasks."""

from adocd.daemon.change.guards.guard import Beside, GuardRefusal, TasksInUse
from adocd.model.sample import Sample
from adocd.model.threads import COMPACTION_POOL, job_limits
from adocd.model.values import OptionName, Values, nested, of_database

#: Of the tasks that the cgroup allows, 1/20 stay free for the program, but at least and at most so many.
_SPARE_SHARE, _SPARE_LEAST, _SPARE_MOST = 20, 2, 64
_SUBCOMPACTIONS = of_database("max_subcompactions")
_JOBS = {*map(of_database, ("max_background_jobs", "max_background_flushes", "max_background_compactions"))}


def thread_shortage(wanted: Values, sample: Sample, beside: Beside) -> tuple[GuardRefusal, ...]:
    """Refuse more threads while the cgroup of the target's process has few tasks left.

    Where RocksDB cannot start a thread, std::thread throws in one of its own threads, and that ends the program. Pools
    come first, so that subcompactions that are too many keep no job from running.
    """
    asked = _about_threads(wanted)
    if not asked:
        return ()
    now, tasks, refusals = _about_threads(sample.values), None, list[GuardRefusal]()
    owners = _of_subcompactions(now | _about_threads(beside.originals))
    subcompactions = {option: value for option, value in asked.items() if option == _SUBCOMPACTIONS}
    for part in ({o: v for o, v in asked.items() if o not in subcompactions}, subcompactions):
        more = _threads(now | part) - _threads(now)
        if more > 0:
            tasks = tasks or beside.read_tasks()
            promised = max(0, _of_subcompactions(now) - owners)
            if tasks is not None and (short := _short_of(tasks, more, promised)) is not None:
                changed = frozenset(option for option, value in part.items() if now.get(option) != value)
                words = " and ".join(sorted(f"{option} {part[option]}" for option in changed))
                reason = f"{words} can start {more} more threads; {short}"
                refusals.append(GuardRefusal("thread shortage", changed, reason))
                continue
        now |= part
    return tuple(refusals)


def _short_of(tasks: TasksInUse, more: int, promised: int) -> str | None:
    """Say how few tasks are left if so many more would leave too few; `promised` are ours that are not there yet."""
    spare = min(max(tasks.limit // _SPARE_SHARE, _SPARE_LEAST), _SPARE_MOST)
    left = max(0, tasks.limit - tasks.used - promised)
    if left - more >= spare:
        return None
    return f"of the {tasks.limit} that its cgroup allows {left} are left, and {spare} stay free"


def _about_threads(values: Values) -> dict[OptionName, str]:
    """Pick what decides on threads: a database may have hundreds of column families' options besides."""
    return {o: v for o, v in values.items() if o.scope == "thread_pool" or o in _JOBS or o == _SUBCOMPACTIONS}


def _threads(values: Values) -> int:
    """Count the threads of the pools, which RocksDB starts at once, and those that compactions may start besides.

    A pool that already has more threads than the options ask for keeps them (env.h, IncBackgroundThreadsIfNeeded).
    """
    options = nested(values)
    pools = dict(options.thread_pools)
    for pool, jobs in job_limits(options.database).items():
        pools[pool] = max(pools.get(pool, 0), jobs)
    return sum(pools.values()) + _of_subcompactions(values)


def _of_subcompactions(values: Values) -> int:
    """Count the threads of subcompactions, which end with their compaction (compaction_job.cc, CompactionJob::Run)."""
    compactions = job_limits(nested(values).database)[COMPACTION_POOL]
    return compactions * (max(1, int(values.get(_SUBCOMPACTIONS, 1))) - 1)
