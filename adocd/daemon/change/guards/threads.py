"""Keep a change from starting more threads than the database's process may have. Pure, but for reading its tasks."""

from collections.abc import Mapping

from adocd.daemon.change.guards.guard import Beside, GuardRefusal, TasksInUse
from adocd.model.sample import Sample
from adocd.model.threads import COMPACTION_POOL, FLUSH_POOL, pool_sizes
from adocd.model.values import OptionName, Values, of_database, of_pool

#: Of the tasks that the cgroup allows, 1/20 stay free for the program, but at least and at most so many.
SPARE_SHARE, _SPARE_LEAST, _SPARE_MOST = 20, 2, 64
_JOBS, _SUBCOMPACTIONS = of_database("max_background_jobs"), of_database("max_subcompactions")
_FLUSHES, _COMPACTIONS = of_database("max_background_flushes"), of_database("max_background_compactions")
_LOW, _HIGH = of_pool(COMPACTION_POOL), of_pool(FLUSH_POOL)


def thread_shortage(wanted: Values, sample: Sample, beside: Beside) -> tuple[GuardRefusal, ...]:
    """Refuse more threads while the cgroup of the target's process has few tasks left.

    Where RocksDB cannot start a thread, std::thread throws in one of its own threads, and that ends the program. Pools
    come first, so that subcompactions that are too many keep no job from running.
    """
    now, tasks, refusals = dict(sample.values), None, []
    pools = {o: v for o, v in wanted.items() if o.scope == "thread_pool" or o in (_JOBS, _FLUSHES, _COMPACTIONS)}
    subcompactions = {o: v for o, v in wanted.items() if o == _SUBCOMPACTIONS}
    for asked in (pools, subcompactions):
        more = _threads(now | asked) - _threads(now)
        if more > 0:
            tasks = tasks or beside.read_tasks()
            promised = _of_subcompactions(now) - _of_subcompactions({**sample.values, **beside.originals})
            if tasks is not None and (short := _short_of(tasks, more, max(0, promised))) is not None:
                growing = frozenset(o for o, value in asked.items() if now.get(o) != value)
                words = " and ".join(sorted(f"{option} {wanted[option]}" for option in growing))
                refusals.append(GuardRefusal("thread shortage", growing, f"{words} can start {more} more {short}"))
                continue
        now |= asked
    return tuple(refusals)


def _short_of(tasks: TasksInUse, more: int, promised: int) -> str | None:
    """Say how few tasks are left if so many more would leave too few; `promised` are ours that are not there yet."""
    spare = min(max(tasks.limit // SPARE_SHARE, _SPARE_LEAST), _SPARE_MOST)
    left = max(0, tasks.limit - tasks.used - promised)
    if left - more >= spare:
        return None
    return f"threads; of the {tasks.limit} that its cgroup allows {left} are left, and {spare} stay free"


def _threads(values: Mapping[OptionName, str]) -> int:
    """Count the threads of the pools, which RocksDB starts at once, and those that compactions may start besides.

    A pool that already has more threads than the options ask for keeps them (env.h, IncBackgroundThreadsIfNeeded).
    """
    flushes, compactions = _limits(values)
    sizes = {option: int(value) for option, value in values.items() if option.scope == "thread_pool"}
    sizes[_LOW], sizes[_HIGH] = max(sizes.get(_LOW, 0), compactions), max(sizes.get(_HIGH, 0), flushes)
    return sum(sizes.values()) + _of_subcompactions(values)


def _of_subcompactions(values: Mapping[OptionName, str]) -> int:
    """Count the threads of subcompactions, which end with their compaction (compaction_job.cc, CompactionJob::Run)."""
    return _limits(values)[1] * (max(1, int(values.get(_SUBCOMPACTIONS, 1))) - 1)


def _limits(values: Mapping[OptionName, str]) -> tuple[int, int]:
    """Return how many flushes and compactions RocksDB runs at once (db_impl_compaction_flush.cc, GetBGJobLimits)."""
    old = [int(values.get(option, -1)) for option in (_FLUSHES, _COMPACTIONS)]
    if old != [-1, -1]:
        return max(1, old[0]), max(1, old[1])
    sizes = pool_sizes(int(values.get(_JOBS, 2)))
    return sizes[FLUSH_POOL], sizes[COMPACTION_POOL]
